// SPDX-License-Identifier: Apache-2.0
// HashExpressor: remembers, for a few keys, which hash functions to use instead of the default ones.
//
//   cell       0      1      2      3      4      5      6
//           +------+------+------+------+------+------+------+
//           |      |    3 |      |    1 |      |  * 5 |      |    number: a function, *: end of a chain
//           +------+------+------+------+------+------+------+
//                     ^             ^             ^
//    entry(x) = 1 ----+  h3(x) = 3 -+  h1(x) = 5 -+               so x uses {h3, h1, h5}
//
// There are no pointers: the function found in a cell also says where the next cell is. Chains of different keys
// share a cell if they have the same function there. A plan is the order of a chain that shares the most cells.
//
//   paper          here
//   C[i], omega    a cell, cells()
//   hashindex      a function 1..family(); 0 is an empty cell
//   endbit         bit 0 of the cell
//   f              cell_of(0), the entry
//   phi(e)         a chain: k different functions
//   alpha          cell_bits: 1 endbit + the bits of a function
//
// Callers pass cell_of(function), a callable that returns the key's cell under that function, less than cells().
// Function 0 is the entry.
//
// Promises   a stored key gets exactly its functions back: the function of a cell, once written, never changes.
// Does not   recognise strangers: one may find a chain by accident. A chain with the same function twice was never
//            stored and is refused, unless `repeats` is set: the paper accepts it. A stranger whose cell of function f
//            holds f itself then passes with one bit of the Bloom filter instead of k.
// Cost       At most k dependent reads to find a chain. A plan reads k + 1 cells and tries at most kMaxSteps orders of
//            the chain (all of them up to k = 4).
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021, III-C.
#pragma once

#include <array>

#include "naysay/core/filter.hpp"

namespace naysay::habf {

class HashExpressor {
 public:
  static constexpr unsigned kMinCellBits = 3, kMaxCellBits = 6;
  static constexpr unsigned kMaxFamily = (1u << (kMaxCellBits - 1)) - 1;

  // How many functions a cell of that width can name.
  static constexpr unsigned family_of(unsigned cell_bits) noexcept { return (1u << (cell_bits - 1)) - 1; }

  HashExpressor() = default;
  // Requires kMinCellBits <= cell_bits <= kMaxCellBits.
  HashExpressor(std::uint64_t cells, unsigned cell_bits) : cells_(cells, cell_bits) {
    assert(cell_bits >= kMinCellBits && cell_bits <= kMaxCellBits);
  }

  std::uint64_t cells() const noexcept { return cells_.size(); }
  bool empty() const noexcept { return cells_.size() == 0; }
  unsigned family() const noexcept { return empty() ? 0 : family_of(cells_.width()); }

  struct Cell {
    unsigned function;  // 0: the cell is empty
    bool end;
  };
  Cell cell(std::uint64_t i) const noexcept {
    const std::uint32_t raw = cells_.get(i);
    return {raw >> 1, (raw & 1) != 0};
  }

  // Follows the chain that begins at cell `first` and calls next(function) for each of its functions: the function's
  // cell, or kNoCell to give up. True if the chain is whole: k functions, different unless `repeats`, the last at an
  // end. Requires k >= 1.
  template <class Next>
  bool follow(unsigned k, std::uint64_t first, Next&& next, bool repeats = false) const noexcept {
    std::uint32_t met = 1;  // bit i: function i was met; an empty cell counts as met
    const std::uint32_t noted = repeats ? 0 : 1;
    for (std::uint64_t at = first;;) {
      const std::uint32_t raw = cells_.get(at), function = raw >> 1;
      if ((met >> function) & 1) return false;
      met |= noted << function;
      at = next(function);
      if (at == kNoCell) return false;
      if (--k == 0) return (raw & 1) != 0;
    }
  }
  static constexpr std::uint64_t kNoCell = ~std::uint64_t{0};

  // The cells that a chain would use, in order, and how many of them are written already.
  struct Plan {
    unsigned k = 0;
    unsigned shared = 0;
    std::array<std::uint64_t, kMaxFamily> cells;
    std::array<std::uint8_t, kMaxFamily> functions;
  };

