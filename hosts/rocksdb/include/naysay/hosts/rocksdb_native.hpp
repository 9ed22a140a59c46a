// SPDX-License-Identifier: Apache-2.0
// NativePolicy: taught ribbons in the place of RocksDB's own filters. DEPENDS ON ROCKSDB'S PRIVATE ABI.
//
// Since version 7.0 RocksDB only declares the classes that build and read its filters, so no application can derive
// from them. This header defines the two classes again, with the virtual functions in the order that RocksDB's own
// headers have had from 7.0 to 9.5 (9.6 put another one in between). If the order were another one, calls would end in
// the wrong functions. Therefore nothing else of naysay includes this header, and it does not compile with other
// versions. Link with exactly the version whose headers you compile with. Prefer hosts/rocksdb.hpp where it will do.
//
//   BlockBasedTableOptions table;
//   table.filter_policy = std::make_shared<naysay::rocksdb::NativePolicy>(10, known);
//
// Compared with the guard of hosts/rocksdb.hpp: filters live in RocksDB's block cache, are per table on every level,
// help iterators with prefixes too, and nothing has to be known about memtables. But every Get walks RocksDB's own path.
//
// Promises   as every filter: never denies a key. A filter that cannot be read means "maybe". Opened with another policy
//            or with none, the database is read correctly: RocksDB ignores filters of another name.
// Cost       16 bytes per key of a table while it is written; queries as a ribbon (./dev bench rocksdb).
#pragma once

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/version.h>

static_assert((ROCKSDB_MAJOR == 7 || ROCKSDB_MAJOR == 8 || (ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR < 6)),
              "naysay/hosts/rocksdb_native.hpp knows the private classes of RocksDB 7.0 to 9.5 only; "
              "use naysay/hosts/rocksdb.hpp");

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/tiny/tiny.hpp"
#include "naysay/workload/negatives_by_key.hpp"

// As RocksDB defines them, in this order.
namespace ROCKSDB_NAMESPACE {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice& key) = 0;
  virtual std::size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf, Status*) { return Finish(buf); }
  virtual Status MaybePostVerify(const Slice&) { return Status::OK(); }
  virtual std::size_t ApproximateNumEntries(std::size_t bytes) = 0;
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice& entry) = 0;
  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) {
    for (int i = 0; i < num_keys; ++i) may_match[i] = MayMatch(*keys[i]);
  }
};

}  // namespace ROCKSDB_NAMESPACE

namespace naysay::rocksdb {
namespace native_detail {

// The last byte says what the bytes before it are; the first ones stay aligned that way.
inline constexpr char kTiny = 1, kRibbon = 2;
inline constexpr std::size_t kFewKeys = 4096;  // a partition of a filter, or a small table: tiny has no header to pay

inline std::string_view text(const ::rocksdb::Slice& s) noexcept { return {s.data(), s.size()}; }

class Builder final : public ::rocksdb::FilterBitsBuilder {
 public:
  Builder(double bits_per_key, std::shared_ptr<const NegativesByKey> negatives)
      : bits_per_key_(bits_per_key), negatives_(std::move(negatives)) {}

  void AddKey(const ::rocksdb::Slice& key) override {
    const Digest d = digest(text(key));
    if (!digests_.empty() && digests_.back() == d) return;
    digests_.push_back(d);
    if (digests_.size() == 1 || text(key) < first_) first_ = text(key);  // prefixes come between keys
    if (digests_.size() == 1 || text(key) > last_) last_ = text(key);
  }
  std::size_t EstimateEntriesAdded() override { return digests_.size(); }
  using FilterBitsBuilder::Finish;
  ::rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
    NegativesByKey::Range known;
    if (!digests_.empty() && negatives_->hasher() == Hasher{}) known = negatives_->range(first_, last_);
    std::string bytes;
    if (digests_.size() <= kFewKeys &&
        tiny::build(digests_, known.digests, known.costs, tiny::Budget{.bits_per_key = bits_per_key_}, bytes)) {
      bytes += kTiny;
    } else if (const auto filter = AnyFilter::build(
                   "taught-ribbon", {.keys = digests_, .negatives = known.digests, .costs = known.costs},
                   {{"bits_per_key", bits_per_key_}})) {
      const auto saved = filter->to_bare();
      bytes.assign(reinterpret_cast<const char*>(saved.data()), saved.size());
      bytes += kRibbon;
    } else {
      bytes = std::string(1, '\0');  // known to nobody: maybe
    }
    digests_.clear();
    char* own = new char[bytes.size()];
    std::memcpy(own, bytes.data(), bytes.size());
    buf->reset(own);
    return {own, bytes.size()};
  }
  std::size_t ApproximateNumEntries(std::size_t bytes) override {
    return static_cast<std::size_t>(static_cast<double>(bytes) * 8 / bits_per_key_);
  }

 private:
  const double bits_per_key_;
  const std::shared_ptr<const NegativesByKey> negatives_;
  std::vector<Digest> digests_;
  std::string first_, last_;
};

class Reader final : public ::rocksdb::FilterBitsReader {
 public:
  explicit Reader(const ::rocksdb::Slice& contents) {
    if (contents.size() == 0) return;
    const auto bytes = std::as_bytes(std::span(contents.data(), contents.size() - 1));
    if (contents[contents.size() - 1] == kTiny) tiny_ = bytes;
    if (contents[contents.size() - 1] == kRibbon)
      if (auto filter = AnyFilter::view_bare(bytes)) ribbon_.emplace(std::move(*filter));
  }
  using FilterBitsReader::MayMatch;
  bool MayMatch(const ::rocksdb::Slice& entry) override {
    const Digest d = digest(text(entry));
    return ribbon_ ? ribbon_->may_contain(d) : tiny::may_contain(tiny_, d);  // of no bytes tiny says maybe
  }

 private:
  std::span<const std::byte> tiny_;
  std::optional<AnyFilter> ribbon_;
};

}  // namespace native_detail

class NativePolicy : public ::rocksdb::FilterPolicy {
 public:
  explicit NativePolicy(double bits_per_key = 10, std::shared_ptr<const NegativesByKey> negatives = nullptr)
      : bits_per_key_(bits_per_key), negatives_(std::move(negatives)) {}
  void set_negatives(std::shared_ptr<const NegativesByKey> negatives) { negatives_.set(std::move(negatives)); }

  const char* Name() const override { return "naysay.native"; }
  const char* CompatibilityName() const override { return "naysay.native.1"; }  // with the version of the format
  ::rocksdb::FilterBitsBuilder* GetBuilderWithContext(const ::rocksdb::FilterBuildingContext&) const override {
    return new native_detail::Builder(bits_per_key_, negatives_.get());
  }
  ::rocksdb::FilterBitsReader* GetFilterBitsReader(const ::rocksdb::Slice& contents) const override {
    return new native_detail::Reader(contents);
  }

 private:
  const double bits_per_key_;
  SharedNegatives negatives_;
};

}  // namespace naysay::rocksdb
