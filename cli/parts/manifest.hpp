// SPDX-License-Identifier: Apache-2.0
// Manifest: what a publisher's folder offers: for each partition a base and the updates after it, one chain.
//
//   {"naysay": 1, "list": ..., "partitions": [{"base": ..., "updates": [...]}]}     one line of JSON
//   signature 1 0123456789abcdef 0f1e...                                            if it is signed: algorithm, key, bytes
//
// Every file is named with its size and SHA-256. A base's SHA-256 is its state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "naysay/updates/stack.hpp"

namespace naysay::cli {

inline constexpr const char* kManifest = "manifest";

struct OfferedFile {
  std::string name;
  std::uint64_t bytes = 0;
  StateId sha256 = {};
};
struct OfferedUpdate {
  OfferedFile file;
  std::uint64_t from_sequence = 0, to_sequence = 0;
  StateId to = {};  // the state after it
  bool rollup = false;
};
struct OfferedPartition {
  std::uint32_t number = 0;
  std::uint64_t sequence = 0, keys = 0;
  double expected_fpr = 0;
  OfferedFile base;
  std::uint64_t base_sequence = 0;
  std::int64_t base_created = 0;
  std::vector<OfferedUpdate> updates = {};

  const StateId& state() const noexcept { return updates.empty() ? base.sha256 : updates.back().to; }
};

struct Manifest {
  std::string list = {};
  std::int64_t created = 0, expires = 0;
  std::vector<OfferedPartition> partitions = {};  // ascending

  Result<std::string> text(const Signer& signer) const;
  static Result<Manifest> parse(const std::string& text, const Verifier& verifier);

  OfferedPartition* find(std::uint32_t partition);
};

}  // namespace naysay::cli
