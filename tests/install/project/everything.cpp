// SPDX-License-Identifier: Apache-2.0
// What the headers need of the library, so that a symbol that is not exported or not linked is noticed.
#include <naysay/live/metrics.hpp>
#include <naysay/live/shared_filter.hpp>
#include <naysay/live/store.hpp>
#include <naysay/live/swapped.hpp>
#include <naysay/naysay.hpp>
#include <naysay/variable_hash/adaptive_variable_hash.hpp>
#include <naysay/workload/keys.hpp>
#include <string>
#include <utility>
#include <vector>

int main(int, char** argv) {
  std::vector<std::string> keys;
  std::vector<std::pair<std::string, float>> negatives;
  for (int i = 0; i < 3000; ++i) {
    keys.push_back("key " + std::to_string(i));
    negatives.emplace_back("other " + std::to_string(i), 1.0f);
  }
  naysay::BuildOptions options;
  options.threads = 2;
  const auto taught = naysay::build<naysay::TaughtRibbon>(keys, negatives, {.bits_per_key = 10}, options);
  if (!taught || !taught->may_contain("key 7")) return 1;
  if (!naysay::build<naysay::VariableHash>(keys, {.bits_per_key = 8})) return 2;
  auto bloom = naysay::build("bloom", keys);
  if (!bloom || bloom->as<naysay::Bloom>() == nullptr || bloom->as<naysay::Xor>() != nullptr) return 3;
  if (naysay::prometheus(naysay::metrics_of(*bloom), "set").empty()) return 4;
  if (naysay::read_keys({.path = std::string(argv[0]) + ".none"}, naysay::Hasher{})) return 5;
  if (naysay::Store::open(std::string(argv[0]) + ".none")) return 6;
  if (naysay::SlotFile::open(std::string(argv[0]) + ".none", naysay::VariableHash{})) return 7;
  if (naysay::open(std::string(argv[0]))) return 8;
  return 0;
}
