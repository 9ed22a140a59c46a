// SPDX-License-Identifier: Apache-2.0
// The collector: a taught ribbon of the keys of one table, in its properties.
#include <rocksdb/table_properties.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/hosts/rocksdb.hpp"

namespace naysay::rocksdb {
namespace {

using ::rocksdb::Slice;
using ::rocksdb::Status;

constexpr char kFilter[] = "naysay.filter.1", kFirst[] = "naysay.first", kLast[] = "naysay.last",
               kKeys[] = "naysay.keys";

std::string_view text(const Slice& s) noexcept { return {s.data(), s.size()}; }

// A deletion in a table makes no key present, so a key that is only deleted in it is as absent as any other.
bool is_value(::rocksdb::EntryType type) noexcept {
  return type != ::rocksdb::kEntryDelete && type != ::rocksdb::kEntrySingleDelete &&
         type != ::rocksdb::kEntryRangeDeletion && type != ::rocksdb::kEntryDeleteWithTimestamp;
}

// Nothing here may throw into RocksDB. If memory is short, the table has no filter.
class Collector final : public ::rocksdb::TablePropertiesCollector {
 public:
  Collector(double bits_per_key, std::shared_ptr<const NegativesByKey> negatives)
      : bits_per_key_(bits_per_key), negatives_(std::move(negatives)) {}

  Status AddUserKey(const Slice& key, const Slice&, ::rocksdb::EntryType type, ::rocksdb::SequenceNumber,
                    std::uint64_t) override {
    if (failed_ || !is_value(type)) return Status::OK();
    try {
      if (!digests_.empty() && text(key) == last_) return Status::OK();  // versions come one after the other
      if (digests_.empty()) first_ = text(key);
      last_ = text(key);
      digests_.push_back(digest(last_));
    } catch (...) {
      failed_ = true;
    }
    return Status::OK();
  }

  Status Finish(::rocksdb::UserCollectedProperties* properties) override {
    if (failed_) return Status::OK();
    try {
      if (!digests_.empty()) {
        NegativesByKey::Range known;
        if (negatives_->hasher() == Hasher{}) known = negatives_->range(first_, last_);
        const auto filter =
            AnyFilter::build("taught-ribbon", {.keys = digests_, .negatives = known.digests, .costs = known.costs},
                             {{"bits_per_key", bits_per_key_}});
        if (!filter) return Status::OK();
        const auto bytes = filter->to_bytes();
        (*properties)[kFilter] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        (*properties)[kFirst] = first_;
        (*properties)[kLast] = last_;
      }
      (*properties)[kKeys] = std::to_string(digests_.size());
      keys_ = digests_.size();
    } catch (...) {
      properties->clear();
    }
    return Status::OK();
  }
  ::rocksdb::UserCollectedProperties GetReadableProperties() const override { return {{kKeys, std::to_string(keys_)}}; }
  const char* Name() const override { return "naysay.collector.1"; }

 private:
  const double bits_per_key_;
  const std::shared_ptr<const NegativesByKey> negatives_;
  std::vector<Digest> digests_;
  std::string first_, last_;
  std::uint64_t keys_ = 0;
  bool failed_ = false;
};

class Factory final : public ::rocksdb::TablePropertiesCollectorFactory {
 public:
  Factory(double bits_per_key, std::shared_ptr<const SharedNegatives> negatives)
      : bits_per_key_(bits_per_key),
        negatives_(negatives ? std::move(negatives) : std::make_shared<const SharedNegatives>()) {}
  ::rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new Collector(bits_per_key_, negatives_->get());
  }
  const char* Name() const override { return "naysay.collector.1"; }

 private:
  const double bits_per_key_;
  const std::shared_ptr<const SharedNegatives> negatives_;
};

}  // namespace

std::shared_ptr<::rocksdb::TablePropertiesCollectorFactory> new_filter_collector_factory(
    double bits_per_key, std::shared_ptr<const SharedNegatives> negatives) {
  return std::make_shared<Factory>(bits_per_key, std::move(negatives));
}

Result<TableFilter> read_table_filter(const ::rocksdb::UserCollectedProperties& properties) {
  const auto find = [&](const char* name) {
    const auto at = properties.find(name);
    return at == properties.end() ? nullptr : &at->second;
  };
  TableFilter out;
  const std::string *filter = find(kFilter), *first = find(kFirst), *last = find(kLast), *keys = find(kKeys);
  if (keys && *keys == "0") return out;
  if (!filter || !first || !last)
    return Error{Errc::unsupported, "rocksdb: the table has no filter of naysay; a compaction with it would write one"};
  auto loaded = AnyFilter::load(std::as_bytes(std::span(*filter)));
  if (!loaded) return std::move(loaded).error();
  if (!(loaded->hasher() == Hasher{}))
    return Error{Errc::unsupported, "rocksdb: the table's filter was built with another hash than the default one"};
  out.first = *first;
  out.last = *last;
  out.keys = loaded->keys();
  out.filter = std::make_unique<AnyFilter>(std::move(*loaded));
  return out;
}

}  // namespace naysay::rocksdb
