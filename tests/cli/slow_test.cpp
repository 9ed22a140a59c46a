// SPDX-License-Identifier: Apache-2.0
// What needs seconds: the demo, and the memory of a large build.
#include <sys/resource.h>

#include "naysay/any_filter.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using ToolSlow = Tool;

TEST_F(ToolSlow, ShowsADemoThatComesToItsEndWithALineForEveryFilter) {
  const std::string text = must("naysay demo");
  for (const FilterType& t : filter_types())
    EXPECT_NE(text.find("\n" + std::string(t.name) + " "), std::string::npos) << t.name;
  EXPECT_NE(text.find("\nUse "), std::string::npos);
}

// The most memory that a process started by this one ever had, in bytes.
double largest_child() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

TEST_F(ToolSlow, BuildsWithinTwentyBytesAKeyPlusTheFilter) {
  constexpr double kKeys = 2e7;
  const std::string auto_choice =
      must("naysay generate integers --count 20000000 | naysay build --keys - --bits-per-key 10 -o set.nsy");
  const double peak = largest_child(), filter = static_cast<double>(read("set.nsy").size());
  EXPECT_LT(peak, 20 * kKeys + filter) << (peak - filter) / kKeys << " bytes per key besides the filter of "
                                       << auto_choice;
}

}  // namespace
}  // namespace naysay
