// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of the tool keep, run once. In a child, because the body turns the standard streams away and changes
// the folder.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/tool_bodies.hpp"

namespace naysay {
namespace {

template <class Body>
void replay(const char* name, Body body) {
  int inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(NAYSAY_SOURCE_DIR "/tests/fuzz/corpus/" + std::string(name))) {
    ++inputs;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(120);
      body(bytes);
      fuzz::ToolFolder::only().leave();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << name << "/" << entry.path().filename().string();
  }
  EXPECT_GT(inputs, 3) << name;
}

TEST(ToolFuzzCorpus, HoldsForTheCommandLine) {
  replay("command", [](std::span<const std::uint8_t> bytes) { fuzz::command_line(bytes); });
}
TEST(ToolFuzzCorpus, HoldsForTheReport) {
  replay("report", [](std::span<const std::uint8_t> bytes) { fuzz::report(bytes); });
}

}  // namespace
}  // namespace naysay
