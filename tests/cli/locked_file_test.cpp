// SPDX-License-Identifier: Apache-2.0
// LockedFile: one holder at a time, also of a name that leads to another file after each change.
#include "parts/locked_file.hpp"

#include <sys/wait.h>

#include <cstdio>

#include "parts/failure.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using LockedFiles = Tool;

// Between the opening of a file and its locking, another process may have replaced it: the lock of the old file is no
// lock.
TEST_F(LockedFiles, AreHeldByOneProcessAtATimeThoughEachReplacesThem) {
  constexpr int kProcesses = 4, kRounds = 1000;
  write("count", "0");
  for (int p = 0; p < kProcesses; ++p) {
    if (::fork() != 0) continue;
    const std::string mine = "mine." + std::to_string(p);
    for (int i = 0; i < kRounds; ++i) try {
        const cli::LockedFile held(path("count"), 600);
        write(mine, std::to_string(std::stoi(read("count")) + 1));
        if (std::rename(path(mine).c_str(), path("count").c_str()) != 0) ::_exit(1);
      } catch (...) {
        ::_exit(1);
      }
    ::_exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read("count"), std::to_string(kProcesses * kRounds));
}

TEST_F(LockedFiles, ThatDoNotExistNeedNoLock) {
  const cli::LockedFile one(path("missing"), 0), another(path("missing"), 0);
  write("there", "x");
  const cli::LockedFile first(path("there"), 0);
  EXPECT_THROW(cli::LockedFile(path("there"), 0), cli::Failure);
}

}  // namespace
}  // namespace naysay
