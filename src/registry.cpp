// The one list of filters. A line here gives a filter its name in the tool, its id in files, save and load,
// conformance tests, a fuzz target and benchmark rows. Names and ids are permanent once released.
#include "holder.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/stacked/adaptive_stacked.hpp"
#include "naysay/guarded/guarded.hpp"
#include "naysay/habf/habf.hpp"
#include "naysay/seesaw/seesaw.hpp"
#include "naysay/stacked/stacked.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"
#include "naysay/variable_hash/variable_hash.hpp"
#include "naysay/bloom/weighted_bloom.hpp"
#include "naysay/bloom/weighted_counting_bloom.hpp"
#include "naysay/fuse/binary_fuse.hpp"
#include "naysay/bloom/blocked_bloom.hpp"
#include "naysay/bloom/bloom.hpp"
#include "naysay/bloom/counting_bloom.hpp"
#include "naysay/cuckoo/cuckoo.hpp"
#include "naysay/quotient/quotient.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "naysay/fuse/xor.hpp"

namespace naysay {

namespace {

using erased::entry;

constexpr FilterType kFilters[] = {
    entry<Bloom>("bloom", 1),
    entry<BlockedBloom>("blocked-bloom", 2),
    entry<CountingBloom>("counting-bloom", 3),
    entry<Xor>("xor", 4),
    entry<BinaryFuse>("binary-fuse", 5),
    entry<Cuckoo>("cuckoo", 6),
    entry<Quotient>("quotient", 7),
    entry<Ribbon>("ribbon", 8),
    entry<WeightedBloom>("weighted-bloom", 20),
    entry<Habf>("habf", 21),
    entry<FastHabf>("f-habf", 22),
    entry<Seesaw>("seesaw", 23),
    entry<AdaSeesaw>("ada-seesaw", 24),
    entry<WeightedCountingBloom>("weighted-counting-bloom", 25),
    entry<Stacked<Bloom>>("stacked-bloom", 30),
    entry<Stacked<Cuckoo>>("stacked-cuckoo", 31),
    entry<Stacked<Quotient>>("stacked-quotient", 32),
    entry<Stacked<Ribbon>>("stacked-ribbon", 33),
    entry<Stacked<CountingBloom, 3>>("stacked-counting-bloom", 34),
    entry<AdaptiveStacked<Bloom>>("adaptive-stacked", 35),
    entry<VariableHash>("variable-hash", 40),
    entry<TaughtRibbon>("taught-ribbon", 50),
    entry<GuardedCuckoo>("guarded", 60),
    entry<GuardedCountingBloom>("guarded-counting-bloom", 61),
    entry<GuardedSeesaw>("guarded-seesaw", 62),
};

constexpr bool names_and_ids_are_unique() {
  for (const FilterType& a : kFilters)
    for (const FilterType& b : kFilters)
      if (&a != &b && (a.name == b.name || a.id == b.id)) return false;
  return true;
}
static_assert(names_and_ids_are_unique(), "two filters share a name or an id");

}  // namespace

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
