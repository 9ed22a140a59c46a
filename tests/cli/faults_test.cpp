// SPDX-License-Identifier: Apache-2.0
// The tool on a disk that fails: tests/memory/failing_calls.cpp, loaded into it, lets the first, the second, ... write,
// sync, rename or open of a command fail. The user's files are the old ones or the new ones, nothing remains next to
// them, and there is one sentence.
#include <map>

#include "cli/tool.hpp"
#include "memory/failing_calls.hpp"

namespace naysay {
namespace {

class ToolWithFaults : public Tool {
 protected:
  using Files = std::map<std::string, std::string>;

  void SetUp() override {
    Tool::SetUp();
    if (!NAYSAY_CALLS_CAN_FAIL) GTEST_SKIP() << "TSan follows the system calls itself";
    std::string keys, negatives, late;
    for (int i = 0; i < 200; ++i) {
      keys += "key " + std::to_string(i) + "\n";
      negatives += "other " + std::to_string(i) + "\t2\n";
      if (i < 10) late += "late " + std::to_string(i) + "\n";
    }
    write("keys", keys);
    write("negatives", negatives);
    write("late", late);
  }

  Files all_files() const {
    Files all;
    for (const auto& entry : std::filesystem::directory_iterator(path("."))) {
      const std::string name = entry.path().filename().string();
      all[name] = read(name);
    }
    return all;
  }

  // `before` makes the folder what it is when `command` begins. changed: the file that the command writes.
  void survives(const std::string& before, const std::string& command, const std::vector<std::string>& changed) {
    must(before);
    const Files old_files = all_files();
    must(command);
    const Files new_files = all_files();
    for (const Fault fault : kFaults) {
      const std::string name = kFaultNames[static_cast<int>(fault)];
      for (long n = 0; n < 200; n += fault == Fault::short_write ? 100 : 1) {
        SCOPED_TRACE(command + " with " + name + " after " + std::to_string(n));
        for (const auto& [file, bytes] : new_files)
          if (!old_files.contains(file)) std::filesystem::remove(path(file));
        for (const auto& [file, bytes] : old_files) write(file, bytes);
        const std::string seen = path("") + ".seen";
        const Ran ran = shell("LD_PRELOAD='" NAYSAY_FAILING_CALLS "' NAYSAY_FAULT=" + name + ":" + std::to_string(n) +
                              " NAYSAY_FAULT_SEEN='" + seen + "' " + command);
        std::ifstream in(seen);
        long calls = -1;
        in >> calls;
        in.close();
        std::filesystem::remove(seen);
        ASSERT_GE(calls, 0) << "the calls were not loaded";
        ASSERT_TRUE(ran.exit_code == 0 || ran.exit_code == 2) << ran.exit_code << ran.err;
        if (ran.exit_code == 2) {
          ASSERT_EQ(ran.err.find("naysay: "), 0u) << ran.err;
          ASSERT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
        }
        if (calls <= n || fault == Fault::short_write || fault == Fault::interrupted)
          ASSERT_EQ(ran.exit_code, 0) << ran.err;
        for (const auto& [file, bytes] : all_files()) {
          ASSERT_TRUE(old_files.contains(file) || new_files.contains(file)) << file << " remains";
          const bool is_old = old_files.contains(file) && bytes == old_files.at(file);
          const bool is_new = new_files.contains(file) && bytes == new_files.at(file);
          const bool may_change = std::find(changed.begin(), changed.end(), file) != changed.end();
          ASSERT_TRUE(is_old || (is_new && may_change)) << file << " is neither the old one nor the new one";
          if (ran.exit_code == 0 && may_change) ASSERT_TRUE(is_new) << file << " is not written";
        }
        for (const auto& [file, bytes] : old_files) ASSERT_TRUE(exists(file)) << file << " is lost";
        if (calls <= n) break;
      }
    }
  }
};

TEST_F(ToolWithFaults, BuildsTheWholeFileOrLeavesTheOldOne) {
  survives("naysay build --keys late --filter bloom --bits-per-key 10 -o f.nsy",
           "naysay build --keys keys --negatives negatives --filter taught-ribbon --bits-per-key 10 -o f.nsy",
           {"f.nsy"});
}

TEST_F(ToolWithFaults, UpdatesTheWholeFileOrLeavesTheOldOne) {
  survives("naysay build --keys keys --filter growing-cuckoo --bits-per-key 20 -o f.nsy",
           "naysay update f.nsy --insert late", {"f.nsy"});
}

}  // namespace
}  // namespace naysay
