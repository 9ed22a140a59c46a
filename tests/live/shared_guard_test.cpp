// SPDX-License-Identifier: Apache-2.0
// SharedFilter with a guard, and a Store of one: what was reported is refused, by all threads and after a crash.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/guarded/detail/guard.hpp"
#include "naysay/live/shared_filter.hpp"
#include "naysay/live/store.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

namespace fs = std::filesystem;
using sample::numbers;

constexpr std::uint64_t kAbsent = std::uint64_t{1} << 40;

// Few bits for the base, so that it errs, and what the guard needs besides.
GuardedGrowing::Params few_bits(std::int64_t guard, std::uint64_t capacity) {
  using Guard = guarded::detail::Guard;
  const auto entries = static_cast<std::uint64_t>(guard);
  const auto taken = static_cast<double>(Guard::bits_for(entries) - Guard::bits_for(1));
  return {.bits_per_key = 11.5 + taken / static_cast<double>(capacity), .guard = guard, .growth = 16};
}
GuardedGrowing small(std::int64_t guard, std::uint64_t capacity = 2000) {
  return sample::must_build<GuardedGrowing>({}, few_bits(guard, capacity), {.capacity = capacity});
}

// Operation i is always the same. Keys are inserted and some erased again; what the filter takes for a key is reported;
// some negatives are pinned, and half of them unpinned later.
Operation nth(std::uint64_t i) {
  if (i % 80 == 42) return {Operation::Kind::pin, digest(kAbsent + i * 7), 0};
  if (i % 160 == 82) return {Operation::Kind::unpin, digest(kAbsent + (i - 40) * 7), 0};
  if (i % 4 == 3) return {Operation::Kind::erase, digest(i - 3), 0};
  if (i % 4 == 2) return {Operation::Kind::adapt, digest(kAbsent + i * 7), static_cast<float>(1 + i % 5)};
  return {Operation::Kind::insert, digest(i), 0};
}
template <class F>
bool apply(F& f, const Operation& o) {
  switch (o.kind) {
    case Operation::Kind::insert:
      return f.insert(o.digest);
    case Operation::Kind::erase:
      return f.erase(o.digest);
    case Operation::Kind::adapt:
      return f.adapt(o.digest, o.cost);
    case Operation::Kind::pin:
      return f.pin(o.digest);
    case Operation::Kind::unpin:
      return f.unpin(o.digest);
  }
  return false;
}

TEST(SharedGuard, AnswersAsTheGuardedFilterItWasMadeOf) {
  GuardedGrowing alone = small(300);
  auto shared = SharedFilter::share(alone);
  ASSERT_TRUE(shared);
  std::vector<Digest> accepted;
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const Operation o = nth(i);
    ASSERT_EQ(apply(alone, o), apply(*shared, o)) << i;
    // What both accept and was never inserted is reported, so that the guard fills and evicts.
    const Digest stranger = digest(kAbsent + i);
    ASSERT_EQ(alone.may_contain(stranger), shared->may_contain(stranger));
    if (alone.may_contain(stranger)) {
      accepted.push_back(stranger);
      ASSERT_EQ(alone.adapt(stranger, 2), shared->adapt(stranger, 2));
    }
  }
  EXPECT_GT(accepted.size(), 300u) << "more than the guard has room for";
  EXPECT_EQ(shared->guarded(), alone.guarded());
  EXPECT_EQ(shared->pinned(), alone.pinned());
  EXPECT_GT(shared->pinned(), 100u);
  std::vector<Digest> asked = numbers(0, 60'000);
  const auto others = numbers(kAbsent, 60'000);
  asked.insert(asked.end(), others.begin(), others.end());
  std::vector<std::uint8_t> batch(asked.size());
  shared->may_contain(asked, batch.data());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    ASSERT_EQ(shared->may_contain(asked[i]), alone.may_contain(asked[i])) << i;
    ASSERT_EQ(batch[i] != 0, alone.may_contain(asked[i])) << i;
  }
  const auto back = shared->alone_guarded();
  ASSERT_TRUE(back);
  ASSERT_TRUE(back->validate());
  for (const Digest& d : asked) ASSERT_EQ(back->may_contain(d), alone.may_contain(d));
}

