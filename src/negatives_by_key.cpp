// SPDX-License-Identifier: Apache-2.0
#include "naysay/workload/negatives_by_key.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace naysay {

Result<NegativesByKey> NegativesByKey::of(std::span<const CostedKey> negatives, const Hasher& hasher) {
  for (const CostedKey& x : negatives)
    if (!(x.cost >= 0) || !std::isfinite(x.cost))
      return Error{Errc::invalid_argument, "negatives: the cost of '" + std::string(x.key.substr(0, 60)) + "' is " +
                                               std::to_string(x.cost) + "; it must be finite and not negative"};
  std::vector<std::uint64_t> order(negatives.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return negatives[a].key < negatives[b].key; });
  NegativesByKey sorted;
  sorted.hasher_ = hasher;
  for (const std::uint64_t i : order) {
    const CostedKey& x = negatives[i];
    if (sorted.size() > 0 && sorted.key(sorted.size() - 1) == x.key) {
      sorted.costs_.back() += x.cost;
      continue;
    }
    sorted.bytes_ += x.key;
    sorted.begins_.push_back(sorted.bytes_.size());
    sorted.digests_.push_back(hasher(x.key));
    sorted.costs_.push_back(x.cost);
  }
  return sorted;
}

Result<NegativesByKey> NegativesByKey::read(const KeyFile& file, const Hasher& hasher) {
  auto lines = LineReader::open(file);
  if (!lines) return std::move(lines).error();
  std::string bytes;
  struct Place {
    std::uint64_t begin, size;
    float cost;
  };
  std::vector<Place> places;
  for (;;) {
    const auto batch = lines->next();
    if (!batch) return batch.error();
    if (batch->empty()) break;
    for (const Line& line : *batch) {
      const auto parsed = parse_negative(line.text);
      if (!parsed)
        return Error{parsed.error().code,
                     lines->name() + ":" + std::to_string(line.number) + ": " + parsed.error().message};
      places.push_back({bytes.size(), parsed->key.size(), parsed->cost});
      bytes += parsed->key;
    }
  }
  std::vector<CostedKey> negatives;
  negatives.reserve(places.size());
  for (const Place& p : places) negatives.push_back({std::string_view(bytes).substr(p.begin, p.size), p.cost});
  return of(negatives, hasher);
}

std::uint64_t NegativesByKey::first_after(std::string_view wanted) const noexcept {
  std::uint64_t low = 0, high = size();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (key(middle) <= wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

NegativesByKey::Range NegativesByKey::up_to(std::string_view last) const noexcept {
  return between(0, first_after(last));
}

NegativesByKey::Range NegativesByKey::range(std::string_view after, std::string_view last) const noexcept {
  if (last <= after) return {};
  return between(first_after(after), first_after(last));
}

}  // namespace naysay
