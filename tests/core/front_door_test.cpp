// SPDX-License-Identifier: Apache-2.0
// The front door: what naysay.hpp promises.
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must;

// A file in a folder of its own, gone at the end.
class Place {
 public:
  Place() : folder_(std::filesystem::temp_directory_path() / ("naysay-door-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Place() { std::filesystem::remove_all(folder_); }
  std::string operator()(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// The program of the README's reader: strings in, answers out, a file, and a filter whose type is known at run time.
TEST(FrontDoor, BuildsQueriesSavesAndChangesFromOneInclude) {
  const Place place;
  const std::vector<std::string> blocked = {"evil.example", "worse.example", "worst.example"};
  const std::vector<std::pair<std::string, float>> allowed = {{"popular.example", 1000}, {"niche.example", 2}};

  auto filter = naysay::build<naysay::TaughtRibbon>(blocked, allowed, {.bits_per_key = 10});
  ASSERT_TRUE(filter) << filter.error().message;
  for (const std::string& host : blocked) EXPECT_TRUE(filter->may_contain(host));
  for (const auto& [host, cost] : allowed) EXPECT_FALSE(filter->may_contain(host));
  ASSERT_TRUE(filter->save(place("blocked.nsy")));
  const auto again = naysay::open<naysay::TaughtRibbon>(place("blocked.nsy"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->to_bytes(), filter->to_bytes());
  EXPECT_EQ(again->keys(), 3u);

  auto built = naysay::build("guarded", blocked, allowed, {{"bits_per_key", 24}}, {.capacity = 100});
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_TRUE(built->save(place("live.nsy")));
  auto live = naysay::open(place("live.nsy"));
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_TRUE(live->insert("newest.example"));
  EXPECT_TRUE(live->adapt("popular.example", 1000));
  EXPECT_TRUE(live->may_contain("newest.example"));
  EXPECT_FALSE(live->may_contain("popular.example"));
  EXPECT_EQ(live->keys(), 4u);
  EXPECT_EQ(must(naysay::open(place("live.nsy"))).keys(), 3u) << "a change of a mapped filter leaves its file alone";
}

template <class Keys>
void accepts_all(const Keys& keys) {
  const auto typed = build<Bloom>(keys, {.bits_per_key = 12});
  const auto any = build("bloom", keys, {}, {{"bits_per_key", "12"}});
  ASSERT_TRUE(typed && any);
  EXPECT_EQ(typed->to_bytes(), any->to_bytes());
  std::size_t count = 0;
  for (const auto& key : keys) {
    EXPECT_TRUE(typed->may_contain(key));
    EXPECT_TRUE(any->may_contain(key));
    ++count;
  }
  EXPECT_EQ(typed->keys(), count);
  std::vector<bool> bools(count);
  std::vector<std::uint8_t> bytes(count);
  typed->may_contain(keys, bools);
  any->may_contain(keys, bytes);
  EXPECT_EQ(bools, std::vector<bool>(count, true));
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(count, 1));
}

// As std::views::filter: begin() is not const.
struct ReadOnce {
  std::vector<int> keys = {1, 2, 3};
  auto begin() { return keys.begin(); }
  auto end() { return keys.end(); }
};

TEST(FrontDoor, TakesAnyRangeOfStringsIntegersAndDigests) {
  accepts_all(std::vector<std::string>{"a", "b", "c"});
  accepts_all(std::vector<std::string_view>{"a", "b"});
  accepts_all(std::vector<const char*>{"a", "b"});
  accepts_all(std::list<std::string>{"x"});
  accepts_all(std::set<std::string>{"x", "y"});
  accepts_all(std::vector<std::uint64_t>{1, 2, ~std::uint64_t{0}});
  accepts_all(std::deque<int>{-1, 0, 7});
  accepts_all(std::vector<short>{});
  accepts_all(sample::numbers(0, 1000));
  std::vector<int> many(5000);
  std::iota(many.begin(), many.end(), 0);
  accepts_all(many);
  const auto once = build<Bloom>(ReadOnce{});
  ASSERT_TRUE(once);
  EXPECT_EQ(once->keys(), 3u) << "also a range that cannot be read when it is const";
  const std::string_view array[] = {"a", "b"};
  accepts_all(std::span(array));
}

TEST(FrontDoor, TakesNegativesWithAndWithoutCosts) {
  const std::vector<std::string> keys = {"a", "b", "c", "d"};
  const std::map<std::string, double> costs = {{"x", 3.5}, {"y", 1}};
  EXPECT_TRUE(build<TaughtRibbon>(keys, costs, {.bits_per_key = 12}));
  const std::vector<std::string> plain = {"x", "y"};
  EXPECT_TRUE(build<TaughtRibbon>(keys, plain, {.bits_per_key = 12}));
  const std::vector<std::tuple<std::uint64_t, int>> numbers = {{7, 2}};
  EXPECT_TRUE(build<TaughtRibbon>(std::vector<int>{1, 2}, numbers));
  const std::vector<std::pair<std::string, float>> bad = {{"x", -1.0f}};
  const auto refused = build<TaughtRibbon>(keys, bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
}

// What must not compile does not.
template <class T>
concept CanBeQueriedWith = requires(const AnyFilter& f, T key) {
  f.may_contain(key);
};
static_assert(CanBeQueriedWith<int> && CanBeQueriedWith<const char*> && CanBeQueriedWith<std::string> &&
              CanBeQueriedWith<Digest> && CanBeQueriedWith<std::uint64_t>);
static_assert(!CanBeQueriedWith<std::nullptr_t> && !CanBeQueriedWith<bool> && !CanBeQueriedWith<char> &&
              !CanBeQueriedWith<double>);

TEST(FrontDoor, RefusesMoreBitsThanThereCanBe) {
  const auto f = build<Bloom>(std::vector<int>{1}, {.bits_per_key = 4096}, {.capacity = std::uint64_t{1} << 47});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::out_of_budget);
}

TEST(FrontDoor, TakesZeroForAnInteger) {
  const auto f = must(build<Xor>(std::vector<int>{0}));
  EXPECT_TRUE(f.may_contain(0));
  EXPECT_EQ(digest_of(f.hasher(), 0), digest(std::uint64_t{0}));
}

TEST(FrontDoor, TellsAnswersOfChangesApart) {
  const std::vector<std::string> keys = {"a", "b"};
  auto xor_filter = must(build("xor", keys));
  EXPECT_EQ(xor_filter.insert("c"), Outcome::unsupported);
  EXPECT_EQ(xor_filter.erase("a"), Outcome::unsupported);
  EXPECT_EQ(xor_filter.adapt("z", 1), Outcome::unsupported);
  auto cuckoo = must(build("cuckoo", keys, {}, {{"bits_per_key", 16}}, {.capacity = 8}));
  EXPECT_EQ(cuckoo.erase("never"), Outcome::absent);
  EXPECT_EQ(cuckoo.erase("a"), Outcome::done);
  EXPECT_EQ(cuckoo.keys(), 1u);
  Outcome last = Outcome::done;
  for (int i = 0; i < 1000 && last; ++i) last = cuckoo.insert(std::to_string(i));
  EXPECT_EQ(last, Outcome::no_room);
}

TEST(FrontDoor, RemembersWhetherKeysWereTextOrIntegers) {
  const Place place;
  const auto text = must(build<Bloom>(std::vector<std::string>{"7"}));
  const auto integers = must(build<Bloom>(std::vector<int>{7}));
  EXPECT_EQ(text.key_kind(), KeyKind::text);
  EXPECT_EQ(integers.key_kind(), KeyKind::integer);
  ASSERT_TRUE(integers.save(place("integers.nsy")));
  auto f = must(naysay::open(place("integers.nsy")));
  EXPECT_EQ(f.key_kind(), KeyKind::integer);
  EXPECT_TRUE(f.may_contain(7));
  EXPECT_TRUE(f.may_contain(digest(std::uint64_t{7})));
#ifdef NDEBUG  // elsewhere it is an assertion
  EXPECT_TRUE(f.may_contain("no such text")) << "what cannot be known is maybe";
  EXPECT_EQ(f.insert("text"), Outcome::wrong_kind);
#endif
}

TEST(FrontDoor, OpensAFileOnlyAsTheTypeItHolds) {
  const Place place;
  const std::vector<std::string> keys = {"a", "b"};
  ASSERT_TRUE(must(build<Bloom>(keys)).save(place("bloom.nsy")));
  const auto wrong = naysay::open<Xor>(place("bloom.nsy"));
  EXPECT_TRUE(sample::refused(wrong, Errc::unsupported, {"bloom", "xor"}));
  const AnyFilter any = must(naysay::open(place("bloom.nsy")));
  EXPECT_NE(any.as<Bloom>(), nullptr);
  EXPECT_EQ(any.as<Xor>(), nullptr);
  EXPECT_FALSE(naysay::open(place("none.nsy")));
}

TEST(FrontDoor, NeverWritesToAMappedFile) {
  const Place place;
  const std::vector<std::string> keys = {"a", "b"};
  ASSERT_TRUE(must(build("cuckoo", keys, {}, {}, {.capacity = 100})).save(place("cuckoo.nsy")));
  auto f = must(naysay::open(place("cuckoo.nsy")));
  static_assert(std::is_same_v<decltype(f.as<Cuckoo>()), const Cuckoo*>, "a mapped filter can only be read");
  Cuckoo* const own = must(f.change<Cuckoo>());
  EXPECT_TRUE(own->insert(digest("c")));
  EXPECT_TRUE(f.may_contain("c"));
  EXPECT_FALSE(f.facts().borrowed);
  EXPECT_FALSE(must(naysay::open(place("cuckoo.nsy"))).may_contain("c"));
}

TEST(FrontDoor, ClonesOfAViewOutliveItsBytes) {
  const auto keys = sample::numbers(0, 100);
  auto bytes = must(build<Bloom>(keys)).to_bytes();
  std::optional<AnyFilter> copy;
  {
    const AnyFilter view = must(AnyFilter::view(bytes));
    copy = must(view.clone());
  }
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  bytes = {};
  for (const Digest& d : keys) EXPECT_TRUE(copy->may_contain(d));
}

TEST(Result, HasTheHelpersOfAnExpected) {
  const auto half = [](int x) -> Result<int> {
    if (x % 2 != 0) return Error{Errc::invalid_argument, "odd"};
    return x / 2;
  };
  EXPECT_EQ(half(8).and_then(half).value_or(-1), 2);
  EXPECT_EQ(half(6).and_then(half).value_or(-1), -1);
  EXPECT_EQ(half(4).value(), 2);
  EXPECT_THROW((void)half(3).value(), std::runtime_error);
  const auto quarter = [&](int x) -> Result<std::string> {
    NAYSAY_TRY(const int h, half(x));
    NAYSAY_TRY(const int q, half(h));
    return std::to_string(q);
  };
  EXPECT_EQ(quarter(12).value_or(""), "3");
  EXPECT_EQ(quarter(6).error().message, "odd");
}

}  // namespace
}  // namespace naysay
