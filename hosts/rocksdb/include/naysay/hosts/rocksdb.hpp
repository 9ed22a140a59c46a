// SPDX-License-Identifier: Apache-2.0
// naysay::rocksdb: a filter in the properties of every table, and a guard that answers Gets of absent keys from them.
//
// RocksDB (7.0 and later) keeps the classes of its own filters to itself, so another filter cannot take their place.
// It lets an application compute properties of every table while it is written, though. Here that is a taught ribbon of
// the table's keys, which refuses the known negatives in the table's range of keys. GuardedDB stands in front of the
// database and knows these filters, and the keys that are not in a table yet:
//
//   Get(key) --> unflushed keys? --no--> tables whose range holds the key: --no--> NotFound, without RocksDB's own path
//                     |                  does a filter say maybe?
//                   maybe                        | maybe
//                     v                          v
//                     +-------------> RocksDB <--+
//
//   Options options;
//   std::unique_ptr<naysay::rocksdb::GuardedDB> db;
//   Status s = naysay::rocksdb::GuardedDB::Open(options, {.negatives = known}, path, &db);
//   db->Get(ReadOptions(), "example.org", &value);
//
// Unflushed keys. A write is in a memtable first. The guard puts a thin layer around RocksDB's memtables
// (Options::memtable_factory, skip lists only): each has a small concurrent Bloom filter of its keys. A key is in it
// before the write becomes visible, and the filter lives as long as its memtable, which RocksDB keeps until the table
// made of it is part of the database. So every path of writing is covered: batches, transactions, recovery from the log,
// writes to the database behind the guard's back. (Counting generations of writes by events and sequence numbers would
// not do: a write can land in the memtable after the one it was counted for.)
//
// Tables. The guard hears of a table when it is created, before it becomes visible, and of its deletion after nobody can
// read it any more; so what it knows is never less than what is there. The order of the checks does not matter: what a
// query looks at is one immutable view.
//
// What is answered, and what is passed through to RocksDB unanswered:
//
//   Get, MultiGet, KeyMayExist   answered, also with snapshots: versions that a snapshot can see are in tables and
//                                memtables too
//   GetEntity, GetMergeOperands, iterators, properties, everything else    passed through
//   Put, Merge, Delete, SingleDelete, WriteBatch, PutEntity                right: see unflushed keys
//   DeleteRange                  right: it only makes keys absent; a covered key may still be passed through
//   transactions                 right, if the database under GuardedDB is a TransactionDB or an OptimisticTransactionDB
//                                that was opened with prepared options; Transaction::Get itself is not guarded
//   SstFileWriter, ingestion     right. During IngestExternalFile(s) the column family is passed through. Files written
//                                without the collector have no filter: Gets in their range are passed through
//   column families              right, if they are opened or created through GuardedDB or attached; others are passed
//                                through
//   tables of other times        tables without a filter, or with a damaged one: Gets in their range are passed through
//                                until a compaction rewrites them
//   comparators                  passed through if different bytes can be the same key, or with timestamps in keys
//   read-only databases          right: prepare(), DB::OpenForReadOnly, then GuardedDB(db, guard)
//   secondary databases          passed through (do not attach them: they hear of no new tables)
//
// Keep a small native filter below the guard (NewRibbonFilterPolicy(4) or so). The guard says that a key may be there,
// not in which table; without a native filter a present key is searched on every level.
//
// Known negatives can be replaced at any time (Guard::set_negatives); tables learn them when they are written.
//
// Threads    everything may be called from any thread.
// Cost       memory: the filters (bits_per_key), twice, because RocksDB keeps a table's properties in memory as well;
//            10 bits per unflushed key. Time: ./dev bench rocksdb.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/stackable_db.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/workload/negatives_by_key.hpp"

namespace naysay::rocksdb {

struct GuardOptions {
  double bits_per_key = 10;
  std::shared_ptr<const NegativesByKey> negatives = nullptr;  // digested with the default Hasher; others are ignored
};

// ---- filters in tables --------------------------------------------------------------------------------------------

// For ColumnFamilyOptions::table_properties_collector_factories of databases and SstFileWriters. Guard::prepare() adds
// one by itself.
std::shared_ptr<::rocksdb::TablePropertiesCollectorFactory> new_filter_collector_factory(
    double bits_per_key, std::shared_ptr<const SharedNegatives> negatives = nullptr);

// What the collector wrote into a table's properties.
struct TableFilter {
  std::string first, last;            // keys that have a value in the table; deleted ones do not count
  std::uint64_t keys = 0;             // 0: the table only deletes
  std::unique_ptr<AnyFilter> filter;  // null if keys is 0
};
// Fails if there is nothing of ours in the properties, or if it is damaged.
Result<TableFilter> read_table_filter(const ::rocksdb::UserCollectedProperties& properties);

// ---- the guard ----------------------------------------------------------------------------------------------------

// What GuardedDB knows. Most applications only need GuardedDB::Open.
class Guard {
 public:
  explicit Guard(const GuardOptions& options = {});
  ~Guard();

  // Before the database is opened: adds a listener, a collector, and the layer around the memtables. Fails if the
  // memtables are not skip lists.
  ::rocksdb::Status prepare(::rocksdb::DBOptions& db, ::rocksdb::ColumnFamilyOptions& families);
  ::rocksdb::Status prepare(::rocksdb::DBOptions& db);
  ::rocksdb::Status prepare(::rocksdb::ColumnFamilyOptions& family);

