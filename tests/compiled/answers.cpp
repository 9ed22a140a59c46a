// SPDX-License-Identifier: Apache-2.0
// NAYSAY_LEVEL is plain, avx2 or avx512. Nothing here may run on a machine without it but level_of_*().
#include "compiled/answers.hpp"

#include "naysay/naysay.hpp"

#define NAYSAY_JOIN(a, b) a##b
#define NAYSAY_NAMED(name, level) NAYSAY_JOIN(name, level)

namespace naysay::compiled {
namespace {

// Half of the keys are built from and the other half inserted, if the filter can do that.
template <Filter F>
Answers answers(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> queries,
                const typename F::Params& params) {
  constexpr bool kInserts = DynamicFilter<F>;
  auto built = build<F>(kInserts ? keys.first(keys.size() / 2) : keys, params, {.capacity = keys.size()});
  if (!built) return {};
  if constexpr (kInserts)
    for (const std::uint64_t key : keys.subspan(keys.size() / 2)) built->insert(key);
  Answers a;
  for (const std::uint64_t key : queries) {
    a.one_by_one.push_back(built->may_contain(key));
    a.by_digest.push_back(built->may_contain(digest(key)));
  }
  a.batch.resize(queries.size());
  built->may_contain(queries, a.batch);
  a.bytes = built->to_bytes();
  return a;
}

}  // namespace

Simd NAYSAY_NAMED(level_of_, NAYSAY_LEVEL)() { return kCompiledFor; }

std::vector<Answers> NAYSAY_NAMED(answers_of_, NAYSAY_LEVEL)(std::span<const std::uint64_t> keys,
                                                             std::span<const std::uint64_t> queries) {
  std::vector<Answers> all;
  all.push_back(answers<BlockedBloom>(keys, queries, {.bits_per_key = 8, .k = 4}));
  all.push_back(answers<BlockedBloom>(keys, queries, {.bits_per_key = 8, .k = 8}));
  all.push_back(answers<BlockedBloom>(keys, queries, {.bits_per_key = 8, .k = 16}));
  all.push_back(answers<Xor>(keys, queries, {.bits_per_key = 9.9}));  // cells of 8 bits, two shards
  all.push_back(answers<Xor>(keys, queries, {.bits_per_key = 6.5}));  // 5 bits
  all.push_back(answers<BinaryFuse>(keys, queries, {.bits_per_key = 9.7, .arity = 3}));
  all.push_back(answers<BinaryFuse>(keys, queries, {.bits_per_key = 9.5, .arity = 4}));
  all.push_back(answers<BinaryFuse>(keys, queries, {.bits_per_key = 7, .arity = 4}));
  all.push_back(answers<Ribbon>(keys, queries, {.bits_per_key = 8.1}));
  all.push_back(answers<Ribbon>(keys, queries, {.bits_per_key = 10.5}));
  all.push_back(answers<VariableHash>(keys, queries, {.bits_per_key = 8}));
  all.push_back(answers<Quotient>(keys, queries, {}));
  all.push_back(answers<Cuckoo>(keys, queries, {}));
  return all;
}

}  // namespace naysay::compiled
