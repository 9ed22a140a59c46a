// SPDX-License-Identifier: Apache-2.0
// Tool: runs the real binary in a folder of its own that goes away with the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "says.hpp"

namespace naysay {

struct Ran {
  int exit_code;
  std::string out, err;
};

class Tool : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "naysay-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(folder_);
  }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string read(std::string_view name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  bool exists(std::string_view name) const { return std::filesystem::exists(folder_ / name); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  // A shell command in the folder, with `naysay` on the path.
  Ran shell(const std::string& command) const {
    const std::filesystem::path binary = NAYSAY_BINARY;
    const std::string logs = folder_.string() + ".log";
    const std::string line = "cd '" + folder_.string() + "' && PATH='" + binary.parent_path().string() +
                             "':\"$PATH\" && { " + command + "\n} >'" + logs + ".out' 2>'" + logs + ".err' </dev/null";
    const int status = std::system(line.c_str());
    const auto take = [&](const char* ending) {
      std::ifstream in(logs + ending, std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      std::filesystem::remove(logs + ending);
      return text.str();
    };
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, take(".out"), take(".err")};
  }
  // For what must work.
  std::string must(const std::string& command) const {
    const Ran ran = shell(command);
    EXPECT_EQ(ran.exit_code, 0) << command << "\n" << ran.err;
    return ran.out;
  }
  // For what must be refused: exit code 2, nothing on the standard output, and one line that has these words.
  void refuses(const std::string& command, const std::vector<std::string_view>& words) const {
    const std::string line = refusal_of(command);
    EXPECT_TRUE(sample::says(line, words)) << command;
    EXPECT_EQ(line.find('\n'), line.size() - 1) << command << "\n" << line;
  }
  // Exactly this sentence: for a few that show what all should look like.
  void refuses_exactly(const std::string& command, const std::string& sentence) const {
    EXPECT_EQ(refusal_of(command), "naysay: " + sentence + "\n") << command;
  }

 private:
  std::string refusal_of(const std::string& command) const {
    const Ran ran = shell(command);
    EXPECT_EQ(ran.exit_code, 2) << command;
    EXPECT_EQ(ran.out, "") << command;
    EXPECT_EQ(ran.err.find("naysay: "), 0u) << command << "\n" << ran.err;
    return ran.err;
  }

  std::filesystem::path folder_;
};

}  // namespace naysay
