// SPDX-License-Identifier: Apache-2.0
// Filters in tables, the guard in front of a database, and the native path: against models, with several threads, killed
// in the middle, reopened with other options, and with each feature of RocksDB that the header names.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/utilities/transaction_db.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "naysay/hosts/rocksdb.hpp"
#include "naysay/hosts/rocksdb_native.hpp"
#include "sample.hpp"

// RocksDB itself was not built for TSan, which therefore does not see how its threads agree. What goes through the library
// is not judged, nor what memcpy and its kin touch: TSan sees them in the library as well, and names no caller where its
// history has run out. Loads and stores of ours are judged.
extern "C" const char* __tsan_default_suppressions() {
  return "race:librocksdb.so\nrace:rocksdb::DB::Put\nrace:rocksdb::DB::Delete\nrace:rocksdb::DB::Merge\n";
}
extern "C" const char* __tsan_default_options() { return "ignore_interceptors_accesses=1"; }

namespace naysay {
namespace {

using namespace ::rocksdb;  // NOLINT: half of every line here is RocksDB's
using rocksdb::Guard;
using rocksdb::GuardedDB;
using rocksdb::GuardOptions;

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

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              (std::string("naysay-") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string db() const { return (path_ / "db").string(); }
  std::string operator/(const std::string& file) const { return (path_ / file).string(); }

 private:
  std::filesystem::path path_;
};

// Adds up numbers: an operator that makes a key out of nothing.
class Append final : public AssociativeMergeOperator {
 public:
  bool Merge(const Slice&, const Slice* old, const Slice& value, std::string* out, Logger*) const override {
    *out = (old ? old->ToString() : "") + value.ToString();
    return true;
  }
  const char* Name() const override { return "Append"; }
};

// Many small memtables and tables.
Options small() {
  Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 64 << 10;
  options.max_bytes_for_level_base = 256 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.max_background_jobs = 3;
  options.max_write_buffer_number = 4;
  options.merge_operator = std::make_shared<Append>();
  options.statistics = CreateDBStatistics();
  return options;
}

std::unique_ptr<GuardedDB> open(const std::string& path, const GuardOptions& guard = {}, Options options = small()) {
  std::unique_ptr<GuardedDB> db;
  const Status status = GuardedDB::Open(options, guard, path, &db);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return db;
}

std::uint32_t id(DB& db) { return db.DefaultColumnFamily()->GetID(); }
bool has(DB& db, const std::string& key) {
  std::string value;
  const Status status = db.Get(ReadOptions(), key, &value);
  EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
  return status.ok();
}

std::string sst(const Folder& folder, const std::string& file, const std::vector<std::string>& keys, bool with_filter,
                std::shared_ptr<const NegativesByKey> known = nullptr) {
  Options options;
  if (with_filter)
    options.table_properties_collector_factories.push_back(
        rocksdb::new_filter_collector_factory(10, std::make_shared<const SharedNegatives>(std::move(known))));
  SstFileWriter writer(EnvOptions(), options);
  const std::string path = folder / file;
  EXPECT_TRUE(writer.Open(path).ok());
  for (const std::string& key : keys) EXPECT_TRUE(writer.Put(key, "v").ok());
  EXPECT_TRUE(writer.Finish().ok());
  return path;
}

// ---- filters in tables --------------------------------------------------------------------------------------------

TEST(RocksDbTableFilter, IsInTheTableAndRefusesTheNegativesOfItsRange) {
  const Folder folder;
  std::vector<std::string> keys, absent;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    keys.push_back(name(i * 10));
    absent.push_back(name(i * 10 + 5));
  }
  absent.push_back(name(1 << 30));
  const std::string path = sst(folder, "one.sst", keys, true, negatives_of(absent));
  SstFileReader reader{Options()};
  ASSERT_TRUE(reader.Open(path).ok());
  auto properties = reader.GetTableProperties()->user_collected_properties;
  const auto table = rocksdb::read_table_filter(properties);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->keys, 5000u);
  EXPECT_EQ(table->first, keys.front());
  EXPECT_EQ(table->last, keys.back());
  for (const std::string& key : keys) ASSERT_TRUE(table->filter->may_contain(key));
  for (std::size_t i = 0; i + 2 < absent.size(); ++i) ASSERT_FALSE(table->filter->may_contain(absent[i])) << i;
  std::string& blob = properties["naysay.filter.1"];
  ASSERT_FALSE(blob.empty());
  blob[blob.size() / 2] ^= 1;
  EXPECT_FALSE(rocksdb::read_table_filter(properties));
  properties.erase("naysay.filter.1");
  EXPECT_FALSE(rocksdb::read_table_filter(properties));
}

