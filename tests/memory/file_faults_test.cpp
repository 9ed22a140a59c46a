// SPDX-License-Identifier: Apache-2.0
// The disk fills up, a sync fails, a rename is refused, memory runs out: at the first call, the second, and every one
// that a save, a load or a change makes. Nothing is lost: a file is the old one or the new one, nothing else remains
// next to it, and there is one clear sentence.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cases.hpp"
#include "memory/failing_calls.hpp"
#include "memory/failing_new.hpp"
#include "naysay/naysay.hpp"
#include "naysay/variable_hash/adaptive_variable_hash.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

namespace fs = std::filesystem;

class Folder : public ::testing::TestWithParam<FilterType> {
 protected:
  void SetUp() override {
    if (!NAYSAY_CALLS_CAN_FAIL) GTEST_SKIP() << "TSan follows the system calls itself";
    std::string pattern = (fs::temp_directory_path() / "naysay-faults-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string read(const char* name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  // One lower-case sentence that names the file; where memory has run out there may be none left for it.
  static void expect_sentence(const Error& e, const std::string& file) {
    if (e.code == Errc::no_memory && e.message.empty()) return;
    EXPECT_NE(e.message.find(file), std::string::npos) << e.message;
    EXPECT_EQ(e.message.find('\n'), std::string::npos) << e.message;
    EXPECT_GT(e.message.size(), file.size() + 5) << e.message;
  }

 private:
  fs::path folder_;
};

// Files that this process has open.
std::ptrdiff_t open_files() { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); }

// Calls body(attempt) with each fault at its first, second, ... call, until there are no more calls. body returns a
// Result; it must be an error exactly if a call failed that is an error.
template <class Body, class Holds>
void with_every_fault(Body body, Holds holds) {
  const std::ptrdiff_t before = open_files();
  for (const Fault fault : kFaults) {
    for (long n = 0;; ++n) {
      SCOPED_TRACE(std::string(kFaultNames[static_cast<int>(fault)]) + " after " + std::to_string(n));
      ASSERT_LT(n, 10'000) << "it never ends";
      Result<Ok> done = Ok{};
      bool reached = false;
      {
        const FailingCalls calls(fault, n);
        done = body();
        reached = calls.seen() > n;
      }
      const bool harmless = fault == Fault::short_write || fault == Fault::interrupted || !reached;
      if (harmless) EXPECT_TRUE(done) << done.error().message;
      holds(done, reached);
      EXPECT_EQ(open_files(), before);
      if (::testing::Test::HasFailure()) return;
      if (!reached) break;
      if (fault == Fault::short_write && n > 20) break;  // each byte is a call
    }
  }
}

// The same with memory that runs out at every allocation.
template <class Body, class Holds>
void with_every_allocation(Body body, Holds holds) {
  allocations_made = 0;
  ASSERT_TRUE(body());
  const std::int64_t all = allocations_made;
  const std::ptrdiff_t before = open_files();
  for (std::int64_t n = 0; n < all; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n) + " of " + std::to_string(all));
    Result<Ok> done = Ok{};
    {
      const AllowAllocations some(n);
      done = body();
    }
    if (!done) EXPECT_EQ(done.error().code, Errc::no_memory) << done.error().message;
    holds(done, true);
    EXPECT_EQ(open_files(), before);
    if (::testing::Test::HasFailure()) return;
  }
}

