// SPDX-License-Identifier: Apache-2.0
// naysay build --exact.
#include "cli/tool.hpp"

namespace naysay {
namespace {

class ExactTool : public Tool {
 protected:
  void SetUp() override {
    Tool::SetUp();
    must("naysay generate urls --count 300 -o keys && naysay generate urls --count 20000 --first 300 -o known");
  }
};

TEST_F(ExactTool, RefusesEveryKnownNegativeWithoutABudget) {
  must("naysay build --exact --keys keys --negatives known -o set.nsy");
  EXPECT_EQ(must("naysay query set.nsy keys --count"), "300\n");
  EXPECT_EQ(shell("naysay query set.nsy known --count").out, "0\n");
  EXPECT_NE(must("naysay inspect set.nsy --json").find("\"exact\": true"), std::string::npos);
}

TEST_F(ExactTool, TakesABudgetAsALimitAndARateAsABound) {
  must("naysay build --exact --keys keys --negatives known --bits-per-key 40 -o limited.nsy");
  must("naysay build --exact --keys keys --negatives known -o free.nsy");
  EXPECT_EQ(read("limited.nsy").size(), read("free.nsy").size()) << "a limit that is not needed changes no size";
  must("naysay build --exact --keys keys --negatives known --fpr 0.0001 -o bounded.nsy");
  EXPECT_GT(read("bounded.nsy").size(), read("free.nsy").size());
  must("naysay generate urls --count 100000 --first 30000 -o strangers");
  EXPECT_LE(std::stoi(shell("naysay query bounded.nsy strangers --count").out), 30);
}

TEST_F(ExactTool, SaysWhatItCannotBeHeldTo) {
  refuses("naysay build --exact --filter bloom --keys keys -o set.nsy", {"--exact", "bloom", "taught-ribbon"});
  must("naysay generate urls --count 20000 -o more && naysay generate urls --count 100000 --first 20000 -o others");
  refuses("naysay build --exact --bits-per-key 2 --keys more --negatives others -o set.nsy",
          {"exact", "bits per key", "2"});
  EXPECT_FALSE(exists("set.nsy"));
}

}  // namespace
}  // namespace naysay