TEST(RocksDbTableFilter, OfATableThatOnlyDeletesHoldsNoKey) {
  const Folder folder;
  Options options;
  options.table_properties_collector_factories.push_back(rocksdb::new_filter_collector_factory(10));
  SstFileWriter writer(EnvOptions(), options);
  ASSERT_TRUE(writer.Open(folder / "deletes.sst").ok());
  ASSERT_TRUE(writer.Delete("a").ok());
  ASSERT_TRUE(writer.DeleteRange("b", "c").ok());
  ASSERT_TRUE(writer.Finish().ok());
  SstFileReader reader{Options()};
  ASSERT_TRUE(reader.Open(folder / "deletes.sst").ok());
  const auto table = rocksdb::read_table_filter(reader.GetTableProperties()->user_collected_properties);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->keys, 0u);
  EXPECT_EQ(table->filter, nullptr);
}

// ---- the guard ----------------------------------------------------------------------------------------------------

TEST(RocksDbGuardThreads, AnswersAbsentKeysWithoutRocksDb) {
  const Folder folder;
  std::vector<std::string> absent;
  for (std::uint64_t i = 0; i < 4000; ++i) absent.push_back(scattered((1 << 30) + i));
  const Options options = small();
  const auto db = open(folder.db(), {.negatives = negatives_of(absent)}, options);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(db->Put(WriteOptions(), scattered(i), "v").ok());
  ASSERT_TRUE(db->Flush(FlushOptions()).ok());
  const auto reads = [&] { return options.statistics->getTickerCount(NUMBER_KEYS_READ); };
  std::uint64_t before = reads();
  std::uint64_t found = 0;
  for (const std::string& key : absent) found += has(*db, key);
  EXPECT_EQ(found, 0u);
  // A table of the lowest levels knows them all; one or the other small table of level 0 may err.
  EXPECT_LE(reads() - before, absent.size() / 200);
  before = reads();
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i;
  EXPECT_EQ(reads() - before, 20'000u);
  const auto counts = db->guard().counts(id(*db));
  EXPECT_GT(counts.tables, 1u);
  EXPECT_EQ(counts.blind, 0u);
  EXPECT_GE(counts.keys, 20'000u);
  EXPECT_GE(counts.memtables, 1u);
}

TEST(RocksDbGuardThreads, FindsKeysThatAreNotFlushedAndKeysOfTheLog) {
  const Folder folder;
  Options options = small();
  options.avoid_flush_during_recovery = true;
  options.avoid_flush_during_shutdown = true;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto db = open(folder.db(), {}, options);
    for (std::uint64_t i = 0; i < round * 100; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i << " of round " << round;
    EXPECT_FALSE(has(*db, "absent"));
    for (std::uint64_t i = round * 100; i < round * 100 + 100; ++i) {
      ASSERT_TRUE(db->Put(WriteOptions(), scattered(i), "v").ok());
      ASSERT_TRUE(has(*db, scattered(i)));
    }
    EXPECT_EQ(db->guard().counts(id(*db)).tables, 0u);
  }
}

TEST(RocksDbGuardThreads, ReadsWhatWasWrittenWithoutItAndViceVersa) {
  const Folder folder;
  std::uint64_t written = 0;
  for (const bool guarded : {true, false, true, false, true}) {
    std::unique_ptr<DB> db;
    if (guarded) {
      db = open(folder.db());
    } else {
      DB* raw = nullptr;
      ASSERT_TRUE(DB::Open(small(), folder.db(), &raw).ok());
      db.reset(raw);
    }
    for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i;
    for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(db->Put(WriteOptions(), scattered(written++), "v").ok());
    ASSERT_TRUE(db->Flush(FlushOptions()).ok());
    for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i;
    EXPECT_FALSE(has(*db, "absent"));
  }
  const auto db = open(folder.db());
  CompactRangeOptions rewrite;
  rewrite.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  ASSERT_TRUE(db->CompactRange(rewrite, nullptr, nullptr).ok());
  EXPECT_EQ(db->guard().counts(id(*db)).blind, 0u) << "a compaction gives every table its filter";
  for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i;
}

TEST(RocksDbGuardThreads, LeavesOptionsThatToolsWithoutItCanLoad) {
  const Folder folder;
  open(folder.db())->Put(WriteOptions(), "key", "v");
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  ConfigOptions strict;
  const Status status = LoadLatestOptions(strict, folder.db(), &options, &families);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(RocksDbGuardThreads, KnowsIngestedFilesWithAndWithoutAFilter) {
  const Folder folder;
  const auto db = open(folder.db());
  ASSERT_TRUE(db->Put(WriteOptions(), "zzz", "v").ok());
  const IngestExternalFileOptions options;
  ASSERT_TRUE(db->IngestExternalFile({sst(folder, "a.sst", {"a1", "a2", "a9"}, true)}, options).ok());
  EXPECT_EQ(db->guard().counts(id(*db)).blind, 0u);
  EXPECT_EQ(db->guard().counts(id(*db)).tables, 1u);
  EXPECT_FALSE(db->guard().may_contain(id(*db), "a5"));
  ASSERT_TRUE(db->IngestExternalFile({sst(folder, "b.sst", {"b1", "b2"}, false)}, options).ok());
  EXPECT_EQ(db->guard().counts(id(*db)).blind, 1u);
  ASSERT_TRUE(db->GetBaseDB()->IngestExternalFile({sst(folder, "c.sst", {"c1"}, true)}, options).ok());
  IngestExternalFileArg more;
  more.column_family = db->DefaultColumnFamily();
  more.external_files = {sst(folder, "d.sst", {"d1"}, true)};
  ASSERT_TRUE(db->IngestExternalFiles({more}).ok());
  for (const char* key : {"a1", "a2", "a9", "b1", "b2", "c1", "d1", "zzz"}) EXPECT_TRUE(has(*db, key)) << key;
  for (const char* key : {"a5", "b3", "c2", "d2"}) EXPECT_FALSE(has(*db, key)) << key;
}

TEST(RocksDbGuardThreads, IsRightAboutMergesDeletionsRangesAndSnapshots) {
  const Folder folder;
  const auto db = open(folder.db());
  const auto everywhere = [&](auto&& check) {  // in the memtable, in a table of level 0, and below
    check();
    ASSERT_TRUE(db->Flush(FlushOptions()).ok());
    check();
    ASSERT_TRUE(db->CompactRange(CompactRangeOptions(), nullptr, nullptr).ok());
    check();
  };
  ASSERT_TRUE(db->Merge(WriteOptions(), "merged", "x").ok());
  ASSERT_TRUE(db->PutEntity(WriteOptions(), db->DefaultColumnFamily(), "entity", {{"", "v"}, {"c", "w"}}).ok());
  everywhere([&] {
    EXPECT_TRUE(has(*db, "merged"));
    EXPECT_TRUE(has(*db, "entity"));
  });
  for (const char* key : {"p1", "p2", "p3", "p4"}) ASSERT_TRUE(db->Put(WriteOptions(), key, "v").ok());
  const Snapshot* snapshot = db->GetSnapshot();
  ASSERT_TRUE(db->Delete(WriteOptions(), "p1").ok());
  ASSERT_TRUE(db->SingleDelete(WriteOptions(), "p2").ok());
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), "p3", "p4").ok());
  everywhere([&] {
    for (const char* key : {"p1", "p2", "p3"}) {
      EXPECT_FALSE(has(*db, key)) << key;
      ReadOptions then;
      then.snapshot = snapshot;
      std::string value;
      EXPECT_TRUE(db->Get(then, key, &value).ok()) << key;
    }
    EXPECT_TRUE(has(*db, "p4"));
  });
  db->ReleaseSnapshot(snapshot);
  ASSERT_TRUE(db->Merge(WriteOptions(), "p1", "again").ok());
  everywhere([&] { EXPECT_TRUE(has(*db, "p1")); });
}

