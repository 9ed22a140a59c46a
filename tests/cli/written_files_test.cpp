// SPDX-License-Identifier: Apache-2.0
// What the tool writes: never over what it reads, with the right access, and with nothing left when it is ended.
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "tool.hpp"

namespace naysay {
namespace {

class WrittenFiles : public Tool {
 protected:
  int mode(std::string_view name) const {
    struct stat info {};
    EXPECT_EQ(::stat(path(name).c_str(), &info), 0) << name;
    return static_cast<int>(info.st_mode & 0777);
  }
  // The one file whose name begins so; empty if there is none.
  std::string beginning_with(const std::string& begin) const {
    for (const auto& entry : std::filesystem::directory_iterator(path(".")))
      if (entry.path().filename().string().starts_with(begin)) return entry.path().filename().string();
    return "";
  }
  // naysay generate -o out, which will write for long, as soon as it has begun.
  pid_t begin_to_write() const {
    const std::string output = path("out");
    const pid_t child = ::fork();
    if (child == 0) {
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
      ::execl(NAYSAY_BINARY, "naysay", "generate", "urls", "--count", "400000000", "-o", output.c_str(), nullptr);
      ::_exit(127);
    }
    while (beginning_with("out.naysay-").empty() && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(1000);
    return child;
  }
  int end(pid_t child, int signal) const {
    ::kill(child, signal);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
};

// ---- outputs and inputs ---------------------------------------------------------------------------------------------

TEST_F(WrittenFiles, AreNoneOfTheFilesThatAreRead) {
  must(
      "naysay generate urls --count 500 -o keys && naysay generate urls --count 500 --first 500 --zipf 1 -o negatives "
      "&& naysay generate urls --count 10 --first 5000 -o more && mkdir folder && ln -s ../keys folder/link && "
      "ln keys hard && printf '00112233445566778899aabbccddeeff' > secret && "
      "naysay build --keys keys --filter guarded --bits-per-key 16 --capacity 600 -o set.nsy && "
      "naysay build --keys keys --filter variable-hash --bits-per-key 10 --slots v.slots -o v.nsy && "
      "naysay plan --keys keys --bits-per-key 10 -o plan.1 && naysay plan --keys more --bits-per-key 10 -o plan.2");
  const std::vector<std::string> names = {"keys",  "negatives", "more",   "secret", "set.nsy",
                                          "v.nsy", "v.slots",   "plan.1", "plan.2"};
  std::vector<std::string> before;
  for (const std::string& name : names) before.push_back(read(name));
  const std::string build = "naysay build --keys keys --negatives negatives --filter bloom --bits-per-key 10 ";
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> all = {
      {build + "-o keys", {"keys", "-o", "--keys", "another name"}},
      {build + "-o ./keys", {"-o", "--keys"}},
      {build + "-o folder/link", {"-o", "--keys"}},
      {build + "-o hard", {"-o", "--keys"}},
      {build + "-o negatives", {"-o", "--negatives"}},
      {build + "--hash siphash --hash-key-file secret -o secret", {"-o", "--hash-key-file"}},
      {"naysay build --keys - --bits-per-key 10 --filter bloom -o keys < keys", {"-o", "standard input"}},
      {"naysay build --keys keys --filter variable-hash --bits-per-key 10 --slots new -o new", {"-o", "--slots"}},
      {"naysay build --keys keys --filter variable-hash --bits-per-key 10 --slots folder/../new -o new",
       {"-o", "--slots"}},
      {"naysay build --keys keys --filter variable-hash --bits-per-key 10 --slots keys -o new", {"--slots", "--keys"}},
      {"naysay build --keys keys --filter guarded --bits-per-key 16 --without-index new -o new",
       {"-o", "--without-index"}},
      {"naysay update set.nsy --insert more -o more", {"more", "-o", "--insert"}},
      {"naysay update set.nsy --adapt negatives -o negatives", {"-o", "--adapt"}},
      {"naysay update set.nsy --insert set.nsy", {"the filter", "--insert"}},
      {"naysay update v.nsy --slots v.slots --adapt more -o v.slots", {"-o", "--slots"}},
      {"naysay observe more --filter set.nsy -o more", {"-o", "LOG"}},
      {"naysay observe more --filter set.nsy -o set.nsy", {"-o", "--filter"}},
      {"naysay observe set.nsy --adapt set.nsy", {"--adapt", "LOG"}},
      {"naysay compare --keys keys --negatives negatives --bits-per-key 10 --filters bloom --json keys",
       {"--json", "--keys"}},
      {"naysay compare --keys keys --negatives negatives --bits-per-key 10 --filters bloom --json new --csv new",
       {"--json", "--csv"}},
      {"naysay plan plan.1 plan.2 -o plan.2", {"plan.2", "-o", "a plan or part"}},
      {"naysay query set.nsy keys >> keys", {"keys", "standard output"}},
  };
  for (const auto& [command, words] : all) refuses(command, words);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(read(names[i]), before[i]) << names[i];
  EXPECT_FALSE(exists("new"));
  must("naysay update set.nsy --insert more -o set.nsy");  // said twice, and meant
}

// Neither of a filter and the file of its keys.
TEST_F(WrittenFiles, AreNotReplacedWhileSomebodyHoldsOneOfThem) {
  must("naysay generate urls --count 500 -o keys && printf 'a\\tb\\tc\\n' > bad");
  const std::string build =
      "naysay build --keys keys --filter variable-hash --bits-per-key 10 --slots v.slots -o v.nsy ";
  must(build);
  const std::string filter = read("v.nsy"), slots = read("v.slots");
  // Before a line is read: none of the bad file is mentioned.
  refuses("flock v.slots " + build + "--seed 2 --wait 0 --negatives bad", {"v.slots", "--wait"});
  refuses("flock v.nsy " + build + "--seed 2 --wait 0", {"v.nsy", "--wait"});
  EXPECT_EQ(read("v.nsy"), filter);
  EXPECT_EQ(read("v.slots"), slots);
  must(build + "--seed 2");
  EXPECT_NE(read("v.slots"), slots);
}

TEST_F(WrittenFiles, OfAReportAreNoneOfItsResults) {
  must("naysay bench habf-fig10 --size tiny --filters bloom --out results.jsonl");
  const std::string before = read("results.jsonl");
  must("cp results.jsonl results.md");
  refuses("naysay report results.md -o results.md", {"results.md", "-o", "results"});
  EXPECT_EQ(read("results.md"), before);
}

TEST_F(WrittenFiles, OfABenchAreNoOtherFiles) {
  write("notes", "remember the milk");
  refuses("naysay bench speed --size tiny --filters bloom --out notes", {"notes", "measurement"});
  EXPECT_EQ(read("notes"), "remember the milk");
  write("begun", "{\"experim");
  must("naysay bench habf-fig10 --size tiny --filters bloom --out begun");
  EXPECT_EQ(read("begun").find("{\"experiment\":"), 0u) << "what a run that was ended had begun is dropped";
}

// ---- access ---------------------------------------------------------------------------------------------------------

TEST_F(WrittenFiles, WithASecretAreForTheirOwnerAlone) {
  must("umask 022; naysay generate urls --count 500 -o keys && naysay generate urls --count 50 --first 1000 -o more");
  const std::string build = "umask 022; naysay build --keys keys --filter bloom --bits-per-key 10 --capacity 1000 ";
  must(build + "-o open.nsy && " + build + "--hash siphash -o secret.nsy");
  EXPECT_EQ(mode("open.nsy"), 0644);
  EXPECT_EQ(mode("secret.nsy"), 0600);
  must("naysay update secret.nsy --insert more");
  EXPECT_EQ(mode("secret.nsy"), 0600);
  must("naysay update secret.nsy --insert more -o copy.nsy");
  EXPECT_EQ(mode("copy.nsy"), 0600);
  must(build + "--hash siphash -o open.nsy");
  EXPECT_EQ(mode("open.nsy"), 0600) << "what everybody could read had no secret in it";
  must("chmod 640 secret.nsy && naysay update secret.nsy --insert more && " + build + "--hash siphash -o secret.nsy");
  EXPECT_EQ(mode("secret.nsy"), 0640) << "the owner gave the group access to a secret";
}

TEST_F(WrittenFiles, KeepModeAndOwnerOfTheFileTheyReplace) {
  must("naysay generate urls --count 500 -o keys && naysay generate urls --count 50 --first 1000 -o more");
  must("naysay build --keys keys --filter bloom --bits-per-key 10 --capacity 1000 -o set.nsy && chmod 604 set.nsy");
  if (::geteuid() == 0) ASSERT_EQ(::chown(path("set.nsy").c_str(), 12345, 54321), 0);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(path("set.nsy").c_str(), &before), 0);
  must("naysay update set.nsy --insert more");
  ASSERT_EQ(::stat(path("set.nsy").c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
}

TEST_F(WrittenFiles, TakeTheirSecretFromAFileOrTheEnvironment) {
  must("naysay generate urls --count 500 -o keys");
  const std::string key = "000102030405060708090a0b0c0d0e0f",
                    build = "naysay build --keys keys --filter bloom --bits-per-key 10 --hash siphash ";
  write("secret", key + "\n");
  must(build + "--hash-key " + key + " -o line.nsy");
  must(build + "--hash-key-file secret -o file.nsy");
  must("NAYSAY_HASH_KEY=" + key + " " + build + "-o variable.nsy");
  must("NAYSAY_HASH_KEY=ffffffffffffffffffffffffffffffff " + build + "--hash-key-file secret -o stronger.nsy");
  for (const char* name : {"file.nsy", "variable.nsy", "stronger.nsy"}) EXPECT_EQ(read(name), read("line.nsy")) << name;
  must(build + "-o random.nsy");
  EXPECT_NE(read("random.nsy"), read("line.nsy"));
  must("NAYSAY_HASH_KEY=junk naysay build --keys keys --filter bloom --bits-per-key 10 -o plain.nsy");
  write("wrong", "0001020304050607zz");
  write("two", key + "\n" + key + "\n");
  for (const auto& [command, words] : std::vector<std::pair<std::string, std::vector<std::string_view>>>{
           {build + "--hash-key-file wrong -o x", {"wrong", "18 characters", "32"}},
           {build + "--hash-key-file two -o x", {"two", "2 lines"}},
           {build + "--hash-key-file missing -o x", {"missing"}},
           {"NAYSAY_HASH_KEY=0001020304050607zz " + build + "-o x", {"NAYSAY_HASH_KEY", "18 characters"}},
           {build + "--hash-key " + key + " --hash-key-file secret -o x", {"--hash-key", "--hash-key-file"}}}) {
    refuses(command, words);
    EXPECT_EQ(shell(command).err.find("0001020304"), std::string::npos) << "no message prints a secret";
  }
}

// ---- ends from outside ----------------------------------------------------------------------------------------------

TEST_F(WrittenFiles, LeaveNothingWhenASignalEndsTheRun) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    const pid_t child = begin_to_write();
    ASSERT_NE(beginning_with("out.naysay-"), "");
    EXPECT_EQ(end(child, signal), signal) << "it ends by the signal, as others expect";
    EXPECT_EQ(files(), 0u) << signal;
  }
}

TEST_F(WrittenFiles, AreNamedWhenAKillLeftThem) {
  const pid_t child = begin_to_write();
  const Ran while_it_writes = shell("naysay generate urls --count 10 -o out");
  EXPECT_EQ(while_it_writes.exit_code, 0);
  EXPECT_EQ(while_it_writes.err, "") << "a file that is being written is no leftover";
  EXPECT_EQ(end(child, SIGKILL), SIGKILL);
  const std::string left = beginning_with("out.naysay-");
  ASSERT_NE(left, "");
  const Ran next = shell("naysay generate urls --count 10 -o out");
  EXPECT_EQ(next.exit_code, 0);
  EXPECT_TRUE(sample::says(next.err, {left, "killed", "removed"}));
  must("mv out keys; mv " + left + " set.nsy.naysay-abcdef");
  const Ran build = shell("naysay build --keys keys --filter bloom --bits-per-key 10 --capacity 99 -o set.nsy");
  EXPECT_TRUE(sample::says(build.err, {"set.nsy.naysay-abcdef", "killed"}));
  const Ran update = shell("naysay update set.nsy --insert keys -o set.nsy");
  EXPECT_TRUE(sample::says(update.err, {"set.nsy.naysay-abcdef", "killed"}));
  must("rm set.nsy.naysay-abcdef");
  EXPECT_EQ(shell("naysay update set.nsy --insert keys").err, "");
}

TEST_F(WrittenFiles, ThatAreTooLargeForTheShellsLimitAreAnError) {
  const Ran ran = shell("ulimit -f 8; naysay generate urls --count 100000 -o out");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(sample::says(ran.err, {"out", "write"}));
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace naysay
