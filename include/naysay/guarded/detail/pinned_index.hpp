// SPDX-License-Identifier: Apache-2.0
// PinnedIndex: negatives by their address in a filter, so that an insert finds those that it would make the filter
// accept.
//
//   slot     0    1    2    3    4    5    6    7
//         +----+----+----+----+----+----+----+----+
//         |  a |    |  b |  c |  d |    |    |  e |      homes 0, 2 2 3, 7: sorted by home, each at its home or after
//         +----+----+----+----+----+----+----+----+
//                      ^
//    home(address(x)) = 2: read on until a slot is empty or has a later home; b, c are candidates: their address tells
//
// A filter gives two digests of one address the same answer (AddressedFilter). So insert(x) may make it accept the
// negatives at x's address, and no others.
//
// Promises   for_each(address) visits every digest of that address.
// Does not   take part in queries: only the machine that inserts needs it.
// Cost       168 bits per digest: whole digests with 4/5 of the slots in use, and 8 bits of hints. A look-up reads one
//            hint and, one time in eight, about 3 neighbouring slots. Building sorts a copy of the digests. add() moves
//            a few; after half as many again as there were, it builds the table again.
// Source     ordered linear probing: O. Amble and D. Knuth, 1974.
#pragma once

#include <algorithm>
#include <vector>

#include "naysay/core/filter.hpp"

namespace naysay::guarded::detail {

class PinnedIndex {
 public:
  PinnedIndex() = default;

  // address(d) must always be the same for d. A digest that repeats is stored once. Requires that none is kUnused. With
  // `room` for more digests than these, add() is faster.
  template <class Address>
  PinnedIndex(std::vector<Digest> digests, Address&& address, std::uint64_t room = 0)
      : homes_(divide_up(std::max<std::uint64_t>(digests.size(), room) * 5, 4)),
        hints_(divide_up(std::max<std::uint64_t>(digests.size(), room), 8)) {
    const auto order = [&](Digest d) { return std::pair(home(address(d)), d); };
    std::sort(digests.begin(), digests.end(), [&](Digest a, Digest b) { return order(a) < order(b); });
    digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
    std::uint64_t end = 0;
    for (const Digest& d : digests) end = std::max(end, home(address(d))) + 1;
    slots_ = Array<Digest>(room > digests.size() ? std::max(end, homes_) + kTail : end);
    end = 0;
    for (const Digest& d : digests) {
      const std::uint64_t at = std::max(end, home(address(d)));
      slots_.at_mut(at) = d;
      end = at + 1;
      set_bit(hints_.mutable_data(), hint(address(d)));
    }
  }

  // The digest that no slot can hold: it marks an empty one.
  static constexpr Digest kUnused = {};

  bool empty() const noexcept { return slots_.empty(); }

  std::uint64_t count() const noexcept {
    return static_cast<std::uint64_t>(
        std::count_if(slots_.begin(), slots_.end(), [](Digest d) { return d != kUnused; }));
  }

  // Calls body(digest) for every digest.
  template <class Body>
  void for_each(Body&& body) const {
    for (const Digest& d : slots_)
      if (d != kUnused) body(d);
  }
  // Calls body(digest) for every digest of the address.
  template <class Address, class Body>
  void for_each(std::uint64_t wanted, Address&& address, Body&& body) const noexcept {
    if (!hinted(wanted)) return;
    const std::uint64_t from = home(wanted);
    for (std::uint64_t i = from; i < slots_.size() && slots_[i] != kUnused; ++i) {
      const std::uint64_t is = address(slots_[i]);
      if (is == wanted)
        body(slots_[i]);
      else if (home(is) > from)
        return;
    }
  }

  template <class Address>
  bool contains(Digest d, Address&& address) const noexcept {
    bool found = false;
    for_each(address(d), address, [&](Digest x) { found |= x == d; });
    return found;
  }

  // Requires that d is neither kUnused nor here, and that `count` is count(). Now and then it makes a larger table.
  template <class Address>
  void add(Digest d, std::uint64_t count, Address&& address) {
    if ((count + 1) * 5 > homes_ * 4 || !put(d, address)) {
      std::vector<Digest> digests;
      digests.reserve(count + 1);
      for (const Digest& x : slots_)
        if (x != kUnused) digests.push_back(x);
      digests.push_back(d);
      const std::uint64_t room = digests.size() + digests.size() / 2 + 8;
      *this = PinnedIndex(std::move(digests), address, room);
    }
  }

  // False if it is not there.
  template <class Address>
  bool remove(Digest d, Address&& address) noexcept {
    if (!hinted(address(d))) return false;
    const std::uint64_t from = home(address(d));
    for (std::uint64_t i = from; i < slots_.size() && slots_[i] != kUnused; ++i) {
      if (slots_[i] == d) {
        // The digests after it that are not at their home move up.
        for (; i + 1 < slots_.size() && slots_[i + 1] != kUnused && home(address(slots_[i + 1])) <= i; ++i)
          slots_.at_mut(i) = slots_[i + 1];
        slots_.at_mut(i) = kUnused;
        return true;
      }
      if (home(address(slots_[i])) > from) return false;
    }
    return false;
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("homes", self.homes_);
    visit("hints", self.hints_);
    visit("slots", self.slots_);
  }

 private:
  static constexpr std::uint64_t kTail = 64;  // slots after the last home, for what lies after its home

  // False if there is no free slot after its place.
  template <class Address>
  bool put(Digest d, Address&& address) noexcept {
    const std::uint64_t from = home(address(d));
    std::uint64_t at = from;
    while (at < slots_.size() && slots_[at] != kUnused && home(address(slots_[at])) <= from) ++at;
    std::uint64_t free = at;
    while (free < slots_.size() && slots_[free] != kUnused) ++free;
    if (free >= slots_.size()) return false;
    for (; free > at; --free) slots_.at_mut(free) = slots_[free - 1];
    slots_.at_mut(at) = d;
    set_bit(hints_.mutable_data(), hint(address(d)));
    return true;
  }

  std::uint64_t home(std::uint64_t address) const noexcept { return fast_range(mix64(address), homes_); }

  // Eight bits per digest: for seven of eight addresses without digests one bit shows that there are none, and the
  // hints are only a twentieth of the memory.
  std::uint64_t hint(std::uint64_t address) const noexcept { return fast_range(mix64(address), hints_.size() * 64); }
  bool hinted(std::uint64_t address) const noexcept {
    return !hints_.empty() && test_bit(hints_.data(), hint(address));
  }

  std::uint64_t homes_ = 0;  // any number is safe: a home after the last slot holds nothing
  Array<std::uint64_t> hints_;
  Array<Digest> slots_;
};

}  // namespace naysay::guarded::detail
