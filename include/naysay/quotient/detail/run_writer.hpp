// SPDX-License-Identifier: Apache-2.0
// RunWriter: builds the table of a quotient filter from left to right. It sorts the remainders of each region by
// quotient and writes the runs one after the other, so nothing is ever moved.
//
//   keys of a region --counting sort--> | 9 5 | 7 2 7 | ... by quotient --sort each, count copies--> runs in Blocks
//
// Promises   Runs are sorted, and copies are counted, as insert leaves them.
// Cost       4 bytes of scratch per key of a region, and the gathered keys of core/detail/shards.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "naysay/quotient/detail/blocks.hpp"

namespace naysay::quotient {

class RunWriter {
 public:
  explicit RunWriter(Blocks& blocks) : blocks_(blocks) {}

  // Call it once. Requires empty blocks. False if the keys run over the end of the table.
  bool fill(const Workload& w, const BuildOptions& o) {
    std::uint64_t cursor = 0, next_block = 0;  // the first free slot; the first block whose offset is not known
    bool fits = true;
    const auto settle_offsets = [&](std::uint64_t up_to) {
      for (; next_block < blocks_.block_count() && 64 * next_block <= up_to; ++next_block) {
        const std::uint64_t spill = cursor > 64 * next_block ? cursor - 64 * next_block : 0;
        fits = fits && spill <= Blocks::kMaxOffset;
        blocks_.set_offset(next_block, spill);
      }
    };
    std::vector<std::uint32_t> first(blocks_.region_slots() + 1), sorted;
    for_each_shard(w.keys, blocks_.regions(), 1, [&](std::uint64_t region, std::span<std::uint64_t> los) {
      if (!o.tell("quotient: writing runs", region, blocks_.regions())) return;
      std::fill(first.begin(), first.end(), 0);
      for (std::uint64_t lo : los) ++first[blocks_.in_region(lo) + 1];
      for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
      sorted.resize(los.size());
      for (std::uint64_t lo : los)
        sorted[first[blocks_.in_region(lo)]++] = static_cast<std::uint32_t>(blocks_.remainder_of(lo));
      std::uint32_t begin = 0;  // first[i] now is where the run of i ends
      for (std::uint64_t i = 0; i < blocks_.region_slots() && fits; begin = first[i++]) {
        const std::span<std::uint32_t> run(sorted.data() + begin, sorted.data() + first[i]);
        if (run.empty()) continue;
        const std::uint64_t q = region * blocks_.region_slots() + i;
        settle_offsets(q);
        std::sort(run.begin(), run.end());
        cursor = write_run(std::max(q, cursor), run);
        fits = fits && cursor <= blocks_.slots();
        if (fits) blocks_.set_runend(cursor - 1, true), blocks_.set_occupied(q, true);
      }
    });
    settle_offsets(blocks_.slots());
    return fits;
  }

  std::uint64_t used() const noexcept { return used_; }        // slots
  std::uint64_t entries() const noexcept { return entries_; }  // entries among them

 private:
  // Writes the entries of a sorted run from slot `at` on and returns the slot after them. Writes nothing beyond the
  // last slot.
  std::uint64_t write_run(std::uint64_t at, std::span<const std::uint32_t> run) noexcept {
    const auto put = [&](std::uint64_t value) {
      if (at < blocks_.slots()) blocks_.set_remainder(at, value), ++used_;
      ++at;
    };
    for (std::size_t i = 0; i < run.size();) {
      const std::uint64_t x = run[i], base = x + 1;
      std::size_t same = i;
      while (same < run.size() && run[same] == x) ++same;
      put(x);
      for (std::uint64_t rest = same - i - 1; rest > 0; rest = (rest - 1) / base) put((rest - 1) % base);
      ++entries_;
      i = same;
    }
    return at;
  }

  Blocks& blocks_;
  std::uint64_t used_ = 0, entries_ = 0;
};

}  // namespace naysay::quotient
