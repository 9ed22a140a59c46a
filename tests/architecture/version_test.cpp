// SPDX-License-Identifier: Apache-2.0
// One version: that of version.hpp, of CMake, and of the newest entry of CHANGELOG.md.
#include "naysay/version.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace {

TEST(Version, IsTheOneThatCMakeKnows) { EXPECT_EQ(naysay::kLibraryVersion, NAYSAY_CMAKE_VERSION); }

TEST(Version, IsMadeOfItsThreeNumbers) {
  EXPECT_EQ(naysay::kLibraryVersion, std::to_string(NAYSAY_VERSION_MAJOR) + "." + std::to_string(NAYSAY_VERSION_MINOR) +
                                         "." + std::to_string(NAYSAY_VERSION_PATCH));
}

TEST(Version, HasTheFirstEntryOfTheChangelog) {
  std::ifstream in(NAYSAY_SOURCE_DIR "/CHANGELOG.md");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("## ")) {
  }
  ASSERT_TRUE(line.starts_with("## ")) << "CHANGELOG.md has no entry";
  EXPECT_TRUE(line.starts_with("## " + std::string(naysay::kLibraryVersion))) << line;
}

}  // namespace
