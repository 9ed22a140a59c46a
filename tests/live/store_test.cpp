// SPDX-License-Identifier: Apache-2.0
// Store: what was acknowledged is there after a crash, whatever breaks.
#include "naysay/live/store.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHeader = 24, kRecord = 25;  // of a log

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "naysay_store_XXXXXX").string();
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

GrowingCuckoo empty_filter(std::uint64_t capacity = 50) {
  return sample::must_build<GrowingCuckoo>({}, {.bits_per_key = 30, .growth = 64}, {.capacity = capacity});
}
std::unique_ptr<Store> must(Result<std::unique_ptr<Store>> store) {
  EXPECT_TRUE(store) << store.error().message;
  if (!store) std::abort();
  return std::move(*store);
}
std::string bytes_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_to(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// The operations of all these tests: operation i is always the same, and erases only what is in.
Operation nth(std::uint64_t i) {
  return i % 4 == 3 ? Operation{Operation::Kind::erase, digest(i - 3 + i / 4 % 2)}
                    : Operation{Operation::Kind::insert, digest(i)};
}
bool do_nth(Store& store, std::uint64_t i) {
  const Operation o = nth(i);
  const auto done = o.kind == Operation::Kind::insert ? store.insert(o.digest) : store.erase(o.digest);
  return done && *done;
}
// The keys after the first n operations.
std::map<std::pair<std::uint64_t, std::uint64_t>, int> model(std::uint64_t n) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> keys;
  for (std::uint64_t i = 0; i < n; ++i) {
    const Operation o = nth(i);
    keys[{o.digest.lo, o.digest.hi}] += o.kind == Operation::Kind::insert ? 1 : -1;
  }
  return keys;
}
// How many operations the store has: it must hold exactly the keys after the first `least` .. `most`.
::testing::AssertionResult holds(const Store& store, std::uint64_t least, std::uint64_t most, std::uint64_t& which) {
  for (which = most;; --which) {
    const auto keys = model(which);
    std::uint64_t in = 0;
    bool all = true;
    for (const auto& [key, copies] : keys) {
      in += static_cast<std::uint64_t>(copies);
      all = all && store.may_contain({key.first, key.second}) == (copies > 0);
    }
    if (all && in == store.filter().keys()) return ::testing::AssertionSuccess();
    if (which == least)
      return ::testing::AssertionFailure() << "the store holds neither " << least << " nor up to " << most
                                           << " operations; it has " << store.filter().keys() << " keys";
  }
}
::testing::AssertionResult holds(const Store& store, std::uint64_t n) {
  std::uint64_t which = 0;
  return holds(store, n, n, which);
}

TEST(Store, HoldsWhatWasAppliedAfterItIsOpenedAgain) {
  Folder folder;
  std::uint64_t n = 0;
  { (void)must(Store::create(folder, empty_filter(), {.sync = Sync::batch})); }
  for (int round = 0; round < 6; ++round) {
    auto store = must(Store::open(folder, {.sync = round % 2 == 0 ? Sync::each : Sync::interval}));
    ASSERT_TRUE(holds(*store, n));
    EXPECT_EQ(store->recovery().cut_bytes, 0u);
    for (const std::uint64_t until = n + 300; n < until; ++n) ASSERT_TRUE(do_nth(*store, n)) << n;
    if (round % 3 == 1) {
      ASSERT_TRUE(store->checkpoint());
    }
    ASSERT_TRUE(holds(*store, n));
    EXPECT_FALSE(Store::open(folder)) << "it is open already";
  }
  auto store = must(Store::open(folder));
  ASSERT_TRUE(holds(*store, n));
  EXPECT_LT(store->recovery().replayed, n);
  store.reset();
  const auto again = Store::create(folder, empty_filter());
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("holds a store already"), std::string::npos);
}

TEST(Store, CheckpointsAreOrdinaryFilterFiles) {
  Folder folder;
  auto store =
      must(Store::create(folder, empty_filter(), {.sync = Sync::batch, .hasher = {HashId::siphash, 0, {1, 2}}}));
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_TRUE(do_nth(*store, i));
  ASSERT_TRUE(store->checkpoint());
  const auto f = load((folder / "checkpoint.2.nsy").string());
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->type().name, "growing-cuckoo");
  EXPECT_EQ(f->keys(), store->filter().keys());
  EXPECT_EQ(f->hasher().id, HashId::siphash);
  EXPECT_FALSE(fs::exists(folder / "checkpoint.1.nsy"));
  EXPECT_FALSE(fs::exists(folder / "log.1"));
}