TEST(SharedGuard, HasNoneUnlessItWasGivenOne) {
  auto f = SharedFilter::build({.keys = numbers(0, 3000)}, {.bits_per_key = 12});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->guard_room(), 0u);
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const Digest d = digest(kAbsent + i);
    const bool maybe = f->may_contain(d);
    accepted += maybe;
    EXPECT_EQ(f->adapt(d), !maybe) << "true only for what is refused anyway";
    EXPECT_EQ(f->may_contain(d), maybe);
  }
  EXPECT_GT(accepted, 0u);
}

TEST(SharedGuard, KeepsPinnedNegativesOutWhateverIsInserted) {
  const auto pinned = numbers(kAbsent, 3000);
  auto f = SharedFilter::build_guarded({.negatives = pinned},
                                       {.bits_per_key = 60, .guard = 800, .pinned = Pinning::all}, {.capacity = 4000});
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->pinned(), 3000u);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(f->insert(digest(i))) << i;
    ASSERT_TRUE(f->may_contain(digest(i)));
  }
  for (const Digest& d : pinned) ASSERT_FALSE(f->may_contain(d));
}

// The digests of this test change their role all the time: absent and reported, then keys, then absent again. Each has one
// writer and a state, even while it changes. Readers look at the state before and after they ask.
void run(std::uint64_t rounds, unsigned writers, unsigned readers) {
  enum : std::uint32_t { kReported = 1, kKey = 3, kRoles = 4 };  // of the state modulo 4
  constexpr std::uint64_t kPerWriter = 300;
  auto shared = SharedFilter::share(small(4000));
  ASSERT_TRUE(shared);
  SharedFilter& f = *shared;
  // Keys that stay, so that strangers are accepted.
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(f.insert(digest(i)));
  std::vector<Digest> both;
  for (std::uint64_t i = 0; both.size() < writers * kPerWriter; ++i)
    if (const Digest d = digest(kAbsent + i); f.may_contain(d)) both.push_back(d);
  const std::unique_ptr<std::atomic<std::uint32_t>[]> states(new std::atomic<std::uint32_t>[both.size()]());
  std::atomic<std::uint64_t> denied{0}, accepted{0}, failed{0}, judged{0};
  std::atomic<unsigned> writing{writers};
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      sample::Words random(w + 1);
      for (std::uint64_t i = 0; i < rounds; ++i) {
        const std::uint64_t k = w * kPerWriter + random.below(kPerWriter);
        std::atomic<std::uint32_t>& state = states[k];
        const std::uint32_t s = state.load();       // 0: absent, not reported; 1: reported; 3: a key
        state.store(s / kRoles * kRoles + kRoles);  // changing
        bool done = true;
        std::uint32_t next = 0;
        switch (s % kRoles) {
          case 0:
            done = f.adapt(both[k], 1);
            next = kReported;
            break;
          case kReported:
            done = f.insert(both[k]);
            next = kKey;
            break;
          default:
            done = f.erase(both[k]);
            next = 0;
        }
        failed += !done;
        state.store((s / kRoles + 2) * kRoles + next);
      }
      --writing;
    });
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back([&, r] {
      sample::Words random(100 + r);
      std::uint64_t sure = 0;
      while (writing.load() != 0) {
        const std::uint64_t k = random.below(both.size());
        const std::uint32_t before = states[k].load();
        const bool maybe = f.may_contain(both[k]);
        if (states[k].load() != before) continue;
        sure += before % kRoles != 0;
        if (before % kRoles == kKey && !maybe) ++denied;
        if (before % kRoles == kReported && maybe) ++accepted;
      }
      judged += sure;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(denied.load(), 0u) << "keys, of " << judged.load() << " answers";
  EXPECT_EQ(accepted.load(), 0u) << "reported negatives, of " << judged.load() << " answers";
  EXPECT_EQ(failed.load(), 0u);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(f.may_contain(digest(i)));
}

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kRounds = 5'000;
#else
constexpr std::uint64_t kRounds = 60'000;
#endif
TEST(SharedGuardOnThreads, IsLinearizableForEachDigestNextToOneWriter) { run(kRounds, 1, 3); }
TEST(SharedGuardOnThreads, IsLinearizableForEachDigestNextToTwoWriters) { run(kRounds, 2, 2); }

// ---- in a store -----------------------------------------------------------------------------------------------------

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "naysay_guard_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  operator std::string() const { return path_.string(); }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};
std::unique_ptr<Store> must(Result<std::unique_ptr<Store>> store) {
  EXPECT_TRUE(store) << store.error().message;
  if (!store) std::abort();
  return std::move(*store);
}
bool in_store(Store& store, const Operation& o) {
  struct Stored {  // the store as apply() wants it
    Store& store;
    static bool done(Result<bool> r) { return r && *r; }
    bool insert(Digest d) { return done(store.insert(d)); }
    bool erase(Digest d) { return done(store.erase(d)); }
    bool adapt(Digest d, float cost) { return done(store.adapt(d, cost)); }
    bool pin(Digest d) { return done(store.pin(d)); }
    bool unpin(Digest d) { return done(store.unpin(d)); }
  } stored{store};
  return apply(stored, o);
}
// After the first n operations, on one thread and without a disk.
GuardedGrowing model(std::uint64_t n) {
  GuardedGrowing f = small(100, 200);
  for (std::uint64_t i = 0; i < n; ++i) apply(f, nth(i));
  return f;
}
::testing::AssertionResult same(const Store& store, const GuardedGrowing& f, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n + 50; ++i)
    for (const Digest& d : {digest(i), digest(kAbsent + i * 7)})
      if (store.may_contain(d) != f.may_contain(d))
        return ::testing::AssertionFailure() << "of " << n << " operations, key " << i << " is answered otherwise";
  if (store.filter().keys() != f.base().keys() || store.filter().guarded() != f.guarded() ||
      store.filter().pinned() != f.pinned())
    return ::testing::AssertionFailure() << store.filter().keys() << " keys and " << store.filter().guarded()
                                         << " entries; " << f.base().keys() << " and " << f.guarded() << " were right";
  return ::testing::AssertionSuccess();
}

