// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <string_view>
#include <vector>

#include "naysay/hosts/leveldb.hpp"
#include "naysay/tiny/tiny.hpp"

namespace naysay::leveldb {
namespace {

std::string_view text(const ::leveldb::Slice& s) noexcept { return {s.data(), s.size()}; }

// LevelDB takes a filter of no bytes for one that refuses everything, so "maybe" needs some.
constexpr char kMaybe[] = {0, 0};

}  // namespace

Policy::Policy(double bits_per_key, std::shared_ptr<const NegativesByKey> negatives)
    : bits_per_key_(bits_per_key), negatives_(std::move(negatives)) {}
Policy::~Policy() = default;

const char* Policy::Name() const { return "naysay.tiny.1"; }

Policy::Counts Policy::counts() const noexcept {
  return {filters_.load(std::memory_order_relaxed), keys_.load(std::memory_order_relaxed),
          bytes_.load(std::memory_order_relaxed), given_.load(std::memory_order_relaxed),
          accepted_.load(std::memory_order_relaxed)};
}

// Nobody says where a table begins. If there are many negatives between the filter before and this one, they are not of
// the gap between two blocks: the filter before was another table's, and LevelDB looks for none of them here.
NegativesByKey::Range Policy::range_of(const NegativesByKey& negatives, std::string_view first, std::string_view last,
                                       std::uint64_t keys) const {
  // first itself is a key: as a negative it would be a contradiction, which does no harm.
  const auto own = negatives.range(first, last);
  const std::lock_guard lock(mutex_);
  auto range = own;
  if (last_key_ < first) {
    const auto with_gap = negatives.range(last_key_, last);
    if (with_gap.size() - own.size() <= own.size() + keys) range = with_gap;
  }
  last_key_ = last;
  return range;
}

void Policy::CreateFilter(const ::leveldb::Slice* keys, int n, std::string* dst) const {
  std::vector<Digest> digests;
  digests.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)  // versions of a key that a snapshot keeps come one after the other
    if (i == 0 || text(keys[i]) != text(keys[i - 1])) digests.push_back(digest(text(keys[i])));
  const auto known = negatives_.get();
  NegativesByKey::Range range;
  if (n > 0 && known->hasher() == Hasher{}) range = range_of(*known, text(keys[0]), text(keys[n - 1]), digests.size());
  const std::size_t before = dst->size();
  const auto built =
      tiny::build(digests, range.digests, range.costs, tiny::Budget{.bits_per_key = bits_per_key_}, *dst);
  if (!built) dst->append(kMaybe, sizeof kMaybe);
  filters_.fetch_add(1, std::memory_order_relaxed);
  keys_.fetch_add(digests.size(), std::memory_order_relaxed);
  bytes_.fetch_add(dst->size() - before, std::memory_order_relaxed);
  given_.fetch_add(range.size(), std::memory_order_relaxed);
  accepted_.fetch_add(built ? built->left : range.size(), std::memory_order_relaxed);
}

bool Policy::KeyMayMatch(const ::leveldb::Slice& key, const ::leveldb::Slice& filter) const {
  return tiny::may_contain(std::as_bytes(std::span(filter.data(), filter.size())), digest(text(key)));
}

}  // namespace naysay::leveldb