TEST(RocksDbGuardThreads, GuardsColumnFamiliesEachForItself) {
  const Folder folder;
  {
    const auto db = open(folder.db());
    ColumnFamilyHandle* one = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily(small(), "one", &one).ok());
    EXPECT_TRUE(db->guard().guards(one->GetID()));
    WriteBatch batch;
    batch.Put(one, "in one", "v");
    batch.Put("in default", "v");
    ASSERT_TRUE(db->Write(WriteOptions(), &batch).ok());
    std::string value;
    for (const bool flushed : {false, true}) {
      if (flushed) ASSERT_TRUE(db->Flush(FlushOptions(), {one, db->DefaultColumnFamily()}).ok());
      EXPECT_TRUE(db->Get(ReadOptions(), one, "in one", &value).ok());
      EXPECT_TRUE(db->Get(ReadOptions(), one, "in default", &value).IsNotFound());
      EXPECT_FALSE(db->guard().may_contain(one->GetID(), "in default"));
      EXPECT_TRUE(has(*db, "in default"));
    }
    // Created behind the guard's back: passed through.
    ColumnFamilyHandle* two = nullptr;
    ASSERT_TRUE(db->GetBaseDB()->CreateColumnFamily(small(), "two", &two).ok());
    EXPECT_FALSE(db->guard().guards(two->GetID()));
    ASSERT_TRUE(db->Put(WriteOptions(), two, "in two", "v").ok());
    EXPECT_TRUE(db->Get(ReadOptions(), two, "in two", &value).ok());
    // Dropped and made again under its old name.
    ASSERT_TRUE(db->DropColumnFamily(one).ok());
    EXPECT_TRUE(db->Get(ReadOptions(), one, "in one", &value).ok()) << "a dropped family can still be read";
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(one).ok());
    ASSERT_TRUE(db->CreateColumnFamily(small(), "one", &one).ok());
    EXPECT_TRUE(db->Get(ReadOptions(), one, "in one", &value).IsNotFound());
    ASSERT_TRUE(db->Put(WriteOptions(), one, "new in one", "v").ok());
    EXPECT_TRUE(db->Get(ReadOptions(), one, "new in one", &value).ok());
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(one).ok());
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(two).ok());
  }
  std::unique_ptr<GuardedDB> db;
  std::vector<ColumnFamilyHandle*> handles;
  ASSERT_TRUE(GuardedDB::Open(small(), {}, folder.db(), {{"default", small()}, {"one", small()}, {"two", small()}},
                              &handles, &db)
                  .ok());
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), handles[0], "in default", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), handles[1], "new in one", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), handles[2], "in two", &value).ok());
  for (auto* handle : handles) {
    EXPECT_TRUE(db->guard().guards(handle->GetID()));
    EXPECT_TRUE(db->Get(ReadOptions(), handle, "absent", &value).IsNotFound());
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
}