TEST(GuardedStore, HoldsReportsAndKeysAfterItIsOpenedAgain) {
  Folder folder;
  std::uint64_t n = 0;
  { (void)must(Store::create(folder, small(100, 200), few_bits(100, 200), {.sync = Sync::batch})); }
  for (int round = 0; round < 5; ++round) {
    auto store = must(Store::open(folder, {.sync = Sync::batch}));
    ASSERT_TRUE(same(*store, model(n), n));
    for (const std::uint64_t until = n + 700; n < until; ++n) in_store(*store, nth(n));
    if (round % 2 == 1) ASSERT_TRUE(store->checkpoint());
    ASSERT_TRUE(same(*store, model(n), n));
  }
  auto store = must(Store::open(folder));
  ASSERT_TRUE(same(*store, model(n), n));
  EXPECT_GT(store->filter().guarded(), 2u) << "the test is about them";
}

TEST(GuardedStore, WritesCheckpointsThatAreGuardedFilters) {
  Folder folder;
  auto store = must(Store::create(folder, small(100, 200), few_bits(100, 200), {.sync = Sync::batch}));
  for (std::uint64_t i = 0; i < 2000; ++i) in_store(*store, nth(i));
  ASSERT_TRUE(store->checkpoint());
  const auto f = load((folder / "checkpoint.2.nsy").string());
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->type().name, "guarded-growing");
  EXPECT_EQ(f->keys(), store->filter().keys());
  const GuardedGrowing right = model(2000);
  for (std::uint64_t i = 0; i < 3000; ++i)
    for (const Digest& d : {digest(i), digest(kAbsent + i * 7)}) ASSERT_EQ(f->may_contain(d), right.may_contain(d));
}

