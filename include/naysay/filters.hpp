// SPDX-License-Identifier: Apache-2.0
// All registered filters. Made from src/registry.cpp by ./dev golden.
#pragma once

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

namespace file_detail {
template <>
NAYSAY_EXPORT const FilterType& type_of<Bloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<BlockedBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<CountingBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Xor>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<BinaryFuse>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Cuckoo>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Quotient>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Ribbon>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<GrowingCuckoo>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<AdaptiveCuckoo>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<WeightedBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Habf>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<FastHabf>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Seesaw>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<AdaSeesaw>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<WeightedCountingBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Stacked<Bloom>>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Stacked<Cuckoo>>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Stacked<Quotient>>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<Stacked<Ribbon>>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<StackedCountingBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<AdaptiveStacked<Bloom>>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<VariableHash>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<TaughtRibbon>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<GuardedCuckoo>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<GuardedCountingBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<GuardedSeesaw>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<GuardedGrowing>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<LearnedBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<SandwichedBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<AdaBloom>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<PartitionedLearned>() noexcept;
template <>
NAYSAY_EXPORT const FilterType& type_of<LearnedRibbon>() noexcept;
}  // namespace file_detail

}  // namespace naysay
