// SPDX-License-Identifier: Apache-2.0
// The policy by itself, and inside real databases: against models, with several threads, killed in the middle, and
// reopened with other policies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/write_batch.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "naysay/hosts/leveldb.hpp"
#include "sample.hpp"

// LevelDB itself was not built for TSan, which therefore does not see how its threads agree. What goes through the library
// is not judged, nor what memcpy and its kin touch: TSan sees them in the library as well, and names no caller where its
// history has run out. Loads and stores of ours are judged.
extern "C" const char* __tsan_default_suppressions() { return "race:libleveldb.so\n"; }
extern "C" const char* __tsan_default_options() { return "ignore_interceptors_accesses=1"; }

namespace naysay {
namespace {

using Db = std::unique_ptr<::leveldb::DB>;

std::string name(std::uint64_t i) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(i));
  return text;
}
std::string scattered(std::uint64_t i) { return name(mix64(i)); }
// The same, as a key of one writer.
std::string key_of(std::uint64_t writer, std::uint64_t i) {
  std::string key(1, static_cast<char>('0' + writer));
  key += scattered(i);
  return key;
}

std::shared_ptr<const NegativesByKey> negatives_of(const std::vector<std::string>& keys) {
  std::vector<CostedKey> given;
  for (const std::string& key : keys) given.push_back({key, 1});
  auto sorted = NegativesByKey::of(given);
  EXPECT_TRUE(sorted);
  return std::make_shared<const NegativesByKey>(std::move(*sorted));
}

std::string build(const leveldb::Policy& policy, const std::vector<std::string>& keys, std::string before = "") {
  const std::vector<::leveldb::Slice> slices(keys.begin(), keys.end());
  policy.CreateFilter(slices.data(), static_cast<int>(slices.size()), &before);
  return before;
}

// A folder of its own for each test.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              (std::string("naysay-") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Db open(const std::string& path, const ::leveldb::FilterPolicy* policy, ::leveldb::Env* env = nullptr,
        ::leveldb::Cache* cache = nullptr) {
  ::leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = policy;
  options.write_buffer_size = 64 << 10;  // many small tables
  options.block_cache = cache;
  if (env) options.env = env;
  ::leveldb::DB* db = nullptr;
  const auto status = ::leveldb::DB::Open(options, path, &db);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return Db(db);
}

TEST(LevelDbPolicy, AppendsAFilterThatDeniesNoKey) {
  const leveldb::Policy policy(10);
  for (std::uint64_t n = 1; n < 200; ++n) {
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < n; ++i) keys.push_back(name(i * 3));
    const std::string out = build(policy, keys, "what was there before");
    ASSERT_TRUE(out.starts_with("what was there before"));
    const ::leveldb::Slice filter(out.data() + 21, out.size() - 21);
    for (const std::string& key : keys) ASSERT_TRUE(policy.KeyMayMatch(key, filter)) << key << " of " << n;
  }
}

TEST(LevelDbPolicy, VersionsOfAKeyThatASnapshotKeepsCostNoSpace) {
  const leveldb::Policy policy(10);
  std::vector<std::string> once, versions;
  for (std::uint64_t i = 0; i < 40; ++i) {
    once.push_back(name(i));
    for (int v = 0; v < 3; ++v) versions.push_back(name(i));
  }
  EXPECT_EQ(build(policy, versions), build(policy, once));
}

TEST(LevelDbPolicy, BytesThatAreNoFilterMeanMaybeAndNoFilterIsEmpty) {
  const leveldb::Policy policy(10);
  const std::string filter = build(policy, {name(1), name(2), name(3)});
  for (std::size_t size = 0; size < 10; ++size) {
    const std::string cut = filter.substr(0, size);
    for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(policy.KeyMayMatch(name(i), cut));
  }
  // LevelDB takes an empty filter for "no key". With a tenth of a bit per key no filter can be built.
  const leveldb::Policy poor(0.1);
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < 2000; ++i) keys.push_back(name(i));
  const std::string maybe = build(poor, keys);
  ASSERT_FALSE(maybe.empty());
  for (const std::string& key : keys) ASSERT_TRUE(poor.KeyMayMatch(key, maybe));
}