TEST(RocksDbGuardThreads, KnowsImportedColumnFamilies) {
  const Folder folder;
  ExportImportFilesMetaData* metadata = nullptr;
  {
    const auto db = open(folder.db());
    ASSERT_TRUE(db->Put(WriteOptions(), "exported", "v").ok());
    Checkpoint* raw = nullptr;
    ASSERT_TRUE(Checkpoint::Create(db.get(), &raw).ok());
    const std::unique_ptr<Checkpoint> checkpoint(raw);
    ASSERT_TRUE(checkpoint->ExportColumnFamily(db->DefaultColumnFamily(), folder / "export", &metadata).ok());
  }
  const std::unique_ptr<ExportImportFilesMetaData> owned(metadata);
  const auto db = open(folder / "other");
  ColumnFamilyHandle* handle = nullptr;
  ASSERT_TRUE(
      db->CreateColumnFamilyWithImport(small(), "imported", ImportColumnFamilyOptions(), *metadata, &handle).ok());
  std::string value;
  EXPECT_TRUE(db->guard().guards(handle->GetID()));
  EXPECT_TRUE(db->Get(ReadOptions(), handle, "exported", &value).ok());
  EXPECT_FALSE(db->guard().may_contain(handle->GetID(), "absent"));
  ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
}

TEST(RocksDbGuardThreads, SeesWhatTransactionsCommit) {
  const Folder folder;
  const auto guard = std::make_shared<Guard>();
  Options options = small();
  ASSERT_TRUE(guard->prepare(options, options).ok());
  TransactionDB* transactions = nullptr;
  ASSERT_TRUE(TransactionDB::Open(options, TransactionDBOptions(), folder.db(), &transactions).ok());
  ASSERT_TRUE(guard->attach(*transactions, {transactions->DefaultColumnFamily()}).ok());
  GuardedDB db(transactions, guard);
  const std::unique_ptr<Transaction> t(transactions->BeginTransaction(WriteOptions()));
  ASSERT_TRUE(t->Put("key", "v").ok());
  EXPECT_FALSE(has(db, "key"));
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_TRUE(has(db, "key"));
  ASSERT_TRUE(db.Flush(FlushOptions()).ok());
  EXPECT_TRUE(has(db, "key"));
  EXPECT_FALSE(db.guard().may_contain(id(db), "other key"));
}

