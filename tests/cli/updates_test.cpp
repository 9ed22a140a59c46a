// SPDX-License-Identifier: Apache-2.0
// naysay delta, apply, rollup, publish and fetch, and the commands that read a stack.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>

#include "cli/tool.hpp"
#include "updates/keys.hpp"

namespace naysay {
namespace {

class UpdatesTool : public Tool {
 protected:
  void SetUp() override {
    Tool::SetUp();
    if (shell("naysay delta --help").out.find("without updates") != std::string::npos)
      GTEST_SKIP() << "this naysay was built without updates";
    write("key.pem", sample::kPrivateKey);
    write("key.pub", sample::kPublicKey);
    write("other.pem", sample::kOtherPrivateKey);
    write("other.pub", sample::kOtherPublicKey);
    must("naysay generate urls --count 5000 --first 100000 -o negatives.tsv");
  }
  // keys.U: 2,000 keys, of which 30 U are new since keys.0, and as many of keys.0 are gone.
  void keys(int update) const {
    must("naysay generate urls --count 2000 --first " + std::to_string(30 * update) + " -o keys." +
         std::to_string(update));
  }
  std::string keys_option(int update) const {
    keys(update);
    return " --keys keys." + std::to_string(update) + " --negatives negatives.tsv";
  }
  // base.nsy, and d1.nsd to dN.nsd.
  void chain(int n, const std::string& more = "") const {
    must("naysay build --filter taught-ribbon --bits-per-key 12" + keys_option(0) + " -o base.nsy");
    std::string state = "base.nsy";
    for (int u = 1; u <= n; ++u) {
      const std::string name = "d" + std::to_string(u) + ".nsd";
      must("naysay delta --state " + state + keys_option(u) + " --dropped keys.0 " + more + " -o " + name);
      state += " " + name;
    }
  }
  // Everything of this update is answered right.
  void expect_right(const std::string& stack, int update) const {
    keys(update);
    EXPECT_EQ(must("naysay query " + stack + " keys." + std::to_string(update) + " --count"), "2000\n");
    EXPECT_EQ(shell("naysay query " + stack + " negatives.tsv --count").out, "0\n");
    if (update == 0) return;
    must("naysay generate urls --count " + std::to_string(30 * update) + " -o gone");
    EXPECT_EQ(shell("naysay query " + stack + " gone --count").out, "0\n");
  }
  std::string publish(int update, const std::string& more = "") const {
    return "naysay publish served" + keys_option(update) + " " + more;
  }
};

TEST_F(UpdatesTool, ShowExamplesThatWork) {
  for (const std::string command : {"delta", "apply", "rollup", "publish", "fetch"}) {
    const std::string help = must("naysay " + command + " --help");
    std::istringstream lines(help.substr(help.find("Example:\n")));
    std::string last;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  naysay ")) must(last = line);
    EXPECT_EQ(last.find("  naysay " + command), 0u) << help;
    must("rm -rf served served.work");
  }
}

TEST_F(UpdatesTool, MakeUpdatesThatAnswerEveryListedKeyRight) {
  chain(3);
  must("naysay apply base.nsy d1.nsd d2.nsd d3.nsd -o list.nst");
  expect_right("list.nst", 3);
  EXPECT_LT(read("d2.nsd").size(), read("base.nsy").size() / 4);
  EXPECT_NE(must("naysay verify list.nst --keys keys.3").find("3 updates"), std::string::npos);
  EXPECT_EQ(shell("naysay verify list.nst --keys gone").exit_code, 1);
  EXPECT_NE(must("naysay inspect list.nst").find("2 to 3"), std::string::npos);
  EXPECT_NE(must("naysay inspect list.nst --json").find("\"sequence\": 3"), std::string::npos);
  // A stack is a state, too.
  must("naysay delta --state list.nst" + keys_option(4) + " --dropped keys.0 -o d4.nsd --json");
  must("naysay apply list.nst d4.nsd -o list.nst");
  expect_right("list.nst", 4);
}

TEST_F(UpdatesTool, WriteToTheStandardOutput) {
  chain(2);
  const std::string delta = "naysay delta --state base.nsy" + keys_option(1) + " --dropped keys.0 --created 7 -o ";
  must(delta + "same.nsd");
  const Ran piped = shell(delta + "- > piped.nsd");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_TRUE(sample::says(piped.err, {"standard output", "30 keys added"})) << piped.err;
  EXPECT_EQ(read("piped.nsd"), read("same.nsd"));
  must("naysay apply base.nsy d1.nsd d2.nsd -o list.nst");
  must("naysay apply base.nsy d1.nsd d2.nsd -o - > piped.nst");
  EXPECT_EQ(read("piped.nst"), read("list.nst"));
  must("naysay rollup --state base.nsy d1.nsd d2.nsd" + keys_option(2) + " --dropped keys.0 -o - > up.nsd");
  must("naysay apply base.nsy up.nsd -o rolled.nst");
  expect_right("rolled.nst", 2);
}

TEST_F(UpdatesTool, RollUpAllUpdatesSinceTheBase) {
  chain(3);
  must("naysay rollup --state base.nsy d1.nsd d2.nsd d3.nsd" + keys_option(3) + " --dropped keys.0 -o week.nsd");
  EXPECT_LT(read("week.nsd").size(), read("d1.nsd").size() + read("d2.nsd").size() + read("d3.nsd").size());
  must("naysay apply base.nsy week.nsd -o list.nst");
  expect_right("list.nst", 3);
  must("naysay delta --state base.nsy week.nsd" + keys_option(4) + " --dropped keys.0 -o d4.nsd");
  must("naysay apply base.nsy week.nsd d4.nsd -o list.nst");
  expect_right("list.nst", 4);
  refuses("naysay apply base.nsy d1.nsd d2.nsd d3.nsd d4.nsd -o other.nst", {"d4.nsd", "state"});
  refuses("naysay rollup --state base.nsy" + keys_option(3) + " -o none.nsd", {"no", "updates"});
}

TEST_F(UpdatesTool, ReplaceNoFileThatTheyReadButAStackByALongerOne) {
  chain(2);
  const std::vector<std::string> names = {"base.nsy", "d1.nsd", "d2.nsd", "keys.2", "keys.0", "key.pem"};
  std::vector<std::string> before;
  for (const std::string& name : names) before.push_back(read(name));
  const std::string delta =
      "naysay delta --state base.nsy d1.nsd --keys keys.2 --dropped keys.0 --sign-key key.pem -o ";
  for (const char* name : {"base.nsy", "d1.nsd", "keys.2", "keys.0", "key.pem"}) refuses(delta + name, {name, "-o"});
  refuses("naysay apply base.nsy d1.nsd -o d1.nsd", {"d1.nsd", "-o"});
  refuses("naysay apply base.nsy d1.nsd -o ./base.nsy", {"base.nsy", "-o"});
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(read(names[i]), before[i]) << names[i];
  must("naysay apply base.nsy d1.nsd -o list.nst && naysay apply list.nst d2.nsd -o list.nst");
  expect_right("list.nst", 2);
}

TEST_F(UpdatesTool, RefuseChainsThatDoNotFitAndWriteNothing) {
  chain(3, "--expires 30d");
  must("naysay apply base.nsy d1.nsd -o list.nst");
  const std::string before = read("list.nst");
  const auto refused = [&](const std::string& files, const std::vector<std::string_view>& words) {
    refuses("naysay apply " + files + " -o list.nst", words);
    EXPECT_TRUE(read("list.nst") == before) << files;
  };
  refused("list.nst d3.nsd", {"d3.nsd", "missing"});
  refused("list.nst d1.nsd", {"d1.nsd", "newer"});
  refused("base.nsy d2.nsd d1.nsd", {"d2.nsd"});
  must("naysay build --filter taught-ribbon --bits-per-key 11" + keys_option(0) + " -o other.nsy");
  refused("other.nsy d1.nsd", {"d1.nsd", "another", "state"});
  must("naysay delta --state list.nst" + keys_option(2) + " --created 1000 --expires 1d -o old.nsd");
  refused("list.nst old.nsd", {"old.nsd", "expired"});
  must("naysay apply list.nst old.nsd --allow-expired -o expired.nst");
  must("head -c 300 d2.nsd > cut.nsd");
  refused("list.nst cut.nsd", {"cut.nsd", "cut off"});
  write("not.nsd", "nothing");
  refused("list.nst not.nsd", {"not.nsd", "not an update"});
}

TEST_F(UpdatesTool, SignAndVerify) {
  chain(2, "--sign-key key.pem");
  must("naysay apply base.nsy d1.nsd d2.nsd --verify-key key.pub -o list.nst");
  EXPECT_NE(must("naysay verify list.nst --verify-key key.pub").find("signed"), std::string::npos);
  refuses("naysay apply base.nsy d1.nsd --verify-key other.pub -o x.nst", {"d1.nsd", "another", "key"});
  refuses("naysay verify list.nst --verify-key other.pub", {"another", "key"});
  must("naysay delta --state base.nsy" + keys_option(1) + " -o unsigned.nsd");
  refuses("naysay apply base.nsy unsigned.nsd --verify-key key.pub -o x.nst", {"unsigned.nsd", "signature"});
  refuses("naysay delta --state base.nsy" + keys_option(1) + " --sign-key key.pub -o x.nsd", {"key.pub", "private"});
  EXPECT_FALSE(exists("x.nst"));
  EXPECT_FALSE(exists("x.nsd"));
}

TEST_F(UpdatesTool, PublishAndFetchThroughIncrementsRollUpsAndBases) {
  int updates = 0, rollups = 0;
  for (int u = 0; u < 12; ++u) {
    const std::string said = must(publish(u, "--rollup-every 3 --sign-key key.pem --json"));
    rollups += said.find("\"roll-up\"") != std::string::npos;
    const std::string fetched = must("naysay fetch served --into list --verify-key key.pub --json");
    updates += fetched.find("\"way\": \"updates\"") != std::string::npos;
    expect_right("list/current.nst", u);
  }
  EXPECT_GE(rollups, 1);
  EXPECT_GE(updates, 6);
  EXPECT_NE(must("naysay fetch served --into list --verify-key key.pub").find("nothing new"), std::string::npos);
  // A client that starts now, and one that was away for a while.
  must("naysay fetch served --into late --verify-key key.pub");
  expect_right("late/current.nst", 11);
  // A new base.
  EXPECT_NE(must(publish(12, "--new-base --sign-key key.pem")).find("base"), std::string::npos);
  EXPECT_NE(must("naysay fetch served --into list --json").find("\"full\""), std::string::npos);
  expect_right("list/current.nst", 12);
  // And back to the state before it.
  must("naysay fetch --back --into list");
  expect_right("list/current.nst", 11);
}

TEST_F(UpdatesTool, FetchTheFullFileWhereAnUpdateIsDamagedAndKeepTheStateWhereNothingCanBeHad) {
  must(publish(0));
  must("naysay fetch served --into list");
  must(publish(1));
  const std::string before = read("list/current.nst");
  must(
      "cp -r served good && for f in served/*.nsd; do printf x | dd of=$f bs=1 seek=300 conv=notrunc 2>/dev/null; "
      "done");
  refuses("naysay fetch served --into list --retries 1 --wait 0", {"stays"});
  EXPECT_TRUE(read("list/current.nst") == before);
  must("rm served/*.nsd");
  refuses("naysay fetch served --into list --retries 0", {"stays"});
  EXPECT_TRUE(read("list/current.nst") == before);
  refuses("naysay fetch nowhere --into list --retries 1 --wait 0", {"nowhere/manifest", "stays"});
  must("naysay fetch good --into list");
  expect_right("list/current.nst", 1);
  // Our own state is damaged: the full file.
  write("list/current.nst", "damaged");
  const Ran ran = shell("naysay fetch good --into list --json");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.out.find("\"full\""), std::string::npos);
  expect_right("list/current.nst", 1);
}

TEST_F(UpdatesTool, FetchRefusesOlderExpiredAndForgedManifests) {
  must(publish(0, "--sign-key key.pem"));
  must("cp -r served old");
  must(publish(1, "--sign-key key.pem"));
  must("naysay fetch served --into list --verify-key key.pub");
  const std::string before = read("list/current.nst");
  refuses("naysay fetch old --into list --verify-key key.pub", {"never goes back"});
  must(publish(2, "--sign-key other.pem"));
  refuses("naysay fetch served --into list --verify-key key.pub", {"another", "key"});
  must(
      "cp -r served forged && tail -n 1 old/manifest > s && head -n 1 served/manifest > forged/manifest && cat s >> "
      "forged/manifest");
  refuses("naysay fetch forged --into list --verify-key key.pub", {"signature", "wrong"});
  must("head -n 1 served/manifest > forged/manifest");
  refuses("naysay fetch forged --into list --verify-key key.pub", {"signature"});
  must("cp -r old expired && rm -r expired/manifest");
  must("rm -rf served served.work");
  must(publish(3, "--sign-key key.pem --created 1000 --expires 1d"));
  refuses("naysay fetch served --into other --verify-key key.pub", {"expired"});
  EXPECT_TRUE(read("list/current.nst") == before);
  EXPECT_FALSE(exists("other/current.nst"));
}

TEST_F(UpdatesTool, PartitionsHaveTheirOwnChainsAndClientsTakeWhatTheyWant) {
  must(publish(0));
  must(
      "naysay generate urls --count 500 --first 500000 -o second && naysay publish served --partition 7 --keys second "
      "--bits-per-key 20");
  must(publish(1));
  must("naysay fetch served --into both && naysay fetch served --into one --partition 7");
  expect_right("both/current.nst", 1);
  EXPECT_EQ(must("naysay query both/current.nst second --count"), "500\n");
  EXPECT_EQ(must("naysay query one/current.nst second --count"), "500\n");
  EXPECT_EQ(shell("naysay query one/current.nst keys.1 --count").out, "0\n");
  must(publish(2));
  must("naysay fetch served --into both");
  expect_right("both/current.nst", 2);
  EXPECT_EQ(must("naysay query both/current.nst second --count"), "500\n");
  refuses("naysay fetch served --into one --partition 8", {"--partition", "8"});
}

TEST_F(UpdatesTool, PublishAndFetchOverAWebServer) {
  if (shell("naysay fetch http://127.0.0.1:1/ --into x --retries 0").err.find("libcurl") != std::string::npos)
    GTEST_SKIP() << "this naysay was built without libcurl";
  must(publish(0, "--sign-key key.pem"));
  // The port is the system's choice; the server says which.
  must(
      "python3 -u -m http.server 0 --bind 127.0.0.1 --directory served > server.log 2>&1 & echo $! > server.pid\n"
      "for i in $(seq 600); do grep -q 'port [0-9]' server.log && break; sleep 0.1; done\n"
      "sed -n 's/.*port \\([0-9]*\\).*/\\1/p' server.log > port");
  const std::string url = "http://127.0.0.1:" + std::to_string(std::atoi(read("port").c_str()));
  for (int u = 0; u < 3; ++u) {
    if (u > 0) must(publish(u, "--sign-key key.pem"));
    const std::string said = must("naysay fetch " + url + " --into list --verify-key key.pub --json");
    EXPECT_NE(said.find(u == 0 ? "\"full\"" : "\"updates\""), std::string::npos) << said;
    expect_right("list/current.nst", u);
  }
  must("kill $(cat server.pid)");
  refuses("naysay fetch " + url + " --into list --retries 1 --wait 0", {"cannot fetch", "stays"});
  expect_right("list/current.nst", 2);
}

TEST_F(UpdatesTool, BenchShipsAMonthWithoutAWrongAnswer) {
  const std::string said = must("naysay bench updates --size tiny --out year.jsonl");
  for (const char* word : {"the full file", "overlays with ghosts", "roll-ups", "limit", "ns in batches"})
    EXPECT_NE(said.find(word), std::string::npos) << said;
  const std::string line = read("year.jsonl");
  EXPECT_NE(line.find("\"wrong\":0"), std::string::npos) << line;
  EXPECT_NE(must("naysay bench --list").find("updates"), std::string::npos);
  refuses("naysay bench updates --size huge", {"--size", "huge"});
}

// ---- killed at any step --------------------------------------------------------------------------------------------

// A tool under a sanitizer starts so slowly that every third step must do.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NAYSAY_SLOW_START 1
#endif
#endif
#ifdef NAYSAY_SLOW_START
constexpr int kStride = 3;
#else
constexpr int kStride = 1;
#endif

// Runs the tool and kills it before its n-th system call that changes files. True if it ended before.
class Killed {
 public:
  enum class End { done, killed, cannot };