TEST(LevelDbPolicy, GivesEveryBlockTheNegativesAfterTheBlockBeforeAndUpToItsLastKey) {
  // Keys 0, 10, 20, ...; a block holds 30; a negative right behind every key, also behind the last of a block.
  std::vector<std::string> absent;
  for (std::uint64_t i = 0; i < 300; ++i) absent.push_back(name(i * 10 + 5));
  const leveldb::Policy policy(10, negatives_of(absent));
  std::uint64_t accepted = 0;
  for (std::uint64_t block = 0; block < 10; ++block) {
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < 30; ++i) keys.push_back(name((block * 30 + i) * 10));
    const std::string filter = build(policy, keys);
    const std::uint64_t from = block == 0 ? 0 : block * 30 - 1, to = block * 30 + 29;  // of the negatives
    for (std::uint64_t i = from; i < to; ++i) accepted += policy.KeyMayMatch(absent[i], filter);
  }
  EXPECT_EQ(accepted, 0u);
  EXPECT_EQ(policy.counts().negatives, 299u);
  EXPECT_EQ(policy.counts().accepted, 0u);
  EXPECT_EQ(policy.counts().filters, 10u);
  EXPECT_EQ(policy.counts().keys, 300u);
  // The next table begins far away: what lies between is never looked for in it.
  build(policy, {name(2900), name(100'000)});
  const std::uint64_t given = policy.counts().negatives;
  const leveldb::Policy other(10, negatives_of(absent));
  build(other, {name(0), name(1)});
  build(other, {name(2900), name(100'000)});
  EXPECT_EQ(other.counts().negatives, given - 299);
}

TEST(LevelDbPolicy, IgnoresNegativesOfAnotherHash) {
  const CostedKey absent[] = {{"b", 1}};
  auto salted = NegativesByKey::of(absent, Hasher{.seed = 7});
  ASSERT_TRUE(salted);
  const leveldb::Policy policy(10, std::make_shared<const NegativesByKey>(std::move(*salted)));
  build(policy, {"a", "c"});
  EXPECT_EQ(policy.counts().negatives, 0u);
}

TEST(LevelDbPolicy, ThreadsBuildAndQueryWhileNegativesAreReplaced) {
  leveldb::Policy policy(10);
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < 200; ++round) {
        std::vector<std::string> keys;
        for (std::uint64_t i = 0; i < 36; ++i) keys.push_back(name((t << 40) + round * 360 + i * 10));
        const std::string filter = build(policy, keys);
        for (const std::string& key : keys) wrong += !policy.KeyMayMatch(key, filter);
      }
    });
  for (std::uint64_t i = 0; i < 100; ++i) policy.set_negatives(negatives_of({name(i * 7 + 5), name(i * 11 + 5)}));
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(policy.counts().filters, 400u);
}

// ---- in a database ------------------------------------------------------------------------------------------------

class CountedFile final : public ::leveldb::RandomAccessFile {
 public:
  CountedFile(::leveldb::RandomAccessFile* file, std::atomic<std::uint64_t>& reads) : file_(file), reads_(reads) {}
  ::leveldb::Status Read(std::uint64_t at, std::size_t n, ::leveldb::Slice* result, char* scratch) const override {
    ++reads_;
    return file_->Read(at, n, result, scratch);
  }

 private:
  std::unique_ptr<::leveldb::RandomAccessFile> file_;
  std::atomic<std::uint64_t>& reads_;
};

class CountingEnv final : public ::leveldb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(::leveldb::Env::Default()) {}
  ::leveldb::Status NewRandomAccessFile(const std::string& file, ::leveldb::RandomAccessFile** result) override {
    const auto status = target()->NewRandomAccessFile(file, result);
    if (status.ok()) *result = new CountedFile(*result, reads);
    return status;
  }
  std::atomic<std::uint64_t> reads{0};
};

TEST(LevelDbThreads, ReadsNoBlockForKnownNegativesAndFewerForStrangers) {
  constexpr std::uint64_t kKeys = 30'000;
  std::vector<std::string> known;
  for (std::uint64_t i = 0; i < 6000; ++i) known.push_back(scattered((1 << 30) + i));
  const leveldb::Policy ours(10, negatives_of(known));
  const std::unique_ptr<const ::leveldb::FilterPolicy> bloom(::leveldb::NewBloomFilterPolicy(10));
  struct Reads {
    std::uint64_t known, strangers;
  };
  const auto measure = [&](const ::leveldb::FilterPolicy* policy) -> Reads {
    const Folder folder;
    CountingEnv env;
    const std::unique_ptr<::leveldb::Cache> none(::leveldb::NewLRUCache(0));
    const Db db = open(folder.path(), policy, &env, none.get());
    for (std::uint64_t i = 0; i < kKeys; ++i) EXPECT_TRUE(db->Put({}, scattered(i), std::string(100, 'v')).ok());
    db->CompactRange(nullptr, nullptr);
    std::string value;
    for (std::uint64_t i = 0; i < 5000; ++i) db->Get({}, scattered((1 << 28) + i), &value);  // opens the files
    const std::uint64_t start = env.reads;
    for (const std::string& key : known) EXPECT_TRUE(db->Get({}, key, &value).IsNotFound());
    const std::uint64_t middle = env.reads;
    for (std::uint64_t i = 0; i < 30'000; ++i) EXPECT_TRUE(db->Get({}, scattered((1 << 29) + i), &value).IsNotFound());
    return {middle - start, env.reads - middle};
  };
  const Reads theirs = measure(bloom.get()), mine = measure(&ours);
  EXPECT_GT(theirs.known, 10u);  // 1 % of 6000
  EXPECT_LE(mine.known, 2u) << "a query between two blocks may reach the one before, which does not know it";
  EXPECT_GT(theirs.strangers, 200u);
  EXPECT_LT(mine.strangers, theirs.strangers / 3);
}

TEST(LevelDbThreads, OldTablesLearnWhenTheyAreRewrittenAndNotBefore) {
  const Folder folder;
  leveldb::Policy policy(10);
  const Db db = open(folder.path(), &policy);
  for (std::uint64_t i = 0; i < 5000; ++i) db->Put({}, name(i * 10), "v");
  db->CompactRange(nullptr, nullptr);
  std::vector<std::string> absent;
  for (std::uint64_t i = 0; i < 5000; ++i) absent.push_back(name(i * 10 + 5));
  policy.set_negatives(negatives_of(absent));
  EXPECT_EQ(policy.negatives()->size(), 5000u);
  const std::uint64_t before = policy.counts().filters;
  db->CompactRange(nullptr, nullptr);  // has nothing to rewrite
  EXPECT_EQ(policy.counts().filters, before);
  EXPECT_EQ(policy.counts().negatives, 0u);
  for (std::uint64_t i = 0; i < 5000; i += 100) db->Put({}, name(i * 10), "w");
  db->CompactRange(nullptr, nullptr);
  EXPECT_GE(policy.counts().negatives, 4900u);
}

TEST(LevelDbThreads, IsReadableWithAnotherPolicyAndWithoutOne) {
  const Folder folder;
  const leveldb::Policy ours(10);
  const std::unique_ptr<const ::leveldb::FilterPolicy> bloom(::leveldb::NewBloomFilterPolicy(10));
  const ::leveldb::FilterPolicy* const policies[] = {&ours, bloom.get(), nullptr, &ours};
  std::uint64_t written = 0;
  for (const auto* policy : policies) {
    const Db db = open(folder.path(), policy);
    std::string value;
    for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(db->Get({}, name(i), &value).ok()) << i;
    ASSERT_TRUE(db->Get({}, "absent", &value).IsNotFound());
    for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(db->Put({}, name(written++), std::string(60, 'v')).ok());
    for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(db->Get({}, name(i), &value).ok()) << i;
  }
}

// Two writers with keys and models of their own, a reader of keys that are always there, negatives that are replaced,
// compactions, snapshots, and reopening in between.
void against_models(std::uint64_t rounds, std::uint64_t operations) {
  const Folder folder;
  leveldb::Policy policy(10);
  std::map<std::string, std::string> models[2];
  std::vector<std::string> always;
  for (std::uint64_t i = 0; i < 500; ++i) always.push_back("always" + scattered(i));
  std::atomic<std::uint64_t> wrong{0}, queries{0};
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Db db = open(folder.path(), &policy);
    for (const std::string& key : always) ASSERT_TRUE(db->Put({}, key, std::to_string(round)).ok());
    std::atomic<bool> stop{false};
    std::vector<std::thread> writers, others;
    for (unsigned w = 0; w < 2; ++w)
      writers.emplace_back([&, w] {
        sample::Words random(round * 2 + w);
        auto& model = models[w];
        std::string value;
        for (std::uint64_t i = 0; i < operations; ++i) {
          const std::string key = key_of(w, random.below(3000));
          const std::uint64_t what = random.below(10);
          if (what < 4) {
            value = std::string(random.below(200), 'a' + static_cast<char>(w)) + std::to_string(i);
            if (!db->Put({}, key, value).ok()) ++wrong;
            model[key] = value;
          } else if (what < 5) {
            if (!db->Delete({}, key).ok()) ++wrong;
            model.erase(key);
          } else {
            const auto status = db->Get({}, key, &value);
            const auto at = model.find(key);
            wrong += at == model.end() ? !status.IsNotFound() : !status.ok() || value != at->second;
            ++queries;
          }
        }
      });
    others.emplace_back([&] {
      std::string value;
      for (std::uint64_t i = 0; !stop; i = (i + 1) % always.size(), ++queries)
        wrong += !db->Get({}, always[i], &value).ok();
    });
    others.emplace_back([&] {
      sample::Words random(round + 100);
      for (std::uint64_t i = 0; !stop; ++i) {
        std::vector<std::string> absent;  // some of them become keys later, and some are keys already
        for (int j = 0; j < 400; ++j) absent.push_back(key_of(random.below(2), random.below(6000)));
        policy.set_negatives(negatives_of(absent));
        const auto* snapshot = db->GetSnapshot();
        if (i % 3 == 0) db->CompactRange(nullptr, nullptr);
        db->ReleaseSnapshot(snapshot);
      }
    });
    for (std::thread& t : writers) t.join();
    stop = true;
    for (std::thread& t : others) t.join();
    std::string value;
    for (const auto& model : models)
      for (const auto& [key, expected] : model) wrong += !db->Get({}, key, &value).ok() || value != expected;
    ASSERT_EQ(wrong.load(), 0u) << "in round " << round;
  }
  EXPECT_GT(queries.load(), 1000u);
  EXPECT_GT(policy.counts().filters, 10u);
}

TEST(LevelDbThreads, AnswersAsItsModelWithTwoWritersCompactionsAndReopening) { against_models(3, 6000); }
TEST(LevelDbThreadsSlow, AnswersAsItsModelWithTwoWritersCompactionsAndReopening) { against_models(20, 100'000); }

// ---- killed in the middle -----------------------------------------------------------------------------------------

constexpr char kVictim[] = "NAYSAY_TEST_VICTIM_FOLDER";

// Not a test of its own: the process that DataSurvivesAKill starts and kills. Says on its standard error how far it is.
TEST(LevelDbVictimThreads, DISABLED_Writes) {
  const char* path = std::getenv(kVictim);
  ASSERT_NE(path, nullptr);
  std::vector<std::string> absent;
  for (std::uint64_t i = 0; i < 5000; ++i) absent.push_back(scattered((1 << 30) + i));
  const leveldb::Policy policy(10, negatives_of(absent));
  const Db db = open(path, &policy);
  for (std::uint64_t i = 0;; ++i) {
    ASSERT_TRUE(db->Put({}, scattered(i), std::string(100, 'v')).ok());
    if (::write(STDERR_FILENO, "w", 1) != 1) return;
  }
}

TEST(LevelDbThreads, DataSurvivesAKill) {
  const Folder folder;
  for (int round = 0; round < 2; ++round) {
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    ::setenv(kVictim, folder.path().c_str(), 1);
    for (const char* shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) ::unsetenv(shard);  // the victim is one test
    std::string program = "/proc/self/exe", filter = "--gtest_filter=LevelDbVictimThreads.*",
                disabled = "--gtest_also_run_disabled_tests";
    char* arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipes[1]);
    std::uint64_t written = 0;
    char buffer[512];
    while (written < 6000) {
      const ssize_t n = ::read(pipes[0], buffer, sizeof buffer);
      ASSERT_GT(n, 0) << "the writer ended by itself";
      written += static_cast<std::uint64_t>(n);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipes[0]);
    const leveldb::Policy policy(10);
    const Db db = open(folder.path(), &policy);
    std::string value;
    for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(db->Get({}, scattered(i), &value).ok()) << i;
  }
}

}  // namespace
}  // namespace naysay