TEST(RocksDbGuardThreads, ServesReadOnlyDatabases) {
  const Folder folder;
  {
    Options options = small();
    options.avoid_flush_during_shutdown = true;
    const auto db = open(folder.db(), {}, options);
    ASSERT_TRUE(db->Put(WriteOptions(), "in a table", "v").ok());
    ASSERT_TRUE(db->Flush(FlushOptions()).ok());
    ASSERT_TRUE(db->Put(WriteOptions(), "in the log", "v").ok());
  }
  const auto guard = std::make_shared<Guard>();
  Options options = small();
  ASSERT_TRUE(guard->prepare(options, options).ok());
  DB* raw = nullptr;
  ASSERT_TRUE(DB::OpenForReadOnly(options, folder.db(), &raw).ok());
  ASSERT_TRUE(guard->attach(*raw, {raw->DefaultColumnFamily()}).ok());
  GuardedDB db(raw, guard);
  EXPECT_TRUE(db.guard().guards(id(db)));
  EXPECT_TRUE(has(db, "in a table"));
  EXPECT_TRUE(has(db, "in the log"));
  EXPECT_FALSE(db.guard().may_contain(id(db), "absent"));
}

TEST(RocksDbGuardThreads, RefusesWhatItCannotWatch) {
  Guard guard;
  ColumnFamilyOptions vectors;
  vectors.memtable_factory = std::make_shared<VectorRepFactory>();
  EXPECT_TRUE(guard.prepare(vectors).IsInvalidArgument());
  const Folder folder;
  DB* raw = nullptr;
  ASSERT_TRUE(DB::Open(small(), folder.db(), &raw).ok());
  const std::unique_ptr<DB> db(raw);
  EXPECT_TRUE(guard.attach(*db, {db->DefaultColumnFamily()}).IsInvalidArgument());
  EXPECT_FALSE(guard.guards(0));
  EXPECT_TRUE(guard.may_contain(0, "anything"));
}

TEST(RocksDbGuardThreads, FollowsTheOrderOfTheComparator) {
  const Folder folder;
  Options options = small();
  options.comparator = ReverseBytewiseComparator();
  const auto db = open(folder.db(), {}, options);
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(db->Put(WriteOptions(), scattered(i), "v").ok());
  ASSERT_TRUE(db->Flush(FlushOptions()).ok());
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(has(*db, scattered(i)));
  std::uint64_t passed = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) passed += db->guard().may_contain(id(*db), scattered((1 << 30) + i));
  EXPECT_LT(passed, 100u);
}

