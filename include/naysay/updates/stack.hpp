// SPDX-License-Identifier: Apache-2.0
// Stack: a base filter and the updates after it, queried as one filter.
//
//   auto list = naysay::open("base.nsy", "monday.nsd", "tuesday.nsd");     // Result<Stack>; all checked
//   list->may_contain("evil.example");
//   list->push(bytes);                                                     // one more update, or nothing changes
//   list->save("list.nst");                                                // one file to map
//   auto again = naysay::open_stack("list.nst");
//
//   query --> base --- yes --> DROP 1 -- no --> DROP 2 -- no --> "maybe"
//               |                | yes            | yes
//               no               v                v
//               +-------------> ADD 1 -- no ---> ADD 2 -- no --> "no"         ADD: yes --> back to the row of yes
//
// DROP is read only after a yes, ADD only after a no: one layer of each update. A batch asks layer by layer, so that the
// cache misses of a batch overlap in each.
//
// Promises   A key that is in the list after the last update is never denied; a known negative or dropped key of the
//            last update is never accepted. push() checks hash, list, partition, order, chain, expiry, signature (if a
//            verifier is given) and self-test; if one is wrong the stack is as it was.
// Does not   insert, erase or adapt.
// Cost       a query: the base's, and a look-up per update. The stranger FPR is the sum of the base's and the updates'.
//
// A .nst file holds one stack, or several, the partitions of a list. Each has its own base, chain and rate.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/export.hpp"
#include "naysay/updates/delta.hpp"
#include "naysay/updates/detail/update_layer.hpp"

namespace naysay {

// Bytes, and what keeps them alive.
struct NAYSAY_EXPORT HeldBytes {
  std::span<const std::byte> bytes = {};
  std::shared_ptr<const void> keeper = {};

  static HeldBytes copy_of(std::span<const std::byte> bytes);
};

struct NAYSAY_EXPORT StackChecks {
  Verifier verifier = {};  // none: signatures are not checked
  std::int64_t now = 0;    // seconds since 1970: what has expired by then is refused; 0: nothing is
  bool self_test = true;   // of the last update

  static StackChecks at_present();  // the same with the clock's time
};

class NAYSAY_EXPORT Stack : public KeyFront<Stack> {
 public:
  // A base and updates in their order, from files. The base may be a .nsy file or a .nst file of one partition.
  static Result<Stack> open(const std::string& base, std::span<const std::string> deltas,
                            const StackChecks& checks = {});
  // A base alone, from the bytes of a .nsy file. sequence: the number of the update that it stands for.
  static Result<Stack> of(HeldBytes base, std::uint64_t sequence = 0);
  // The same base with the first n updates.
  Result<Stack> first(std::size_t n) const;

  // One more update, from the bytes of a .nsd file. An error leaves the stack as it was.
  Result<Ok> push(HeldBytes delta, const StackChecks& checks = {});

  Result<Ok> save(const std::string& path) const;   // a .nst file; whole, by rename, or not at all
  Result<std::vector<std::byte>> to_bytes() const;  // of that file

  struct Update {
    HeldBytes held;
    Delta delta;
    updates::UpdateLayer add, drop;
  };
  const AnyFilter& base() const noexcept { return base_; }
  const HeldBytes& base_bytes() const noexcept { return held_; }
  std::uint64_t base_sequence() const noexcept { return base_sequence_; }
  const std::vector<Update>& updates() const noexcept { return updates_; }
  // The id of the state after the first n updates; 0: of the base.
  const StateId& state(std::size_t n) const noexcept { return n == 0 ? base_state_ : updates_[n - 1].delta.facts().to; }
  const StateId& state() const noexcept { return state(updates_.size()); }
  std::uint64_t sequence() const noexcept {
    return updates_.empty() ? base_sequence_ : updates_.back().delta.facts().to_sequence;
  }
  std::uint64_t keys() const noexcept { return updates_.empty() ? base_.keys() : updates_.back().delta.facts().keys; }
  const Hasher& hasher() const noexcept { return base_.hasher(); }
  KeyKind key_kind() const noexcept { return base_.key_kind(); }
  double expected_fpr() const noexcept;
  std::uint64_t size_bits() const noexcept;
  std::uint64_t update_bytes() const noexcept;  // of all updates, as they were sent
  std::uint64_t self_test() const noexcept;     // a checksum of the answers to fixed probes

  Stack(Stack&&) noexcept = default;
  Stack& operator=(Stack&&) noexcept = default;

 private:
  friend KeyFront<Stack>;
  explicit Stack(AnyFilter base) : base_(std::move(base)) {}

  bool reads_bytes() const noexcept { return base_.type().claims.reads_bytes; }
  bool after_base(Digest d, bool yes) const noexcept {
    for (const Update& u : updates_) {
      if (yes) yes = !u.drop.may_contain(d);
      if (!yes) yes = u.add.may_contain(d);
    }
    return yes;
  }
  bool query(Digest d) const noexcept { return after_base(d, base_.may_contain(d)); }
  bool query_integer(std::uint64_t key) const noexcept { return may_contain_integer(key); }
  bool query(Digest d, std::string_view bytes) const noexcept { return after_base(d, base_.may_contain(d, bytes)); }
  void query(std::span<const Digest> d, std::uint8_t* out) const noexcept;
  Result<Ok> check(const DeltaFacts& next) const;

  HeldBytes held_;  // of the base
  AnyFilter base_;
  StateId base_state_;
  std::uint64_t base_sequence_ = 0;
  std::vector<Update> updates_;
};

// The stacks of a .nst file, each under the number of its partition, ascending.
struct Partition {
  std::uint32_t number = 0;
  Stack stack;
};
NAYSAY_EXPORT Result<std::vector<Partition>> open_partitions(const std::string& path, const StackChecks& checks = {});
NAYSAY_EXPORT Result<std::vector<std::byte>> bytes_of_partitions(std::span<const Partition> partitions);
NAYSAY_EXPORT bool is_stack_file(const std::string& path);  // begins as a .nst file does

// The one stack of a .nst file, or a .nsy file as a stack without updates.
NAYSAY_EXPORT Result<Stack> open_stack(const std::string& path, const StackChecks& checks = {});

// A base and its updates, all checked, expiry too.
template <std::convertible_to<std::string>... Deltas>
requires(sizeof...(Deltas) > 0) Result<Stack> open(const std::string& base, const Deltas&... deltas) {
  const std::string paths[] = {std::string(deltas)...};
  return Stack::open(base, paths, StackChecks::at_present());
}

}  // namespace naysay