  // Finds the order of `functions` (different, each 1..family()) that shares the most cells, if these are
  // at_least or more. False: no such order fits, and plan is not changed. `first`: the first order that fits instead.
  template <class CellOf>
  bool plan(std::span<const std::uint8_t> functions, CellOf&& cell_of, unsigned at_least, Plan& plan,
            bool first = false) const noexcept {
    Search s;
    s.first = first;
    s.k = static_cast<unsigned>(functions.size());
    s.best = at_least;
    for (unsigned i = 0; i <= s.k; ++i) {
      s.name[i] = i == 0 ? std::uint8_t{0} : functions[i - 1];
      s.cell[i] = cell_of(unsigned{s.name[i]});
      s.holds[i] = static_cast<std::uint8_t>(cell(s.cell[i]).function);
      s.most += s.holds[i] != 0;
      // Two functions of the key may lead to one cell; what is written through one is then read through the other.
      s.first_same[i] = static_cast<std::uint8_t>(i);
      for (unsigned j = 0; j < i; ++j)
        if (s.cell[j] == s.cell[i]) s.first_same[i] = s.first_same[j];
    }
    if (s.most < at_least) return false;
    s.go(0, 0, 0, static_cast<std::uint32_t>(low_mask(s.k) << 1));
    if (!s.found) return false;
    plan.k = s.k;
    plan.shared = s.best;
    for (unsigned i = 0; i < s.k; ++i) {
      plan.cells[i] = s.cell[i == 0 ? 0 : s.best_order[i - 1]];
      plan.functions[i] = s.name[s.best_order[i]];
    }
    return true;
  }

  // Writes a plan. Requires that nothing was written since it was made.
  void write(const Plan& plan) noexcept {
    for (unsigned i = 0; i < plan.k; ++i) {
      const Cell c = cell(plan.cells[i]);
      assert(c.function == 0 || c.function == plan.functions[i]);
      const bool end = c.end || i + 1 == plan.k;
      cells_.set(plan.cells[i], std::uint32_t{plan.functions[i]} << 1 | end);
    }
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("cells", self.cells_);
  }
  Result<Ok> validate() const {
    NAYSAY_CHECK(cells_.validate());
    if (cells_.width() != 0 && (cells_.width() < kMinCellBits || cells_.width() > kMaxCellBits))
      return Error{Errc::corrupt,
                   "hash expressor: cells have " + std::to_string(cells_.width()) + " bits; they must have 3 to 6"};
    return Ok{};
  }

 private:
  // At k = 4 a chain has 4! orders and their tree 1 + 4 + 12 + 24 + 24 steps; beyond, the first orders found serve.
  static constexpr unsigned kMaxSteps = 65;

  // The search for the best order. Index 0 is the entry, 1..k are the functions.
  struct Search {
    unsigned k = 0, most = 0, best = 0, steps = 0;
    bool found = false, first = false;
    std::array<std::uint8_t, kMaxFamily + 1> name, holds, first_same, order, best_order;
    std::array<std::uint64_t, kMaxFamily + 1> cell;

    // Stands before the cell of index `at`: `placed` functions have their cells, `shared` of those were written
    // before, and bit i of `left` says that index i still needs one.
    void go(unsigned at, unsigned placed, unsigned shared, std::uint32_t left) noexcept {
      if (placed == k) {
        if (found ? shared <= best : shared < best) return;
        best = shared;
        found = true;
        best_order = order;
        return;
      }
      if (++steps > kMaxSteps || shared + (k - placed) < best) return;
      std::uint8_t& here = holds[first_same[at]];
      const std::uint8_t before = here;
      for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        if (before != 0 && before != name[i]) continue;
        if (found && (first || best >= most)) return;  // as good as it gets
        here = name[i];
        order[placed] = static_cast<std::uint8_t>(i);
        go(i, placed + 1, shared + (before != 0), left & ~(std::uint32_t{1} << i));
      }
      here = before;
    }
  };

  Cells cells_;
};

static_assert(Described<HashExpressor>);

}  // namespace naysay::habf
