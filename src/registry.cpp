// SPDX-License-Identifier: Apache-2.0
// The one list of filters. A line here gives a filter its name in the tool, its id in files, save and load,
// conformance tests, a fuzz target and benchmark rows. Names and ids are permanent once released.
#include "holder.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/bloom/blocked_bloom.hpp"
#include "naysay/bloom/bloom.hpp"
#include "naysay/bloom/counting_bloom.hpp"
#include "naysay/bloom/weighted_bloom.hpp"
#include "naysay/bloom/weighted_counting_bloom.hpp"
#include "naysay/cuckoo/adaptive_cuckoo.hpp"
#include "naysay/cuckoo/cuckoo.hpp"
#include "naysay/cuckoo/growing_cuckoo.hpp"
#include "naysay/fuse/binary_fuse.hpp"
#include "naysay/fuse/xor.hpp"
#include "naysay/guarded/guarded.hpp"
#include "naysay/habf/habf.hpp"
#include "naysay/learned/ada_bloom.hpp"
#include "naysay/learned/learned_bloom.hpp"
#include "naysay/learned/learned_ribbon.hpp"
#include "naysay/learned/partitioned_learned.hpp"
#include "naysay/quotient/quotient.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "naysay/ribbon/ribbon_parts.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"
#include "naysay/seesaw/seesaw.hpp"
#include "naysay/stacked/adaptive_stacked.hpp"
#include "naysay/stacked/stacked.hpp"
#include "naysay/variable_hash/adaptive_variable_hash.hpp"
#include "naysay/variable_hash/variable_hash.hpp"
#include "naysay/variable_hash/variable_hash_parts.hpp"

namespace naysay {

using StackedCountingBloom = Stacked<CountingBloom, 3>;

// clang-format off
#define NAYSAY_FILTERS(X)                                  \
  X(Bloom, "bloom", 1) \
  X(BlockedBloom, "blocked-bloom", 2) \
  X(CountingBloom, "counting-bloom", 3) \
  X(Xor, "xor", 4) \
  X(BinaryFuse, "binary-fuse", 5) \
  X(Cuckoo, "cuckoo", 6) \
  X(Quotient, "quotient", 7) \
  X(Ribbon, "ribbon", 8) \
  X(GrowingCuckoo, "growing-cuckoo", 9) \
  X(AdaptiveCuckoo, "adaptive-cuckoo", 10) \
  X(WeightedBloom, "weighted-bloom", 20) \
  X(Habf, "habf", 21) \
  X(FastHabf, "f-habf", 22) \
  X(Seesaw, "seesaw", 23) \
  X(AdaSeesaw, "ada-seesaw", 24) \
  X(WeightedCountingBloom, "weighted-counting-bloom", 25) \
  X(Stacked<Bloom>, "stacked-bloom", 30) \
  X(Stacked<Cuckoo>, "stacked-cuckoo", 31) \
  X(Stacked<Quotient>, "stacked-quotient", 32) \
  X(Stacked<Ribbon>, "stacked-ribbon", 33) \
  X(StackedCountingBloom, "stacked-counting-bloom", 34) \
  X(AdaptiveStacked<Bloom>, "adaptive-stacked", 35) \
  X(VariableHash, "variable-hash", 40) \
  X(TaughtRibbon, "taught-ribbon", 50) \
  X(GuardedCuckoo, "guarded", 60) \
  X(GuardedCountingBloom, "guarded-counting-bloom", 61) \
  X(GuardedSeesaw, "guarded-seesaw", 62) \
  X(GuardedGrowing, "guarded-growing", 63) \
  X(LearnedBloom, "learned-bloom", 80) \
  X(SandwichedBloom, "sandwiched-bloom", 81) \
  X(AdaBloom, "ada-bloom", 82) \
  X(PartitionedLearned, "partitioned-learned", 83) \
  X(LearnedRibbon, "learned-ribbon", 84)
// clang-format on

#define NAYSAY_TYPE_OF(F, name, id) \
  template <>                       \
  NAYSAY_EXPORT const FilterType& file_detail::type_of<F>() noexcept;
NAYSAY_FILTERS(NAYSAY_TYPE_OF)
#undef NAYSAY_TYPE_OF

namespace {

using erased::entry;

#define NAYSAY_ENTRY(F, name, id) entry<F>(name, id),
constexpr FilterType kFilters[] = {NAYSAY_FILTERS(NAYSAY_ENTRY)};
#undef NAYSAY_ENTRY

constexpr bool names_and_ids_are_unique() {
  for (const FilterType& a : kFilters)
    for (const FilterType& b : kFilters)
      if (&a != &b && (a.name == b.name || a.id == b.id)) return false;
  return true;
}
static_assert(names_and_ids_are_unique(), "two filters share a name or an id");

constexpr const FilterType& row(std::uint32_t id) {
  std::size_t i = 0;
  while (kFilters[i].id != id) ++i;
  return kFilters[i];
}

}  // namespace

#define NAYSAY_TYPE_OF(F, name, id)                      \
  template <>                                            \
  const FilterType& file_detail::type_of<F>() noexcept { \
    return row(id);                                      \
  }
NAYSAY_FILTERS(NAYSAY_TYPE_OF)
#undef NAYSAY_TYPE_OF

std::span<const FilterType> filter_types() noexcept { return kFilters; }

const FilterType* find_filter(std::string_view name) noexcept {
  for (const FilterType& t : kFilters)
    if (t.name == name) return &t;
  return nullptr;
}

const FilterType* find_filter(std::uint32_t id) noexcept {
  for (const FilterType& t : kFilters)
    if (t.id == id) return &t;
  return nullptr;
}

}  // namespace naysay