  // After it was opened: reads the filters of the tables that are there. Column families that were not prepared, or
  // whose comparator does not allow it, are left unguarded; that is no error. Fails if the database was not prepared.
  ::rocksdb::Status attach(::rocksdb::DB& db, const std::vector<::rocksdb::ColumnFamilyHandle*>& families);
  void detach(std::uint32_t family);

  // False: a Get of this key would find nothing. True also for families that are not guarded.
  bool may_contain(std::uint32_t family, const ::rocksdb::Slice& key) const noexcept;
  bool guards(std::uint32_t family) const noexcept;

  // While one of these is there, the family is passed through.
  class Pause {
   public:
    Pause(Guard& guard, std::vector<std::uint32_t> families);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Guard& guard_;
    std::vector<std::uint32_t> families_;
  };

  void set_negatives(std::shared_ptr<const NegativesByKey> negatives);

  struct Counts {
    std::uint64_t tables = 0;     // that have a filter
    std::uint64_t blind = 0;      // that have none
    std::uint64_t runs = 0;       // sets of tables that do not overlap: filters that a query reads at most
    std::uint64_t memtables = 0;  // not flushed
    std::uint64_t keys = 0, filter_bits = 0;
  };
  Counts counts(std::uint32_t family) const;

  class Core;  // hosts/rocksdb/src/guard.cpp

 private:
  std::shared_ptr<Core> core_;
};

class GuardedDB : public ::rocksdb::StackableDB {
 public:
  static ::rocksdb::Status Open(const ::rocksdb::Options& options, const GuardOptions& guard, const std::string& path,
                                std::unique_ptr<GuardedDB>* db);
  static ::rocksdb::Status Open(const ::rocksdb::DBOptions& options, const GuardOptions& guard, const std::string& path,
                                const std::vector<::rocksdb::ColumnFamilyDescriptor>& families,
                                std::vector<::rocksdb::ColumnFamilyHandle*>* handles, std::unique_ptr<GuardedDB>* db);
  // Takes a database that was opened with prepared options, and to which the guard was attached.
  GuardedDB(::rocksdb::DB* db, std::shared_ptr<Guard> guard) : StackableDB(db), guard_(std::move(guard)) {}

  Guard& guard() noexcept { return *guard_; }

  using StackableDB::Get;
  ::rocksdb::Status Get(const ::rocksdb::ReadOptions& options, ::rocksdb::ColumnFamilyHandle* family,
                        const ::rocksdb::Slice& key, ::rocksdb::PinnableSlice* value) override;
  using StackableDB::MultiGet;
  std::vector<::rocksdb::Status> MultiGet(const ::rocksdb::ReadOptions& options,
                                          const std::vector<::rocksdb::ColumnFamilyHandle*>& families,
                                          const std::vector<::rocksdb::Slice>& keys,
                                          std::vector<std::string>* values) override;
  void MultiGet(const ::rocksdb::ReadOptions& options, ::rocksdb::ColumnFamilyHandle* family, std::size_t count,
                const ::rocksdb::Slice* keys, ::rocksdb::PinnableSlice* values, ::rocksdb::Status* statuses,
                bool sorted_input = false) override;
  using StackableDB::KeyMayExist;
  bool KeyMayExist(const ::rocksdb::ReadOptions& options, ::rocksdb::ColumnFamilyHandle* family,
                   const ::rocksdb::Slice& key, std::string* value, bool* value_found = nullptr) override;

  ::rocksdb::Status CreateColumnFamily(const ::rocksdb::ColumnFamilyOptions& options, const std::string& name,
                                       ::rocksdb::ColumnFamilyHandle** handle) override;
  ::rocksdb::Status CreateColumnFamilies(const ::rocksdb::ColumnFamilyOptions& options,
                                         const std::vector<std::string>& names,
                                         std::vector<::rocksdb::ColumnFamilyHandle*>* handles) override;
  ::rocksdb::Status CreateColumnFamilies(const std::vector<::rocksdb::ColumnFamilyDescriptor>& families,
                                         std::vector<::rocksdb::ColumnFamilyHandle*>* handles) override;
  using StackableDB::CreateColumnFamilyWithImport;
  ::rocksdb::Status CreateColumnFamilyWithImport(const ::rocksdb::ColumnFamilyOptions& options, const std::string& name,
                                                 const ::rocksdb::ImportColumnFamilyOptions& import_options,
                                                 const ::rocksdb::ExportImportFilesMetaData& metadata,
                                                 ::rocksdb::ColumnFamilyHandle** handle) override;
  ::rocksdb::Status DropColumnFamily(::rocksdb::ColumnFamilyHandle* family) override;
  ::rocksdb::Status DropColumnFamilies(const std::vector<::rocksdb::ColumnFamilyHandle*>& families) override;

  using StackableDB::IngestExternalFile;
  ::rocksdb::Status IngestExternalFile(::rocksdb::ColumnFamilyHandle* family, const std::vector<std::string>& files,
                                       const ::rocksdb::IngestExternalFileOptions& options) override;
  using StackableDB::IngestExternalFiles;
  ::rocksdb::Status IngestExternalFiles(const std::vector<::rocksdb::IngestExternalFileArg>& files) override;

 private:
  std::shared_ptr<Guard> guard_;
};

}  // namespace naysay::rocksdb