TEST(RocksDbGuardThreads, AnswersManyKeysAsOne) {
  const Folder folder;
  const auto db = open(folder.db());
  for (std::uint64_t i = 0; i < 3000; i += 2) ASSERT_TRUE(db->Put(WriteOptions(), name(i), std::to_string(i)).ok());
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 300; ++i) names.push_back(name(i * 7));
  const std::vector<Slice> keys(names.begin(), names.end());
  const std::vector<ColumnFamilyHandle*> families(keys.size(), db->DefaultColumnFamily());
  std::vector<std::string> values;
  const auto statuses = db->MultiGet(ReadOptions(), families, keys, &values);
  std::vector<PinnableSlice> pinned(keys.size());
  std::vector<Status> batched(keys.size());
  db->MultiGet(ReadOptions(), db->DefaultColumnFamily(), keys.size(), keys.data(), pinned.data(), batched.data());
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    const bool there = i * 7 % 2 == 0 && i * 7 < 3000;
    EXPECT_EQ(statuses[i].ok(), there) << i;
    EXPECT_EQ(batched[i].ok(), there) << i;
    EXPECT_EQ(batched[i].IsNotFound(), !there) << i;
    std::string value;
    if (there) {
      EXPECT_EQ(values[i], std::to_string(i * 7));
      EXPECT_EQ(pinned[i].ToString(), std::to_string(i * 7));
      EXPECT_TRUE(db->KeyMayExist(ReadOptions(), keys[i], &value));
    }
  }
  bool found = true;
  std::string value;
  EXPECT_FALSE(db->KeyMayExist(ReadOptions(), "absent", &value, &found));
  EXPECT_FALSE(found);
}

TEST(RocksDbGuardThreads, LearnsNegativesWhenTablesAreWritten) {
  const Folder folder;
  const auto db = open(folder.db(), {.bits_per_key = 4});
  std::vector<std::string> absent;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(db->Put(WriteOptions(), name(i * 10), "v").ok());
    if (i > 0) absent.push_back(name(i * 10 - 5));
  }
  CompactRangeOptions rewrite;
  rewrite.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  ASSERT_TRUE(db->CompactRange(rewrite, nullptr, nullptr).ok());
  const auto passed = [&] {
    std::uint64_t count = 0;
    for (const std::string& key : absent) count += db->guard().may_contain(id(*db), key);
    return count;
  };
  const std::uint64_t before = passed();
  EXPECT_GT(before, 20u);
  db->guard().set_negatives(negatives_of(absent));
  EXPECT_EQ(passed(), before);
  ASSERT_TRUE(db->CompactRange(rewrite, nullptr, nullptr).ok());
  EXPECT_LT(passed(), before / 2);
}

TEST(RocksDbGuardThreads, ThreadsQueryWhileTheStateChanges) {
  const Folder folder;
  const auto db = open(folder.db());
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_TRUE(db->Put(WriteOptions(), scattered(i), "v").ok());
  ASSERT_TRUE(db->Flush(FlushOptions()).ok());
  Guard& guard = db->guard();
  const std::uint32_t family = id(*db);
  std::atomic<std::uint64_t> wrong{0}, refused{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t)
    readers.emplace_back([&] {
      for (std::uint64_t i = 0; !stop; ++i) {
        wrong += !guard.may_contain(family, scattered(i % 2000));
        refused += !guard.may_contain(family, scattered((1 << 30) + i));
      }
    });
  for (int i = 0; i < 2000 || refused == 0; ++i) {
    const Guard::Pause pause(guard, {family});
    wrong += guard.guards(family);
    wrong += !guard.may_contain(family, "absent");
  }
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_TRUE(guard.guards(family));
}

