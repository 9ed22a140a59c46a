// SPDX-License-Identifier: Apache-2.0
// Delta: an update of a list, a few percent of the list's file, in a .nsd file (docs/format.md).
//
//   state  --- ADD, DROP --->  next state          next(x) = ADD(x) or (state(x) and not DROP(x))
//
// A state is a base (any .nsy file) and the deltas after it: a Stack (stack.hpp). ADD holds the new keys that the state
// denies. It is taught to refuse the known negatives and the dropped keys, and accepts strangers at a small rate. DROP
// holds the known negatives and dropped keys that the state accepts. It is taught every live key, because its false
// positive would be a false negative. Both are complete or are not written.
//
//   field       what for
//   list, partition     which list it updates
//   from, to            sequence numbers, and the states: a state's id is the SHA-256 of a base's file, or of the delta's
//                       bytes, which begin with the state before it. So a chain of deltas fits in one order only.
//   created, expires    seconds since 1970; 0: it does not expire
//   self-test           a checksum of the next state's answers to fixed probes
//   signature           optional; over all other bytes
//
// A roll-up is a delta from a base to a later state, in place of all deltas in between.
//
// Promises   make_delta checks every key, known negative and dropped key against the next state before it returns.
//            Delta::read checks magic, version, lengths and checksum; Stack::push everything else.
// Does not   refuse dropped keys if task.ghosts: they are accepted or not, as the state has it.
// Cost       about log2(1 / rate) bits for each added key, and log2(live keys / dropped) + 1.44 for each dropped one.
//            144 bytes of header, 80 of signature.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/core/workload.hpp"
#include "naysay/updates/signature.hpp"

namespace naysay {

class Stack;

// What a .nsd file says of itself.
struct DeltaFacts {
  std::uint64_t list = 0;
  std::uint32_t partition = 0;
  bool ghosts = false;  // dropped keys may still be accepted
  bool rollup = false;  // from a base
  HashId hash = HashId::xxh3;
  std::uint64_t hash_check = 0;  // updates::hash_check
  std::uint64_t from_sequence = 0, to_sequence = 0;
  StateId from = {}, to = {};
  std::int64_t created = 0, expires = 0;
  std::uint64_t keys = 0;                // in the list after it
  std::uint32_t added = 0, dropped = 0;  // in its layers
  std::uint32_t add_bytes = 0, drop_bytes = 0;
  std::uint64_t self_test = 0;
};

// A well-formed delta: whole, of this version, with a right checksum. Whether it may be used is for Stack::push to say.
class NAYSAY_EXPORT Delta {
 public:
  // Borrows the bytes.
  static Result<Delta> read(std::span<const std::byte> bytes);

  const DeltaFacts& facts() const noexcept { return facts_; }
  const std::optional<Signature>& signature() const noexcept { return signature_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::span<const std::byte> signed_bytes() const noexcept { return signed_; }  // all but the signature
  std::span<const std::byte> add() const noexcept { return add_; }
  std::span<const std::byte> drop() const noexcept { return drop_; }

 private:
  DeltaFacts facts_;
  std::optional<Signature> signature_;
  std::span<const std::byte> bytes_, signed_, add_, drop_;
};

struct DeltaTask {
  std::span<const Digest> keys = {};       // all keys of the list from now on
  std::span<const Digest> negatives = {};  // known negatives; one that is also a key is a key
  std::span<const Digest> dropped = {};    // keys of earlier; one that is a key again is a key
  bool ghosts = false;                     // let dropped keys be: `dropped` is not read
  bool rollup = false;
  double add_rate = 0;  // strangers that ADD may accept; 0: a sixteenth of what the base accepts
  std::uint64_t list = 0;
  std::uint32_t partition = 0;
  std::uint64_t to_sequence = 0;  // 0: the state's, and one
  std::int64_t created = 0, expires = 0;
  std::uint64_t seed = 0;
  unsigned threads = 1;
  Signer signer = {};
  Progress progress = {};
};

// The bytes of a .nsd file that leads from this state to the one of the task. Everything in the task was checked against
// the next state.
NAYSAY_EXPORT Result<std::vector<std::byte>> make_delta(const Stack& state, const DeltaTask& task);

namespace updates {
// How an update says which hash its keys were digested with: the seed, or a checksum of the secret.
NAYSAY_EXPORT std::uint64_t hash_check(const Hasher& hasher) noexcept;
}  // namespace updates

// The number of a list that has a name.
NAYSAY_EXPORT std::uint64_t list_number(std::string_view name) noexcept;

}  // namespace naysay
