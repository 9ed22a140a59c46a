// SPDX-License-Identifier: Apache-2.0
// A database behind a guard: most Gets of absent keys never reach RocksDB.
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "naysay/hosts/rocksdb.hpp"

int main() {
  const auto path = std::filesystem::temp_directory_path() / "naysay-rocksdb-example";
  std::filesystem::remove_all(path);

  // Things that customers keep asking for and that were never sold.
  std::vector<std::string> wanted;
  std::vector<naysay::CostedKey> absent;
  for (int i = 0; i < 4000; ++i) wanted.push_back("item-" + std::to_string(i * 35 + 1));
  for (const std::string& key : wanted) absent.push_back({key, 1});
  auto negatives = naysay::NegativesByKey::of(absent);
  if (!negatives) return 1;

  rocksdb::Options options;
  options.create_if_missing = true;
  options.statistics = rocksdb::CreateDBStatistics();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(5));  // small: says in which table a present key is
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::unique_ptr<naysay::rocksdb::GuardedDB> db;
  const auto status = naysay::rocksdb::GuardedDB::Open(
      options, {.bits_per_key = 10, .negatives = std::make_shared<const naysay::NegativesByKey>(std::move(*negatives))},
      path.string(), &db);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  for (int i = 0; i < 20'000; ++i) db->Put({}, "item-" + std::to_string(i * 7), "sold");
  db->Flush({});

  std::string value;
  int found = 0;
  for (const std::string& key : wanted) found += db->Get({}, key, &value).ok();
  const auto reached = options.statistics->getTickerCount(rocksdb::NUMBER_KEYS_READ);
  std::printf("of 4000 Gets of absent keys, %d reached RocksDB\n", static_cast<int>(reached));
  const bool present = db->Get({}, "item-0", &value).ok() && db->Get({}, "item-7", &value).ok();
  db.reset();
  std::filesystem::remove_all(path);
  // Usually none. While RocksDB still releases the flushed memtable, its filter, which knows no negatives, is queried too.
  return found == 0 && reached < 400 && present ? 0 : 1;
}
