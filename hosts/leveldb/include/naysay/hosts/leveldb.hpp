// SPDX-License-Identifier: Apache-2.0
// naysay::leveldb::Policy: a filter policy for LevelDB that refuses the absent keys you know, and more strangers than
// LevelDB's own Bloom filter in the same bytes.
//
//   auto negatives = naysay::NegativesByKey::read({"absent.tsv"});            // key<TAB>cost, a line each
//   naysay::leveldb::Policy policy(10, std::make_shared<const naysay::NegativesByKey>(std::move(*negatives)));
//   leveldb::Options options;
//   options.filter_policy = &policy;                                          // must outlive the database
//   leveldb::DB::Open(options, path, &db);
//
// LevelDB builds a filter for every block of a table (about 36 keys with the default block size of 4 KiB). A Get of an
// absent key reads the block from the disk if its filter says "maybe". The policy builds tiny filters (tiny/tiny.hpp).
//
//   table   | block | block | block |        CreateFilter gets the keys of one block at a time, in order
//   filter  |   f   |   f   |   f   |
//                a      b                    a = last key of the block before, b = last key of this one:
//                 (-----]                    the negatives in (a, b] are the ones that LevelDB will look for here
//
// Known negatives can be replaced while the database is open, from any thread: set_negatives(). Filters are built when
// tables are: a table that lies on the disk already learns nothing until a compaction rewrites it. CompactRange teaches
// all tables of its range only if it has something to rewrite; on a range that is compacted already, it does nothing.
//
// Promises   never hides a key: a filter that cannot be built or read means "maybe". A database that was written with
//            another policy or with none, or that is opened without this one, is read correctly; LevelDB ignores filters of
//            another name. The name holds the version of the format.
// Does not   fit a comparator for which different bytes are the same key; LevelDB's own policies do not either. With a
//            comparator of another order than memcmp fewer known negatives are refused.
// Threads    everything may be called from any thread.
// Cost       per query as LevelDB's own; per block of 36 keys about 5 us instead of 1 us, once, when it is written
//            (./dev bench leveldb).
#pragma once

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "naysay/workload/negatives_by_key.hpp"

namespace naysay::leveldb {

class Policy final : public ::leveldb::FilterPolicy {
 public:
  // Null: no negatives are known; the filters are still better than Bloom filters on strangers. The negatives must
  // have been digested with the default Hasher; others are ignored.
  explicit Policy(double bits_per_key = 10, std::shared_ptr<const NegativesByKey> negatives = nullptr);
  ~Policy() override;

  void set_negatives(std::shared_ptr<const NegativesByKey> negatives) { negatives_.set(std::move(negatives)); }
  std::shared_ptr<const NegativesByKey> negatives() const { return negatives_.get(); }

  // What was built so far.
  struct Counts {
    std::uint64_t filters = 0, keys = 0, bytes = 0;
    std::uint64_t negatives = 0;  // given to the filters: one for every table whose range holds it
    std::uint64_t accepted = 0;   // of them, not refused
  };
  Counts counts() const noexcept;

  const char* Name() const override;
  void CreateFilter(const ::leveldb::Slice* keys, int n, std::string* dst) const override;
  bool KeyMayMatch(const ::leveldb::Slice& key, const ::leveldb::Slice& filter) const override;

 private:
  NegativesByKey::Range range_of(const NegativesByKey& negatives, std::string_view first, std::string_view last,
                                 std::uint64_t keys) const;

  const double bits_per_key_;
  SharedNegatives negatives_;
  mutable std::mutex mutex_;
  mutable std::string last_key_;  // of the filter before
  mutable std::atomic<std::uint64_t> filters_{0}, keys_{0}, bytes_{0}, given_{0}, accepted_{0};
};

}  // namespace naysay::leveldb
