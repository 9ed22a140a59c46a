// SPDX-License-Identifier: Apache-2.0
// Keys that somebody chose against the default hash: the tool names the option that helps, and it helps.
#include "cli/tool.hpp"
#include "naysay/core/hash.hpp"

namespace naysay {
namespace {

using ChosenKeysTool = Tool;

TEST_F(ChosenKeysTool, AreRefusedWithTheOptionThatHelps) {
  std::string keys;
  for (std::uint64_t i = 0, found = 0; found < 3000; ++i) {
    const std::string key = "key " + std::to_string(i);
    if (digest(std::string_view(key)).lo >> 58 != 63) continue;  // all belong into the last slots of the table
    keys += key + "\n";
    ++found;
  }
  write("keys", keys);
  refuses("naysay build --keys keys --filter quotient --bits-per-key 10 -o f.nsy",
          {"quotient", "3000", "the keys look chosen", "--hash siphash"});
  EXPECT_FALSE(exists("f.nsy"));
  must("naysay build --keys keys --filter quotient --bits-per-key 10 --hash siphash -o f.nsy");
  must("naysay verify f.nsy --keys keys");
}

}  // namespace
}  // namespace naysay