// Two writers; what they have written must be found, through memtables, flushes, compactions.
void no_wrong_absent(std::uint64_t queries) {
  const Folder folder;
  const auto db = open(folder.db());
  constexpr std::uint64_t kWriters = 2;
  std::atomic<std::uint64_t> written[kWriters] = {}, asked{0}, wrong{0};
  std::atomic<bool> stop{false};
  const auto key = [](std::uint64_t writer, std::uint64_t i) { return scattered(i * kWriters + writer); };
  std::vector<std::thread> threads;
  for (std::uint64_t w = 0; w < kWriters; ++w)
    threads.emplace_back([&, w] {
      WriteOptions unlogged;
      unlogged.disableWAL = true;
      const std::string value(100, 'v');
      for (std::uint64_t i = 0; !stop && i < 3'000'000; ++i) {
        const std::string mine = key(w, i);
        if (!db->Put(unlogged, mine, value).ok() || !db->guard().may_contain(id(*db), mine)) ++wrong;
        written[w].store(i + 1, std::memory_order_release);
      }
    });
  threads.emplace_back([&] {
    sample::Words random(9);
    std::string value;
    // Whichever thread runs first: ask until enough was asked and enough tables were written. A writer ends by itself.
    const auto enough = [&] { return asked >= queries && db->guard().counts(id(*db)).tables > 3; };
    for (std::uint64_t i = 0; i % 1024 != 0 || !enough(); ++i) {
      const std::uint64_t w = random.below(kWriters), n = written[w].load(std::memory_order_acquire);
      if (n == 0) {
        std::this_thread::yield();
        continue;
      }
      // Half of them among the last 3000: on their way from the memtable into a table.
      const std::uint64_t at = i % 2 == 0 && n > 3000 ? n - 1 - random.below(3000) : random.below(n);
      if (i % 64 == 0)
        wrong += !db->Get(ReadOptions(), key(w, at), &value).ok();
      else
        wrong += !db->guard().may_contain(id(*db), key(w, at));
      ++asked;
    }
    stop = true;
  });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0u) << "of " << asked.load();
  EXPECT_GE(asked.load(), queries);
  for (std::uint64_t w = 0; w < kWriters; ++w)
    for (std::uint64_t i = 0; i < written[w].load(); i += 97) ASSERT_TRUE(has(*db, key(w, i)));
}
TEST(RocksDbGuardThreads, NeverSaysAbsentOfWhatTwoWritersHaveWritten) { no_wrong_absent(400'000); }
TEST(RocksDbThreadsSlow, NeverSaysAbsentOfWhatTwoWritersHaveWritten) { no_wrong_absent(100'000'000); }

// Two writers with keys and models of their own, flushes, compactions, ingestion, replaced negatives, and reopening.
void against_models(std::uint64_t rounds, std::uint64_t operations) {
  const Folder folder;
  std::map<std::string, std::string> models[2];
  std::atomic<std::uint64_t> wrong{0}, queries{0};
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto db = open(folder.db());
    std::atomic<bool> stop{false};
    std::vector<std::thread> writers;
    for (unsigned w = 0; w < 2; ++w)
      writers.emplace_back([&, w] {
        sample::Words random(round * 2 + w);
        auto& model = models[w];
        std::string value;
        for (std::uint64_t i = 0; i < operations; ++i) {
          const std::string key = key_of(w, random.below(2000));
          const std::uint64_t what = random.below(12);
          if (what < 4) {
            value = std::string(random.below(200), 'a') + std::to_string(i);
            wrong += !db->Put(WriteOptions(), key, value).ok();
            model[key] = value;
          } else if (what == 4) {
            wrong += !db->Delete(WriteOptions(), key).ok();
            model.erase(key);
          } else if (what == 5) {
            wrong += !db->Merge(WriteOptions(), key, "m").ok();
            model[key] += "m";
          } else if (what == 6 && random.below(100) == 0) {
            const std::string end = key + "~";
            wrong += !db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), key, end).ok();
            model.erase(model.lower_bound(key), model.lower_bound(end));
          } else {
            const Status status = db->Get(ReadOptions(), key, &value);
            const auto at = model.find(key);
            wrong += at == model.end() ? !status.IsNotFound() : !status.ok() || value != at->second;
            ++queries;
          }
        }
      });
    std::thread other([&] {
      sample::Words random(round + 100);
      for (std::uint64_t i = 0; !stop; ++i) {
        std::vector<std::string> absent;
        for (int j = 0; j < 400; ++j) absent.push_back(key_of(random.below(2), random.below(4000)));
        db->guard().set_negatives(negatives_of(absent));
        if (i % 3 == 0) db->CompactRange(CompactRangeOptions(), nullptr, nullptr);
        if (i % 3 == 1) db->Flush(FlushOptions());
        const std::string fresh = key_of(3, round << 32 | i);
        const std::string file = sst(folder, "ingest.sst", {fresh}, i % 2 == 0);
        wrong += !db->IngestExternalFile({file}, IngestExternalFileOptions()).ok();
        wrong += !has(*db, fresh);
      }
    });
    for (std::thread& t : writers) t.join();
    stop = true;
    other.join();
    std::string value;
    for (const auto& model : models)
      for (const auto& [key, expected] : model) wrong += !db->Get(ReadOptions(), key, &value).ok() || value != expected;
    ASSERT_EQ(wrong.load(), 0u) << "in round " << round;
  }
  EXPECT_GT(queries.load(), 1000u);
}
TEST(RocksDbGuardThreads, AnswersAsItsModelWithTwoWritersCompactionsAndReopening) { against_models(3, 6000); }
TEST(RocksDbThreadsSlow, AnswersAsItsModelWithTwoWritersCompactionsAndReopening) { against_models(20, 100'000); }

// ---- killed in the middle -----------------------------------------------------------------------------------------

constexpr char kVictim[] = "NAYSAY_TEST_VICTIM_FOLDER";

// Not a test of its own: the process that DataSurvivesAKill starts and kills. Says on its standard error how far it is.
TEST(RocksDbVictimThreads, DISABLED_Writes) {
  const char* path = std::getenv(kVictim);
  ASSERT_NE(path, nullptr);
  const auto db = open(path);
  for (std::uint64_t i = 0;; ++i) {
    ASSERT_TRUE(db->Put(WriteOptions(), scattered(i), std::string(100, 'v')).ok());
    if (::write(STDERR_FILENO, "w", 1) != 1) return;
  }
}

TEST(RocksDbGuardThreads, DataSurvivesAKill) {
  const Folder folder;
  for (int round = 0; round < 2; ++round) {
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    ::setenv(kVictim, folder.db().c_str(), 1);
    for (const char* shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) ::unsetenv(shard);  // the victim is one test
    std::string program = "/proc/self/exe", filter = "--gtest_filter=RocksDbVictimThreads.*",
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
    const auto db = open(folder.db());
    for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i;
  }
}

// ---- the native path ----------------------------------------------------------------------------------------------

TEST(RocksDbNativeThreads, RefusesKnownNegativesInFullAndPartitionedFilters) {
  for (const bool partitioned : {false, true}) {
    const Folder folder;
    std::vector<std::string> absent;
    for (std::uint64_t i = 0; i < 4000; ++i) absent.push_back(scattered((1 << 30) + i));
    BlockBasedTableOptions table;
    table.filter_policy = std::make_shared<rocksdb::NativePolicy>(10, negatives_of(absent));
    table.partition_filters = partitioned;
    if (partitioned) table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    Options options = small();
    options.table_factory.reset(NewBlockBasedTableFactory(table));
    options.write_buffer_size = 4 << 20;
    options.target_file_size_base = 4 << 20;
    DB* raw = nullptr;
    ASSERT_TRUE(DB::Open(options, folder.db(), &raw).ok());
    std::unique_ptr<DB> db(raw);
    for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(db->Put(WriteOptions(), scattered(i), "v").ok());
    ASSERT_TRUE(db->Flush(FlushOptions()).ok());
    const auto useful = [&] { return options.statistics->getTickerCount(BLOOM_FILTER_USEFUL); };
    const std::uint64_t before = useful();
    for (const std::string& key : absent) ASSERT_FALSE(has(*db, key));
    EXPECT_GE(useful() - before, absent.size() - 3);  // before the first key or behind the last, no filter is read
    for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(has(*db, scattered(i))) << i;
    {
      std::vector<std::string> names;
      for (std::uint64_t i = 0; i < 200; ++i) names.push_back(scattered(19'900 + i));
      const std::vector<Slice> keys(names.begin(), names.end());
      std::vector<PinnableSlice> values(keys.size());
      std::vector<Status> statuses(keys.size());
      db->MultiGet(ReadOptions(), db->DefaultColumnFamily(), keys.size(), keys.data(), values.data(), statuses.data());
      for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(statuses[i].ok(), i < 100) << i;
    }
    // With another policy RocksDB ignores the filters, and reads the data.
    db.reset();
    table.filter_policy.reset(NewBloomFilterPolicy(10));
    options.table_factory.reset(NewBlockBasedTableFactory(table));
    ASSERT_TRUE(DB::Open(options, folder.db(), &raw).ok());
    db.reset(raw);
    for (std::uint64_t i = 0; i < 20'000; i += 7) ASSERT_TRUE(has(*db, scattered(i))) << i;
  }
}

}  // namespace
}  // namespace naysay
