// SPDX-License-Identifier: Apache-2.0
#include "naysay/workload/growing_array.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace naysay {
namespace {

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

TEST(GrowingArray, KeepsWhatIsAppendedWhileItGrows) {
  GrowingArray<std::uint64_t> array;
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(array.push(i));
  ASSERT_TRUE(array.append(numbers(5000, 100'000)));
  ASSERT_EQ(array.size(), 105'000u);
  for (std::uint64_t i = 0; i < array.size(); ++i) ASSERT_EQ(array[i], i);
}

TEST(PlacedAppendThreads, FillPlacesInAnyOrderWhileTheArrayGrows) {
  constexpr std::uint64_t kPiece = 7000, kPieces = 60;
  GrowingArray<std::uint64_t> array;
  PlacedAppend append(array);
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> late;  // places that are filled at the very end
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    const auto first = append.place(kPiece);
    ASSERT_EQ(first, i * kPiece);
    if (i % 8 == 0)
      late.push_back(*first);
    else
      threads.emplace_back([&append, first] { append.fill(*first, numbers(*first, kPiece)); });
  }
  ASSERT_TRUE(append.place(0));
  append.fill(kPieces * kPiece, {});
  std::thread waiting([&] {
    append.wait();
    for (std::uint64_t i = 0; i < array.size(); ++i) ASSERT_EQ(array[i], i);
  });
  for (std::uint64_t first : late) append.fill(first, numbers(first, kPiece));
  for (std::thread& thread : threads) thread.join();
  waiting.join();
  EXPECT_EQ(array.size(), kPieces * kPiece);
}

}  // namespace
}  // namespace naysay