TEST(GuardedStore, RefusesACostThatMakesNoSense) {
  Folder folder;
  auto store = must(Store::create(folder, small(100, 200), few_bits(100, 200), {.sync = Sync::batch}));
  for (const float cost : {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_TRUE(sample::refused(store->adapt(digest(kAbsent), cost), Errc::invalid_argument, {"cost"}));
}

TEST(GuardedStore, HasAllWholeRecordsOfALogThatIsCutAnywhere) {
  Folder folder;
  constexpr std::uint64_t kOperations = 120;
  std::vector<std::uint64_t> ends = {24};
  {
    auto store = must(Store::create(folder, small(100, 200), few_bits(100, 200), {.sync = Sync::batch}));
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      // As it is: what would change nothing is logged, too.
      const Operation o = nth(i);
      ASSERT_TRUE(store->apply({&o, 1}));
      ends.push_back(ends.back() + (o.kind == Operation::Kind::adapt ? 29 : 25));
    }
  }
  std::ifstream in(folder / "log.1", std::ios::binary);
  const std::string log{std::istreambuf_iterator<char>(in), {}};
  ASSERT_EQ(log.size(), ends.back());
  for (std::uint64_t i = 0; i < kOperations; i += 1 + i / 8)
    for (const std::uint64_t cut : {ends[i], ends[i] + 1, ends[i] + 12, ends[i + 1] - 1}) {
      std::ofstream(folder / "log.1", std::ios::binary | std::ios::trunc) << log.substr(0, cut);
      const auto store = must(Store::open(folder, {.sync = Sync::batch}));
      ASSERT_TRUE(same(*store, model(i), i)) << "cut at " << cut;
      EXPECT_EQ(store->recovery().replayed, i);
    }
}

TEST(GuardedStore, NamesTheOffsetOfARecordThatWasChanged) {
  Folder folder;
  {
    auto store = must(Store::create(folder, small(100, 200), few_bits(100, 200), {.sync = Sync::batch}));
    for (std::uint64_t i = 0; i < 40; ++i) {
      const Operation o = nth(i);
      ASSERT_TRUE(store->apply({&o, 1}));
    }
  }
  std::ifstream in(folder / "log.1", std::ios::binary);
  std::string log{std::istreambuf_iterator<char>(in), {}};
  log[24 + 2 * 25 + 27] ^= 1;  // in the cost of the third operation, the first report
  std::ofstream(folder / "log.1", std::ios::binary | std::ios::trunc) << log;
  EXPECT_TRUE(sample::refused(Store::open(folder), Errc::corrupt, {"offset", "74"}));
  const auto store = must(Store::open(folder, {.take_state_before_damage = true}));
  EXPECT_TRUE(same(*store, model(2), 2));
}

TEST(GuardedStoreThreads, HasEveryAcknowledgedOperationAfterTheProcessIsKilled) {
  sample::Words random(3);
  for (int kill = 0; kill < 15; ++kill) {
    Folder folder;
    auto* acknowledged = static_cast<std::atomic<std::uint64_t>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(acknowledged), MAP_FAILED);
    const std::uint64_t until = 1 + random.below(3000);
    { (void)must(Store::create(folder, small(100, 200), few_bits(100, 200), {.sync = Sync::batch})); }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = Store::open(folder, {.sync = Sync::batch});
      if (!store) ::_exit(1);
      std::atomic<bool> stop{false};
      std::thread checkpoints([&] {
        while (!stop) (void)(*store)->checkpoint();
      });
      for (std::uint64_t i = 0;; ++i) {
        const Operation o = nth(i);
        if (!(*store)->apply({&o, 1})) ::_exit(2);
        acknowledged->store(i + 1);
      }
    }
    while (acknowledged->load() < until) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the child ended by itself";
      std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::uint64_t sure = acknowledged->load();
    const auto store = must(Store::open(folder, {.sync = Sync::batch}));
    const auto first = same(*store, model(sure), sure);
    EXPECT_TRUE(first || same(*store, model(sure + 1), sure + 1)) << first.message();
    ::munmap(acknowledged, 4096);
  }
}

}  // namespace
}  // namespace naysay
