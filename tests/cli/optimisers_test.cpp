// SPDX-License-Identifier: Apache-2.0
// Our search for the layers of a stack next to the thesis' (NLopt), through the real tool.
#include "tool.hpp"

namespace naysay {
namespace {

class Optimisers : public Tool {};

TEST_F(Optimisers, OfStacksComeWithinFivePercentOfNlopt) {
  const Ran ran = shell("naysay bench stack-optimisers --size tiny");
  if (ran.err.find("without NLopt") != std::string::npos) {
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_NE(ran.err.find("libnlopt-dev"), std::string::npos) << ran.err;
    GTEST_SKIP() << "built without NLopt";
  }
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string words = " times at worst";
  const std::size_t at = ran.out.find(words);
  ASSERT_NE(at, std::string::npos) << ran.out;
  const double worst = std::stod(ran.out.substr(ran.out.rfind(' ', at - 1) + 1));
  EXPECT_GT(worst, 0.9) << ran.out;
  EXPECT_LT(worst, 1.05) << ran.out;
}

TEST_F(Optimisers, AreListedAndRefuseASizeThatThereIsNot) {
  EXPECT_NE(must("naysay bench --list").find("stack-optimisers"), std::string::npos);
  refuses("naysay bench stack-optimisers --size huge", {"--size", "'huge'", "tiny"});
}

}  // namespace
}  // namespace naysay