class EveryFilterWithFaults : public Folder {
 protected:
  AnyFilter must_build(std::uint64_t first) {
    const auto keys = sample::numbers(first, 40), negatives = sample::numbers(1 << 20, 40);
    return sample::must(
        AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}, {}, {.capacity = 60}));
  }
  static std::string text_of(const AnyFilter& f) {
    const auto bytes = f.to_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

TEST_P(EveryFilterWithFaults, SavesTheWholeFileOrLeavesTheOldOne) {
  const std::string file = path("f.nsy");
  const AnyFilter before = must_build(0), after = must_build(1000);
  const std::string old_bytes = text_of(before), new_bytes = text_of(after);
  const auto body = [&]() -> Result<Ok> { return after.save(file); };
  const auto holds = [&](const Result<Ok>& done, bool) {
    EXPECT_EQ(entries(), std::vector<std::string>{"f.nsy"});
    // A save that fails after the rename has nothing more to lose, but before it the old bytes must be there.
    const std::string now = read("f.nsy");
    if (done)
      EXPECT_TRUE(now == new_bytes);
    else
      EXPECT_TRUE(now == old_bytes || now == new_bytes) << "neither the old file nor the new one";
    if (!done && done.error().code != Errc::no_memory) expect_sentence(done.error(), "f.nsy");
    EXPECT_TRUE(before.save(file));
  };
  ASSERT_TRUE(before.save(file));
  with_every_fault(body, holds);
  with_every_allocation(body, holds);
}

TEST_P(EveryFilterWithFaults, OpensAndLoadsOrSaysWhyNot) {
  const std::string file = path("f.nsy");
  const AnyFilter built = must_build(0);
  ASSERT_TRUE(built.save(file));
  const std::string bytes = read("f.nsy");
  for (const bool copy : {false, true}) {
    const auto body = [&]() -> Result<Ok> {
      NAYSAY_TRY(const AnyFilter f, copy ? load(file) : open(file));
      return f.keys() == 40 ? Result<Ok>(Ok{}) : Error{Errc::corrupt, "f.nsy: it has other keys"};
    };
    const auto holds = [&](const Result<Ok>& done, bool) {
      if (!done && done.error().code != Errc::no_memory) expect_sentence(done.error(), "f.nsy");
      EXPECT_EQ(entries(), std::vector<std::string>{"f.nsy"});
    };
    with_every_fault(body, holds);
    with_every_allocation(body, holds);
  }
  EXPECT_TRUE(read("f.nsy") == bytes);
}

// What an update does: map, change, save over the same file.
TEST_P(EveryFilterWithFaults, IsChangedInItsFileOrStaysAsItWas) {
  if (!GetParam().dynamic) return;
  const std::string file = path("f.nsy");
  const AnyFilter built = must_build(0);
  const auto keys = sample::numbers(0, 40), late = sample::numbers(5000, 5);
  const std::string old_bytes = text_of(built);
  const auto body = [&]() -> Result<Ok> {
    NAYSAY_TRY(AnyFilter f, open(file));
    for (const Digest& d : late)
      if (const Outcome o = f.insert(d); !o)
        return Error{o == Outcome::no_memory || o == Outcome::no_room ? Errc::no_memory : Errc::corrupt,
                     "f.nsy: no room"};
    return f.save(file);
  };
  const auto holds = [&](const Result<Ok>& done, bool) {
    EXPECT_EQ(entries(), std::vector<std::string>{"f.nsy"});
    const AnyFilter now = sample::must(load(file));
    for (const Digest& d : keys) ASSERT_TRUE(now.may_contain(d)) << "a key is lost";
    if (done)
      for (const Digest& d : late) ASSERT_TRUE(now.may_contain(d)) << "a late key is lost";
    else if (now.keys() == 40)
      EXPECT_TRUE(read("f.nsy") == old_bytes);
    EXPECT_TRUE(now.keys() == 40 || now.keys() == 45);
    EXPECT_TRUE(built.save(file));
  };
  ASSERT_TRUE(built.save(file));
  with_every_fault(body, holds);
  with_every_allocation(body, holds);
}

NAYSAY_FOR_FILTERS(EveryFilterWithFaults, true);

using FileOfKeysWithFaults = Folder;

TEST_F(FileOfKeysWithFaults, IsWrittenWholeOrNotAtAll) {
  const auto keys = sample::numbers(0, 200);
  const auto filter = sample::must(VariableHash::build({.keys = keys}, {.bits_per_key = 8, .effort = Effort::fast}));
  ASSERT_TRUE(SlotFile::create(path("f.slots"), filter, keys));
  const std::string bytes = read("f.slots");
  const std::string file = path("f.slots");
  const auto body = [&]() -> Result<Ok> { return SlotFile::create(file, filter, keys); };
  const auto holds = [&](const Result<Ok>& done, bool) {
    if (!done) expect_sentence(done.error(), "f.slots");
    EXPECT_EQ(entries(), std::vector<std::string>{"f.slots"});
    EXPECT_TRUE(read("f.slots") == bytes);
  };
  with_every_fault(body, holds);
  with_every_allocation(body, holds);
}

TEST_F(FileOfKeysWithFaults, KeepsEveryAnswerAndEveryKeyWhileItAdapts) {
  const auto keys = sample::numbers(0, 200), strangers = sample::numbers(1 << 20, 300);
  const auto filter = sample::must(VariableHash::build({.keys = keys}, {.bits_per_key = 8, .effort = Effort::fast}));
  ASSERT_TRUE(SlotFile::create(path("f.slots"), filter, keys));
  std::vector<Digest> refused;
  with_every_fault(
      [&]() -> Result<Ok> {
        NAYSAY_TRY(AdaptiveVariableHash f, AdaptiveVariableHash::open(path("f.slots"), filter));
        refused.clear();
        for (const Digest& d : strangers)
          if (f.may_contain(d) && f.adapt(d, 1)) refused.push_back(d);
        for (const Digest& d : keys)
          if (!f.may_contain(d)) return Error{Errc::corrupt, "f.slots: a key is denied"};
        return f.sync();
      },
      [&](const Result<Ok>& done, bool) {
        if (!done) {
          expect_sentence(done.error(), "f.slots");
          EXPECT_NE(done.error().code, Errc::corrupt) << done.error().message;
        }
        const auto again = sample::must(AdaptiveVariableHash::open(path("f.slots"), filter));
        for (const Digest& d : keys) ASSERT_TRUE(again.may_contain(d)) << "a key is denied";
        if (done)
          for (const Digest& d : refused) ASSERT_FALSE(again.may_contain(d)) << "what was refused is accepted again";
      });
}

}  // namespace
}  // namespace naysay
