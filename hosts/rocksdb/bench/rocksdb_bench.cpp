// SPDX-License-Identifier: Apache-2.0
// Measures RocksDB's own filters, taught ribbons in their place, and the guard, one JSON line each.
//
//   rocksdb_bench --size quick
//
// Passes are Gets of absent keys to which the native filter said "maybe"; reads are blocks read from files. The block
// cache has 8 MB (--size full); what a pass finds there is no read.
#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <memory>

#include "bench/absent_gets.hpp"
#include "naysay/hosts/rocksdb.hpp"
#include "naysay/hosts/rocksdb_native.hpp"

namespace naysay::bench {
namespace {

struct Setup {
  std::string name;
  std::shared_ptr<const ::rocksdb::FilterPolicy> native;  // null: none
  double guard_bits;                                      // 0: no guard
};

bool measure(const AbsentGets& workload, const Setup& setup, const Arguments& arguments) {
  const Scratch folder("naysay-rocksdb");
  ::rocksdb::BlockBasedTableOptions table;
  table.filter_policy = setup.native;
  table.block_cache = ::rocksdb::NewLRUCache(workload.size().keys * 8, 0);
  ::rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = ::rocksdb::kNoCompression;
  options.write_buffer_size = 8 << 20;
  options.target_file_size_base = 8 << 20;
  options.statistics = ::rocksdb::CreateDBStatistics();
  options.table_factory.reset(::rocksdb::NewBlockBasedTableFactory(table));
  std::unique_ptr<::rocksdb::DB> db;
  rocksdb::GuardedDB* guarded = nullptr;
  ::rocksdb::Status status;
  if (setup.guard_bits > 0) {
    std::unique_ptr<rocksdb::GuardedDB> opened;
    status = rocksdb::GuardedDB::Open(options, {.bits_per_key = setup.guard_bits, .negatives = workload.negatives()},
                                      folder / "db", &opened);
    guarded = opened.get();
    db = std::move(opened);
  } else {
    ::rocksdb::DB* raw = nullptr;
    status = ::rocksdb::DB::Open(options, folder / "db", &raw);
    db.reset(raw);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "rocksdb_bench: %s\n", status.ToString().c_str());
    return false;
  }
  ::rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  for (std::uint64_t i = 0; i < workload.keys().size(); ++i)
    if (!db->Put(unlogged, workload.keys()[i], AbsentGets::value(i)).ok()) return false;
  db->Flush({});
  ::rocksdb::CompactRangeOptions rewrite;  // not only move: tables of the lowest level have other native filters
  rewrite.bottommost_level_compaction = ::rocksdb::BottommostLevelCompaction::kForce;
  db->CompactRange(rewrite, nullptr, nullptr);
  ::rocksdb::TablePropertiesCollection tables;
  db->GetPropertiesOfAllTables(&tables);
  double native_bytes = 0;
  for (const auto& [path, properties] : tables) native_bytes += static_cast<double>(properties->filter_size);

  ::rocksdb::SetPerfLevel(::rocksdb::PerfLevel::kEnableCount);
  std::string value;
  std::uint64_t found = 0;
  const auto get = [&](const std::string& key) { found += db->Get({}, key, &value).ok(); };
  workload.strangers(get, AbsentGets::kKnown, 20'000);
  const auto reads = [] { return ::rocksdb::get_perf_context()->block_read_count; };
  const auto passes = [&] { return options.statistics->getTickerCount(::rocksdb::BLOOM_FILTER_FULL_POSITIVE); };
  const std::uint64_t reads0 = reads(), passes0 = passes();
  const double hot_ns = workload.hot(get);
  const std::uint64_t reads1 = reads(), passes1 = passes();
  const double stranger_ns = workload.strangers(get);
  const std::uint64_t reads2 = reads(), passes2 = passes();
  if (found > 0) {
    std::fprintf(stderr, "rocksdb_bench: an absent key was found; the workload is wrong\n");
    return false;
  }
  const double present_ns = workload.present(get);
  if (found != workload.keys().size() / 10) {
    std::fprintf(stderr, "rocksdb_bench: %s lost keys\n", setup.name.c_str());
    return false;
  }
  const double keys = static_cast<double>(workload.size().keys);
  const double guard_bits =
      guarded ? static_cast<double>(guarded->guard().counts(db->DefaultColumnFamily()->GetID()).filter_bits) / keys : 0;
  const auto per_million = [](std::uint64_t n, std::uint64_t of) {
    return 1e6 * static_cast<double>(n) / static_cast<double>(of);
  };
  arguments.print(JsonLine()
                      .text("host", "rocksdb")
                      .text("policy", setup.name)
                      .number("keys", keys)
                      .number("known", static_cast<double>(workload.size().known))
                      .number("tables", static_cast<double>(tables.size()))
                      .number("bits_per_key", 8 * native_bytes / keys + guard_bits)
                      .number("hot_passes_per_million", per_million(passes1 - passes0, workload.size().hot))
                      .number("hot_reads_per_million", per_million(reads1 - reads0, workload.size().hot))
                      .number("stranger_passes_per_million", per_million(passes2 - passes1, workload.size().strangers))
                      .number("stranger_reads_per_million", per_million(reads2 - reads1, workload.size().strangers))
                      .number("us_per_hot_get", hot_ns / 1000)
                      .number("us_per_stranger_get", stranger_ns / 1000)
                      .number("us_per_present_get", present_ns / 1000)
                      .str());
  return true;
}

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (int code = 0; arguments.usage("rocksdb_bench", code)) return code;
  const AbsentGets workload(arguments.size());
  const std::shared_ptr<const ::rocksdb::FilterPolicy> bloom(::rocksdb::NewBloomFilterPolicy(10)),
      ribbon(::rocksdb::NewRibbonFilterPolicy(14)), small(::rocksdb::NewRibbonFilterPolicy(5));
  const Setup setups[] = {
      {"native Bloom 10", bloom, 0},
      {"native Ribbon 14", ribbon, 0},
      {"naysay on the native path", std::make_shared<rocksdb::NativePolicy>(10, workload.negatives()), 0},
      {"naysay guard", nullptr, 10},
      {"naysay guard and native Ribbon 5", small, 6},
  };
  for (const Setup& setup : setups)
    if (!measure(workload, setup, arguments)) return 1;
  return 0;
}

}  // namespace
}  // namespace naysay::bench

int main(int argc, char** argv) { return naysay::bench::run(argc, argv); }