TEST(Store, CutsATornTailAtEveryByte) {
  Folder folder;
  constexpr std::uint64_t kOperations = 8;
  {
    auto store = must(Store::create(folder, empty_filter(), {.sync = Sync::batch}));
    for (std::uint64_t i = 0; i < kOperations; ++i) ASSERT_TRUE(do_nth(*store, i));
  }
  const std::string log = bytes_in(folder / "log.1");
  ASSERT_EQ(log.size(), kHeader + kOperations * kRecord);
  for (std::size_t size = kHeader; size <= log.size(); ++size) {
    write_to(folder / "log.1", log.substr(0, size));
    {
      auto store = must(Store::open(folder, {.sync = Sync::batch}));
      const std::uint64_t whole = (size - kHeader) / kRecord;
      ASSERT_TRUE(holds(*store, whole)) << size;
      EXPECT_EQ(store->recovery().cut_bytes, (size - kHeader) % kRecord);
      ASSERT_TRUE(do_nth(*store, whole));
    }
    auto store = must(Store::open(folder, {.sync = Sync::batch}));
    ASSERT_TRUE(holds(*store, (size - kHeader) / kRecord + 1)) << "what was appended after the cut, " << size;
  }
}

TEST(Store, NamesTheOffsetOfAFlippedRecordAndOffersTheStateBeforeIt) {
  Folder folder;
  constexpr std::uint64_t kOperations = 12;
  {
    auto store = must(Store::create(folder, empty_filter(), {.sync = Sync::batch}));
    for (std::uint64_t i = 0; i < kOperations; ++i) ASSERT_TRUE(do_nth(*store, i));
  }
  const std::string log = bytes_in(folder / "log.1");
  for (std::uint64_t record = 0; record < kOperations; ++record)
    for (std::uint64_t byte = 0; byte < kRecord; ++byte) {
      std::string flipped = log;
      const std::uint64_t at = kHeader + record * kRecord;
      flipped[at + byte] = static_cast<char>(flipped[at + byte] ^ (1 << byte % 8));
      write_to(folder / "log.1", flipped);
      const auto store = Store::open(folder, {.sync = Sync::batch});
      if (record + 1 == kOperations) {  // as good as torn: nothing valid follows
        ASSERT_TRUE(store) << store.error().message;
        ASSERT_TRUE(holds(**store, record));
        continue;
      }
      ASSERT_FALSE(store) << "record " << record << ", byte " << byte;
      EXPECT_EQ(store.error().code, Errc::corrupt);
      ASSERT_NE(store.error().message.find("at offset " + std::to_string(at) + ";"), std::string::npos)
          << store.error().message;
      ASSERT_EQ(bytes_in(folder / "log.1"), flipped) << "a refused log is left as it is";
      const auto before = must(Store::open(folder, {.sync = Sync::batch, .take_state_before_damage = true}));
      ASSERT_TRUE(holds(*before, record));
      EXPECT_FALSE(before->recovery().damage.empty());
      EXPECT_EQ(before->recovery().cut_bytes, log.size() - at);
    }
}

TEST(Store, RefusesADamagedCheckpointAndADamagedHeader) {
  Folder folder;
  {
    auto store = must(Store::create(folder, empty_filter(), {.sync = Sync::batch}));
    for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(do_nth(*store, i));
  }
  const std::string log = bytes_in(folder / "log.1"), checkpoint = bytes_in(folder / "checkpoint.1.nsy");
  for (std::size_t i = 0; i < kHeader; ++i) {
    std::string flipped = log;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    write_to(folder / "log.1", flipped);
    const auto store = Store::open(folder);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Errc::corrupt);
  }
  write_to(folder / "log.1", log);
  for (std::size_t i = 0; i < checkpoint.size(); i += 7) {
    std::string flipped = checkpoint;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    write_to(folder / "checkpoint.1.nsy", flipped);
    ASSERT_FALSE(Store::open(folder)) << i;
  }
  write_to(folder / "checkpoint.1.nsy", checkpoint);
  ASSERT_TRUE(holds(*must(Store::open(folder)), 5));
}