  static End run(const std::string& folder, const std::vector<std::string>& arguments, int n) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(folder.c_str()) != 0 || ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(99);
      ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // it cannot trace what is traced
      (void)!std::freopen("/dev/null", "w", stdout);
      (void)!std::freopen("/dev/null", "w", stderr);
      std::vector<char*> argv;
      std::string name = "naysay";
      argv.push_back(name.data());
      std::vector<std::string> copy = arguments;
      for (std::string& a : copy) argv.push_back(a.data());
      argv.push_back(nullptr);
      ::execv(NAYSAY_BINARY, argv.data());
      ::_exit(98);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return End::cannot;
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (int seen = 0;;) {
      if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return End::cannot;
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? End::done : End::cannot;
      if (WIFSIGNALED(status)) return End::cannot;
      if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
      if (!changes_files(child)) continue;
      if (seen++ < n) continue;
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return End::killed;
    }
  }

 private:
  // Whether the child is about to make such a call.
  static bool changes_files(pid_t child) {
    struct __ptrace_syscall_info info {};
    const long got = ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
    if (got <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
    constexpr std::uint64_t kCreates = 0100;  // O_CREAT
    switch (info.entry.nr) {
#ifdef SYS_open
      case SYS_open:
        return (info.entry.args[1] & kCreates) != 0;
#endif
      case SYS_openat:
        return (info.entry.args[2] & kCreates) != 0;
      case SYS_write:
      case SYS_fsync:
      case SYS_fchmod:
#ifdef SYS_rename
      case SYS_rename:
      case SYS_unlink:
      case SYS_link:
      case SYS_mkdir:
#endif
      case SYS_renameat:
      case SYS_renameat2:
      case SYS_unlinkat:
      case SYS_linkat:
      case SYS_mkdirat:
        return true;
      default:
        return false;
    }
  }
};

TEST_F(UpdatesTool, APublisherKilledAtAnyStepLeavesAFolderThatCanBeServed) {
  must(publish(0));
  must("naysay fetch served --into list");
  must("mv served.work clean.work && mv served clean");
  keys(1);
  bool ended = false;
  int steps = 0;
  for (; !ended && steps < 200; steps += kStride) {
    must("rm -rf served served.work && cp -r clean served && cp -r clean.work served.work");
    const auto end =
        Killed::run(path("."), {"publish", "served", "--keys", "keys.1", "--negatives", "negatives.tsv"}, steps);
    if (end == Killed::End::cannot && steps == 0) GTEST_SKIP() << "processes cannot be traced here";
    ASSERT_NE(end, Killed::End::cannot) << steps;
    ended = end == Killed::End::done;
    must("rm -rf late && naysay fetch served --into late --retries 0");
    const bool is_new = must("naysay inspect late/current.nst --json").find("\"sequence\": 2") != std::string::npos;
    EXPECT_TRUE(is_new || !ended);
    expect_right("late/current.nst", is_new ? 1 : 0);
    // The next call goes on from there.
    if (steps % 4 == 0) {
      must("naysay publish served --keys keys.1 --negatives negatives.tsv && naysay fetch served --into late");
      expect_right("late/current.nst", 1);
    }
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(steps, 8);
}

TEST_F(UpdatesTool, AClientKilledAtAnyStepHasTheOldStateOrTheNew) {
  must(publish(0));
  must("naysay fetch served --into clean");
  must(publish(1));
  must("naysay fetch served --into new");
  const std::string old_state = read("clean/current.nst"), new_state = read("new/current.nst");
  bool ended = false;
  int steps = 0, news = 0;
  for (; !ended && steps < 200; steps += kStride) {
    must("rm -rf list && cp -r clean list");
    const auto end = Killed::run(path("."), {"fetch", "served", "--into", "list", "--retries", "0"}, steps);
    if (end == Killed::End::cannot && steps == 0) GTEST_SKIP() << "processes cannot be traced here";
    ASSERT_NE(end, Killed::End::cannot) << steps;
    ended = end == Killed::End::done;
    const std::string state = read("list/current.nst");
    ASSERT_TRUE(state == old_state || state == new_state) << steps;
    news += state == new_state;
    must("naysay verify list/current.nst");
    must("naysay fetch served --into list");
    EXPECT_TRUE(read("list/current.nst") == new_state) << steps;
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(steps, 4);
  EXPECT_GE(news, 1);
}

}  // namespace
}  // namespace naysay
