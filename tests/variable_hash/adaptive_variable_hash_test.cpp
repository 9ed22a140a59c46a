// SPDX-License-Identifier: Apache-2.0
// Variable hash filters that absorb false positives, and the file of their keys.
#include "naysay/variable_hash/adaptive_variable_hash.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "naysay/any_filter.hpp"
#include "naysay/bloom/bloom.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

class AdaptiveVariableHashTest : public ::testing::Test {
 protected:
  AdaptiveVariableHashTest()
      : path_(::testing::TempDir() + "naysay_keys_" + std::to_string(::getpid()) +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~AdaptiveVariableHashTest() override { ::unlink(path_.c_str()); }

  AdaptiveVariableHash must_create(const Workload& w,
                                   const VariableHash::Params& p = {.bits_per_key = 8, .effort = Effort::fast}) {
    return sample::must(AdaptiveVariableHash::create(path_, w, p));
  }
  AdaptiveVariableHash must_open(VariableHash filter) {
    return sample::must(AdaptiveVariableHash::open(path_, std::move(filter)));
  }
  std::string path_;
};

TEST_F(AdaptiveVariableHashTest, RefusesWhatItAbsorbedFromThenOnAndDeniesNoKey) {
  const auto keys = numbers(0, 3000), strangers = numbers(9'000'000, 300'000);
  auto f = must_create({.keys = keys});
  std::vector<Digest> absorbed;
  std::uint64_t refused = 0;
  for (const Digest& d : strangers)
    if (f.may_contain(d)) {
      if (f.adapt(d, 1))
        absorbed.push_back(d);
      else
        ++refused;
    }
  EXPECT_GT(absorbed.size(), 1000u);
  EXPECT_EQ(f.absorbed(), absorbed.size());
  EXPECT_EQ(f.refused(), refused);
  for (const Digest& d : absorbed) ASSERT_FALSE(f.may_contain(d));
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST_F(AdaptiveVariableHashTest, SaysThatNoFunctionIsLeftAndChangesNothing) {
  const auto keys = numbers(0, 200);
  auto f = must_create({.keys = keys});
  for (const Digest& d : numbers(9'000'000, 200'000)) {
    if (!f.may_contain(d)) continue;
    const std::uint64_t records = f.file().records();
    if (!f.adapt(d, 1)) {
      EXPECT_EQ(f.file().records(), records);
      EXPECT_TRUE(f.may_contain(d));
    }
  }
  EXPECT_GT(f.refused(), 0u);
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST_F(AdaptiveVariableHashTest, TakesNoKeyForANegative) {
  const auto keys = numbers(0, 500);
  auto f = must_create({.keys = keys});
  for (const Digest& d : keys) ASSERT_FALSE(f.adapt(d, 1));
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_EQ(f.file().records(), 0u);
}

TEST_F(AdaptiveVariableHashTest, RemembersANegativeThatIsRefusedAlready) {
  const auto keys = numbers(0, 300);
  auto f = must_create({.keys = keys});
  std::vector<Digest> told;
  for (const Digest& d : numbers(7'000'000, 1000)) {
    if (f.may_contain(d)) continue;
    if (f.adapt(d, 1)) told.push_back(d);
    EXPECT_TRUE(!f.adapt(d, 1) || f.file().records() == told.size()) << "told twice, written once";
  }
  for (const Digest& d : numbers(9'000'000, 50'000))
    if (f.may_contain(d)) (void)f.adapt(d, 1);
  for (const Digest& d : told) ASSERT_FALSE(f.may_contain(d));
}

TEST_F(AdaptiveVariableHashTest, ComesBackFromItsFileWithAllItAbsorbed) {
  const auto keys = numbers(0, 2000);
  const VariableHash built = *VariableHash::build({.keys = keys}, {.bits_per_key = 8, .effort = Effort::fast});
  ASSERT_TRUE(SlotFile::create(path_, built, keys));
  std::vector<Digest> absorbed;
  VariableHash halfway;
  {
    auto f = must_open(built);
    for (const Digest& d : numbers(9'000'000, 100'000)) {
      if (f.may_contain(d) && f.adapt(d, 1)) absorbed.push_back(d);
      if (absorbed.size() == 200) halfway = f.filter();
    }
    EXPECT_TRUE(f.file().sync());
  }
  // from the filter as it was built, and from a copy saved in between
  for (const VariableHash& from : {built, halfway}) {
    const auto f = must_open(from);
    EXPECT_EQ(f.file().records(), absorbed.size());
    for (const Digest& d : absorbed) ASSERT_FALSE(f.may_contain(d));
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  }
}

TEST_F(AdaptiveVariableHashTest, LosesNothingThatWasWrittenWhenItIsKilled) {
  const auto keys = numbers(0, 1000), strangers = numbers(9'000'000, 60'000);
  const VariableHash built = *VariableHash::build({.keys = keys}, {.bits_per_key = 6, .effort = Effort::fast});
  ASSERT_TRUE(SlotFile::create(path_, built, keys));
  for (int round = 0; round < 4; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {  // absorbs, and says so after each; is killed somewhere in between
      auto f = AdaptiveVariableHash::open(path_, built);
      if (!f) ::_exit(1);
      for (std::uint32_t i = 0; i < strangers.size(); ++i)
        if (f->may_contain(strangers[i]) && f->adapt(strangers[i], 1) &&
            ::write(pipe_ends[1], &i, sizeof i) != sizeof i)
          ::_exit(2);
      for (;;) ::pause();
    }
    ::close(pipe_ends[1]);
    std::set<std::uint32_t> said;
    std::uint32_t i;
    while (said.size() < 40u && ::read(pipe_ends[0], &i, sizeof i) == sizeof i) said.insert(i);
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &i, sizeof i) == sizeof i) said.insert(i);
    ::close(pipe_ends[0]);
    int status;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto f = must_open(built);
    for (std::uint32_t s : said) ASSERT_FALSE(f.may_contain(strangers[s]));
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  }
}

// Runs body() in a process of its own and kills that at its stop number `stops`, counted from 0: it stops before and
// after every system call. What a folder shows changes only in system calls, so that all these kills together are kills
// at every moment. A run may have a call more or less than another, where the heap needs one.
constexpr int kUntraceable = 77;  // an exit code
enum class Fate { killed, ended, failed, untraceable };
template <class Body>
Fate kill_at_stop(std::uint64_t stops, Body body) {
  const pid_t child = ::fork();
  if (child < 0) return Fate::failed;
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kUntraceable);
    ::raise(SIGSTOP);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  bool traced = true, crashed = false;
  ::waitpid(child, &status, 0);  // for its own SIGSTOP
  for (std::uint64_t stop = 0; WIFSTOPPED(status); ++stop) {
    crashed = stop > 0 && WSTOPSIG(status) != SIGTRAP;
    if (stop == stops || crashed || !(traced = ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0))
      ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  if (!traced || (WIFEXITED(status) && WEXITSTATUS(status) == kUntraceable)) return Fate::untraceable;
  if (WIFSIGNALED(status)) return crashed ? Fate::failed : Fate::killed;
  return WEXITSTATUS(status) == 0 ? Fate::ended : Fate::failed;
}

TEST_F(AdaptiveVariableHashTest, AppearsWholeOrNotAtAllWhereverItsMakerIsKilled) {
  const auto keys = numbers(0, 2000);
  const VariableHash built =
      sample::must_build<VariableHash>({.keys = keys}, {.bits_per_key = 6, .effort = Effort::fast});
  const std::string folder = path_ + ".d", inside = folder + "/keys";
  std::uint64_t missing = 0, appeared = 0;
  for (Fate fate = Fate::killed; fate == Fate::killed;) {
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    fate = kill_at_stop(missing + appeared, [&] { return bool(SlotFile::create(inside, built, keys)); });
    const bool there = std::filesystem::exists(inside);
    if (there) {
      const auto f = AdaptiveVariableHash::open(inside, built);
      EXPECT_TRUE(f) << f.error().message << ", killed at stop " << missing + appeared;
      std::uint64_t found = 0;
      std::span<const std::uint64_t> xs;
      for (std::uint64_t slot = 0; f && slot < built.slots(); ++slot) {
        EXPECT_TRUE(f->file().keys_of(slot, xs));
        found += xs.size();
      }
      EXPECT_EQ(found, keys.size());
    }
    std::filesystem::remove_all(folder);
    if (fate == Fate::untraceable) GTEST_SKIP() << "this machine does not let a process trace the one it started";
    ASSERT_NE(fate, Fate::failed) << "at stop " << missing + appeared;
    (there ? appeared : missing) += 1;
    ASSERT_LT(missing + appeared, 1000u) << "the maker does not come to its end";
  }
  EXPECT_GT(missing, 5u) << "killed before its name was there";
  EXPECT_GT(appeared, 1u) << "killed after it, and not killed at all";
}

TEST_F(AdaptiveVariableHashTest, OpensAfterEveryTornWrite) {
  const auto keys = numbers(0, 100);
  const VariableHash built =
      sample::must_build<VariableHash>({.keys = keys}, {.bits_per_key = 6, .effort = Effort::fast});
  ASSERT_TRUE(SlotFile::create(path_, built, keys));
  std::vector<Digest> absorbed;
  std::vector<std::uint64_t> sizes;  // of the file that has absorbed 0, 1, 2, 3
  {
    auto f = must_open(built);
    sizes.push_back(f.file().size_bytes());
    for (const Digest& d : numbers(9'000'000, 5000))
      if (absorbed.size() < 3 && f.may_contain(d) && f.adapt(d, 1)) {
        absorbed.push_back(d);
        sizes.push_back(f.file().size_bytes());
      }
  }
  ASSERT_EQ(absorbed.size(), 3u);
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  in.close();
  ASSERT_EQ(whole.size(), sizes[3]);
  std::size_t records = 0;  // that the cut leaves whole
  for (std::size_t size = sizes[0]; size <= whole.size(); ++size) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    if (records < 3 && size == sizes[records + 1]) ++records;
    {
      auto f = must_open(built);
      ASSERT_EQ(f.file().records(), records) << "cut to " << size;
      ASSERT_EQ(std::filesystem::file_size(path_), sizes[records]) << "a torn record is cut off";
      for (std::size_t i = 0; i < records; ++i) ASSERT_FALSE(f.may_contain(absorbed[i]));
      for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
      // and goes on from there: what it absorbs now is not lost in what was torn
      if (records < 3) ASSERT_TRUE(f.may_contain(absorbed[records]) && f.adapt(absorbed[records], 1));
    }
    auto again = must_open(built);
    ASSERT_EQ(again.file().records(), std::min<std::size_t>(records + 1, 3)) << "cut to " << size;
    for (std::size_t i = 0; i < again.file().records(); ++i) ASSERT_FALSE(again.may_contain(absorbed[i]));
  }
  EXPECT_EQ(records, 3u);
  // cut before the log, it is no key file any more
  for (std::size_t size = 0; size < sizes[0]; size += 7) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    ASSERT_FALSE(AdaptiveVariableHash::open(path_, built)) << size;
  }
}

TEST_F(AdaptiveVariableHashTest, DeniesNoKeyWhateverByteOfTheFileIsDamaged) {
  const auto keys = numbers(0, 60);
  const VariableHash built = *VariableHash::build({.keys = keys}, {.bits_per_key = 6, .effort = Effort::fast});
  ASSERT_TRUE(SlotFile::create(path_, built, keys));
  {
    auto f = must_open(built);
    int absorbed = 0;
    for (const Digest& d : numbers(9'000'000, 2000))
      if (absorbed < 3 && f.may_contain(d)) absorbed += f.adapt(d, 1);
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const auto strangers = numbers(8'000'000, 300);
  constexpr std::size_t kRecordBytes = 48;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    auto f = AdaptiveVariableHash::open(path_, built);
    // Nothing tells a damaged last record from a torn one. A damaged byte elsewhere is refused, and the file left as it is.
    ASSERT_EQ(static_cast<bool>(f), at >= whole.size() - kRecordBytes) << "byte " << at;
    if (!f) {
      ASSERT_EQ(std::filesystem::file_size(path_), whole.size()) << "byte " << at;
      continue;
    }
    for (const Digest& d : strangers)
      if (f->may_contain(d)) (void)f->adapt(d, 1);
    for (const Digest& d : keys) ASSERT_TRUE(f->may_contain(d)) << "byte " << at;
  }
}

TEST_F(AdaptiveVariableHashTest, RefusesAFileThatSomebodyElseHasOpen) {
  const auto keys = numbers(0, 100);
  const auto f = must_create({.keys = keys});
  EXPECT_TRUE(sample::refused(AdaptiveVariableHash::open(path_, f.filter()), Errc::io, {path_, "lock"}));
}

TEST_F(AdaptiveVariableHashTest, TakesAFilterThatAnAnyFilterHolds) {
  const auto keys = numbers(0, 500);
  const auto any = AnyFilter::build("variable-hash", {.keys = keys}, {{"bits_per_key", "8"}});
  ASSERT_TRUE(any);
  EXPECT_EQ(any->as<Bloom>(), nullptr);
  const VariableHash* filter = any->as<VariableHash>();
  ASSERT_NE(filter, nullptr);
  ASSERT_TRUE(SlotFile::create(path_, *filter, keys));
  auto f = must_open(*filter);
  std::uint64_t absorbed = 0;
  for (const Digest& d : numbers(9'000'000, 50'000))
    if (any->may_contain(d) && f.adapt(d, 1)) {
      ++absorbed;
      ASSERT_FALSE(f.may_contain(d));
    }
  EXPECT_GT(absorbed, 50u);
}

TEST_F(AdaptiveVariableHashTest, RefusesTheFileOfAnotherFilter) {
  const auto keys = numbers(0, 500), others = numbers(1000, 500);
  const VariableHash::Params p{.bits_per_key = 8, .effort = Effort::fast};
  ASSERT_TRUE(SlotFile::create(path_, *VariableHash::build({.keys = keys}, p), keys));
  EXPECT_TRUE(sample::refused(AdaptiveVariableHash::open(path_, *VariableHash::build({.keys = others}, p)),
                              Errc::invalid_argument, {path_, "another filter"}));
  EXPECT_FALSE(AdaptiveVariableHash::open(path_ + ".none", *VariableHash::build({.keys = keys}, p)));
}

}  // namespace
}  // namespace naysay