// Fails, shortens, or refuses the calls that a test chooses.
class FaultyDisk : public Disk {
 public:
  std::int64_t write(int file, const void* bytes, std::size_t size) override {
    if (fail(Call::write)) return shorten ? Disk::write(file, bytes, size / 2) : refuse();
    return Disk::write(file, bytes, size);
  }
  std::int64_t write_at(int file, const void* bytes, std::size_t size, std::uint64_t at) override {
    if (fail(Call::write)) return shorten && size > 1 ? Disk::write_at(file, bytes, size / 2, at) : refuse();
    return Disk::write_at(file, bytes, size, at);
  }
  int create(const std::string& path) override { return fail(Call::create) ? refuse() : Disk::create(path); }
  int sync(int file) override { return fail(Call::sync) ? refuse() : Disk::sync(file); }
  int truncate(int file, std::uint64_t size) override {
    return fail(Call::truncate) ? refuse() : Disk::truncate(file, size);
  }
  int rename(const std::string& a, const std::string& b) override {
    return fail(Call::rename) ? refuse() : Disk::rename(a, b);
  }
  int sync_folder(const std::string& path) override {
    return fail(Call::sync_folder) ? refuse() : Disk::sync_folder(path);
  }

  enum class Call { write, create, sync, truncate, rename, sync_folder };
  std::uint64_t chance = 0;  // of 1000 calls, these fail
  bool shorten = false;      // writes are cut in half instead of refused, and then refused
  std::uint64_t failed = 0;
  std::uint64_t after = ~std::uint64_t{0};  // the call of this number fails, and all later ones

 private:
  bool fail(Call) {
    const bool now = random_.below(1000) < chance || calls_++ >= after;
    failed += now;
    return now;
  }
  int refuse() {
    errno = ENOSPC;
    return -1;
  }
  sample::Words random_{17};
  std::uint64_t calls_ = 0;
};

TEST(Store, LosesNothingAcknowledgedWhenCallsFailAtRandom) {
  std::uint64_t failures = 0, reopened = 0;
  for (int run = 0; run < 20; ++run) {
    Folder folder;
    { (void)must(Store::create(folder, empty_filter(), {.sync = Sync::batch})); }
    FaultyDisk disk;
    disk.shorten = run % 2 == 0;
    sample::Words random(run);
    std::uint64_t n = 0;
    for (int session = 0; session < 6; ++session) {
      disk.chance = 0;
      auto opened = Store::open(folder, {.sync = run % 3 == 0 ? Sync::each : Sync::batch, .disk = &disk});
      ASSERT_TRUE(opened) << opened.error().message;
      auto store = std::move(*opened);
      std::uint64_t which = 0;
      ASSERT_TRUE(holds(*store, n, n + 1, which)) << "run " << run << ", session " << session;
      n = which;
      disk.chance = 30;
      for (int i = 0; i < 60; ++i) {
        if (random.below(20) == 0) (void)store->checkpoint();
        const Operation o = nth(n);
        const auto done = o.kind == Operation::Kind::insert ? store->insert(o.digest) : store->erase(o.digest);
        if (done) {
          ASSERT_TRUE(*done);
          ++n;
        } else if (store->metrics().failed) {
          break;
        }
      }
      failures += disk.failed;
      ++reopened;
    }
  }
  EXPECT_GT(failures, 100u);
  EXPECT_EQ(reopened, 120u);
}

