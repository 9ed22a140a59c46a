// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/watched.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must;
using sample::numbers;

class WatchedThread : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "naysay-watched-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The list has the keys 0 to 999 and those of 10,000 up to 10,000 + 10 update.
  std::vector<Digest> keys(std::uint64_t update) const {
    auto out = numbers(0, 1'000);
    for (const Digest& d : numbers(10'000, 10 * update)) out.push_back(d);
    return out;
  }
  Stack base() const {
    return must(Stack::of(
        HeldBytes::copy_of(must(AnyFilter::build("ribbon", {.keys = keys(0)}, {{"bits_per_key", 12}})).to_bytes())));
  }
  void step(Stack& stack, std::uint64_t update) const {
    const auto now = keys(update);
    must(stack.push(HeldBytes::copy_of(must(make_delta(stack, {.keys = now})))));
    must(stack.save(path()));
  }
  std::string path() const { return (folder_ / kCurrentState).string(); }
  std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(WatchedThread, SwapsToANewStateWhileOthersQuery) {
  Stack stack = base();
  must(stack.save(path()));
  const auto list = must(open_watched(folder(), {.every = std::chrono::milliseconds(1)}));
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> denied{0}, rounds{0};
  std::vector<std::thread> readers;
  const auto always = keys(0);
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!end) {
        for (const Digest& d : always) denied += !list->may_contain(d);
        ++rounds;
      }
    });
  for (std::uint64_t update = 1; update <= 3; ++update) {
    step(stack, update);
    const auto now = keys(update);
    while (!list->may_contain(now.back()) ||
           list->read([](const auto& parts) { return parts[0].stack.sequence(); }) < update)
      std::this_thread::yield();
    for (const Digest& d : now) ASSERT_TRUE(list->may_contain(d));
  }
  while (rounds < 4) std::this_thread::yield();
  end = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(denied, 0u);
  EXPECT_GE(list->swaps(), 1u);
}

TEST_F(WatchedThread, KeepsItsStateIfTheNewOneIsDamagedOrGone) {
  Stack stack = base();
  step(stack, 1);
  const auto list = must(open_watched(folder(), {.every = std::chrono::milliseconds(0)}));
  EXPECT_FALSE(must(list->refresh())) << "nothing is new";
  std::ofstream(path() + ".new") << "damaged";
  std::filesystem::rename(path() + ".new", path());
  EXPECT_FALSE(list->refresh());
  EXPECT_FALSE(list->last_error().empty());
  for (const Digest& d : keys(1)) ASSERT_TRUE(list->may_contain(d));
  std::filesystem::remove(path());
  EXPECT_FALSE(list->refresh());
  step(stack, 2);
  EXPECT_TRUE(must(list->refresh()));
  EXPECT_TRUE(list->last_error().empty());
  for (const Digest& d : keys(2)) ASSERT_TRUE(list->may_contain(d));
}

TEST_F(WatchedThread, FailsToOpenAFolderWithoutAState) {
  EXPECT_TRUE(sample::refused(open_watched(folder()), Errc::io, {"current.nst"}));
}

}  // namespace
}  // namespace naysay
