// SPDX-License-Identifier: Apache-2.0
// A variable hash filter in an AnyFilter, with the file of its keys attached: adaptive through the same calls as others.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "naysay/any_filter.hpp"
#include "naysay/variable_hash/adaptive_variable_hash.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must;
using sample::numbers;

class AttachedKeyFile : public ::testing::Test {
 protected:
  AttachedKeyFile()
      : path_((std::filesystem::temp_directory_path() / ("naysay-attached-" + std::to_string(::getpid()))).string()) {}
  ~AttachedKeyFile() override { ::unlink(path_.c_str()); }

  AnyFilter built() const { return must(AnyFilter::build("variable-hash", {.keys = keys_}, {{"bits_per_key", 8}})); }
  AnyFilter attached() {
    AnyFilter f = built();
    must(f.write_key_file(path_, keys_));
    must(f.attach_key_file(path_));
    return f;
  }
  // Reports what f accepts of some strangers; those that it then refuses.
  static std::vector<Digest> report_to(AnyFilter& f) {
    std::vector<Digest> done;
    for (const Digest& d : numbers(9'000'000, 20'000))
      if (f.may_contain(d) && f.adapt(d)) done.push_back(d);
    return done;
  }

  const std::string path_;
  const std::vector<Digest> keys_ = numbers(0, 2000);
};

TEST_F(AttachedKeyFile, MakesAdaptWorkAndDeniesNoKey) {
  ASSERT_TRUE(find_filter("variable-hash")->adaptive);
  AnyFilter f = attached();
  EXPECT_TRUE(f.adapts());
  const auto absorbed = report_to(f);
  EXPECT_GT(absorbed.size(), 100u);
  for (const Digest& d : absorbed) ASSERT_FALSE(f.may_contain(d));
  for (const Digest& d : keys_) ASSERT_TRUE(f.may_contain(d));
  EXPECT_EQ(f.adapt(keys_[0]), Outcome::no_room) << "a key";
  EXPECT_TRUE(f.may_contain(keys_[0]));
  EXPECT_TRUE(f.sync_key_file());
}

TEST_F(AttachedKeyFile, IsWhatAdaptAsksForWithoutOne) {
  AnyFilter f = built();
  EXPECT_FALSE(f.adapts());
  const auto before = f.to_bytes();
  EXPECT_EQ(f.adapt(digest(9'000'000u)), Outcome::no_key_file);
  EXPECT_EQ(f.to_bytes(), before);
  AnyFilter bloom = must(AnyFilter::build("bloom", {.keys = keys_}));
  EXPECT_EQ(bloom.adapt(digest(9'000'000u)), Outcome::unsupported);
  EXPECT_TRUE(sample::refused(bloom.attach_key_file(path_), Errc::unsupported, {"bloom", "variable-hash"}));
  EXPECT_TRUE(sample::refused(bloom.write_key_file(path_, keys_), Errc::unsupported, {"bloom", "variable-hash"}));
}

TEST_F(AttachedKeyFile, GivesTheSameFilterAsTheTypedOne) {
  AnyFilter f = attached();
  const auto absorbed = report_to(f);
  const std::string other = path_ + ".typed";
  const AnyFilter plain = built();
  ASSERT_TRUE(SlotFile::create(other, *plain.as<VariableHash>(), keys_));
  auto typed = must(AdaptiveVariableHash::open(other, *plain.as<VariableHash>()));
  for (const Digest& d : numbers(9'000'000, 20'000))
    if (typed.may_contain(d)) typed.adapt(d, 1);
  ::unlink(other.c_str());
  EXPECT_EQ(typed.absorbed(), absorbed.size());
  EXPECT_EQ(sample::bytes_of(typed.filter()), sample::bytes_of(*f.as<VariableHash>()));
}

TEST_F(AttachedKeyFile, BringsBackWhatItRecordedToTheFilterAsItWasBuilt) {
  std::vector<Digest> absorbed;
  std::vector<std::byte> after;
  {
    AnyFilter f = attached();
    absorbed = report_to(f);
    after = f.to_bytes();
  }
  AnyFilter again = built();
  std::uint64_t accepted = 0;
  for (const Digest& d : absorbed) accepted += again.may_contain(d);
  EXPECT_GT(accepted, 50u) << "the others were accepted only after a function had changed";
  must(again.attach_key_file(path_));
  for (const Digest& d : absorbed) ASSERT_FALSE(again.may_contain(d));
  EXPECT_EQ(again.to_bytes(), after);
}

TEST_F(AttachedKeyFile, IsNotAttachedToACloneAndNotTwice) {
  AnyFilter f = attached();
  AnyFilter copy = must(f.clone());
  EXPECT_FALSE(copy.adapts());
  EXPECT_TRUE(sample::refused(copy.attach_key_file(path_), Errc::io, {path_, "lock"}));
  EXPECT_TRUE(f.adapts());
}

TEST_F(AttachedKeyFile, OfAnotherFilterChangesNothing) {
  { attached(); }
  const auto others = numbers(50'000, 2000);
  AnyFilter f = must(AnyFilter::build("variable-hash", {.keys = others}, {{"bits_per_key", 8}}));
  const auto before = f.to_bytes();
  EXPECT_TRUE(sample::refused(f.attach_key_file(path_), Errc::invalid_argument, {path_, "another filter"}));
  EXPECT_FALSE(f.adapts());
  EXPECT_EQ(f.to_bytes(), before);
}

// The records of what it adapts to would go where nobody finds them again.
TEST_F(AttachedKeyFile, IsNotReplaced) {
  AnyFilter f = attached();
  EXPECT_TRUE(sample::refused(f.write_key_file(path_, keys_), Errc::io, {path_, "lock", "attached"}));
  const auto absorbed = report_to(f);
  const auto after = f.to_bytes();
  { const AnyFilter gone = std::move(f); }
  AnyFilter again = built();
  must(again.attach_key_file(path_));
  EXPECT_EQ(again.to_bytes(), after);
  EXPECT_GT(absorbed.size(), 100u);
}

// Not to be opened is not the same as not to be there.
TEST_F(AttachedKeyFile, IsNotWrittenOverAFileThatCannotBeLookedAt) {
  std::filesystem::create_symlink(path_, path_);
  EXPECT_TRUE(sample::refused(built().write_key_file(path_, keys_), Errc::io, {path_, "open"}));
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(AttachedKeyFile, IsMadeFromTheKeysOfTheBuildOnly) {
  const AnyFilter f = built();
  std::vector<Digest> keys(keys_.begin(), keys_.end() - 1);
  EXPECT_TRUE(sample::refused(f.write_key_file(path_, keys), Errc::invalid_argument, {path_, "1999", "2000"}));
  for (const Digest& d : numbers(9'000'000, 100))
    if (keys.size() < 2000 && !f.may_contain(d)) keys.push_back(d);
  ASSERT_EQ(keys.size(), 2000u);
  EXPECT_TRUE(sample::refused(f.write_key_file(path_, keys), Errc::invalid_argument, {path_, "not in the filter"}));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// A child process shares the lock, but not what its parent records after the fork.
TEST_F(AttachedKeyFile, IsNotWrittenByAChildProcess) {
  AnyFilter f = attached();
  const auto size = std::filesystem::file_size(path_);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(report_to(f).empty() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  EXPECT_GT(report_to(f).size(), 100u);
}

// A mapped file stays as it is: the filter copies itself first.
TEST_F(AttachedKeyFile, CanBeAttachedToAFilterThatBorrowsItsBytes) {
  const auto bytes = built().to_bytes();
  { attached(); }
  AnyFilter f = must(AnyFilter::view(bytes));
  must(f.attach_key_file(path_));
  EXPECT_GT(report_to(f).size(), 100u);
  EXPECT_EQ(bytes, built().to_bytes());
}

}  // namespace
}  // namespace naysay