TEST(Store, SurvivesTheFailureOfEverySingleCallOfACheckpoint) {
  for (std::uint64_t after = 0;; ++after) {
    Folder folder;
    {
      auto store = must(Store::create(folder, empty_filter(), {.sync = Sync::batch}));
      for (std::uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(do_nth(*store, i));
    }
    bool done = false;
    {
      FaultyDisk disk;
      auto store = must(Store::open(folder, {.sync = Sync::batch, .disk = &disk}));
      disk.after = after;
      done = store->checkpoint().has_value();
      disk.after = ~std::uint64_t{0};
    }
    auto store = must(Store::open(folder, {.sync = Sync::batch}));
    ASSERT_TRUE(holds(*store, 40)) << "call " << after;
    ASSERT_TRUE(do_nth(*store, 40));
    ASSERT_TRUE(store->checkpoint());
    store.reset();
    ASSERT_TRUE(holds(*must(Store::open(folder)), 41)) << "call " << after;
    if (done) {
      EXPECT_GT(after, 10u);
      return;
    }
  }
}

TEST(StoreOnThreads, CheckpointsNextToReadersAndWriters) {
  Folder folder;
  std::uint64_t n = 0;
  {
    auto store = must(Store::create(folder, empty_filter(2000), {.sync = Sync::batch}));
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> applied{0}, lost{0}, checkpoints{1};
    std::atomic<bool> written{false};
    std::thread writer([&] {
      for (std::uint64_t i = 0; i < 30'000; ++i) {
        // However slow the disk is, each third of the operations meets a checkpoint.
        while (checkpoints < 1 + i / 10'000) std::this_thread::yield();
        if (!do_nth(*store, i)) ++lost;
        applied = i + 1;
      }
      written = true;
    });
    std::thread reader([&] {
      sample::Words random(1);
      while (!stop) {
        const std::uint64_t until = applied;
        if (until < 4) continue;
        const std::uint64_t i = random.below(until / 4) * 4 + 2;  // never erased
        lost += !store->may_contain(digest(i));
      }
    });
    for (; !written; ++checkpoints) {
      const auto ok = store->checkpoint();
      EXPECT_TRUE(ok) << ok.error().message;
    }
    writer.join();
    stop = true;
    reader.join();
    EXPECT_EQ(lost, 0u);
    n = applied;
    ASSERT_TRUE(holds(*store, n));
    EXPECT_EQ(store->metrics().checkpoints, checkpoints);
  }
  auto store = must(Store::open(folder));
  ASSERT_TRUE(holds(*store, n));
}

// A child does operations and checkpoints until it is killed; what it had acknowledged must be there.
void kill_at_random(int kills) {
  Folder folder;
  { (void)must(Store::create(folder, empty_filter(), {.sync = Sync::batch})); }
  auto* acknowledged = static_cast<std::atomic<std::uint64_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(acknowledged, MAP_FAILED);
  sample::Words random(23);
  std::uint64_t n = 0, with_progress = 0;
  for (int k = 0; k < kills; ++k) {
    *acknowledged = n;
    const std::uint64_t delay = 300 + random.below(4000), every = 20 + random.below(200);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = Store::open(folder, {.sync = Sync::batch});
      if (!store) ::_exit(1);
      for (std::uint64_t i = n;; ++i) {
        if (!do_nth(**store, i)) ::_exit(2);
        acknowledged->store(i + 1);
        if (i % every == 0 && !(*store)->checkpoint()) ::_exit(3);
      }
    }
    ::usleep(static_cast<useconds_t>(delay));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "kill " << k << ": the child ended by itself, " << WEXITSTATUS(status);
    auto store = Store::open(folder, {.sync = Sync::batch});
    ASSERT_TRUE(store) << "kill " << k << ": " << store.error().message;
    const std::uint64_t sure = acknowledged->load();
    ASSERT_TRUE(holds(**store, sure, sure + 1, n)) << "kill " << k;
    with_progress += n > 0 && sure != 0;
    if (n > 3000) {  // begin again, so that comparing stays cheap
      store->reset();
      for (const auto& entry : fs::directory_iterator(std::string(folder))) fs::remove(entry.path());
      (void)must(Store::create(folder, empty_filter(), {.sync = Sync::batch}));
      n = 0;
    }
  }
  EXPECT_GT(with_progress, static_cast<std::uint64_t>(kills) / 4);
  ::munmap(acknowledged, 4096);
}

TEST(Store, LosesNothingAcknowledgedWhenItIsKilled) { kill_at_random(60); }
TEST(StoreSlow, LosesNothingAcknowledgedIn10000Kills) { kill_at_random(10'000); }

}  // namespace
}  // namespace naysay
