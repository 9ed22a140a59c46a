// SPDX-License-Identifier: Apache-2.0
// PartsOf<Ribbon>, PartsOf<TaughtRibbon>: ribbons built in parts, each from one range of digests (core/parts.hpp).
//
//   facts of all --> shards or segments --> parts --> Ribbon, with the bytes of Ribbon::build
//   facts of all --TaughtPlan--> shards --> parts --> TaughtRibbon, with the bytes of TaughtRibbon::build
//
// Does not   build a taught ribbon with exact=true: the fewest bits are found by building several plans and comparing
//            them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "naysay/core/detail/memory.hpp"
#include "naysay/core/detail/part_checks.hpp"
#include "naysay/core/negatives.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/ribbon/detail/bumped_segment.hpp"
#include "naysay/ribbon/detail/ribbon_solver.hpp"
#include "naysay/ribbon/detail/taught_parts.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"

namespace naysay {

// PartsOf<Ribbon>. With bumping its "shards" are the segments of the band (detail/bumped_segment.hpp), and the bumped keys
// go on into the shards of the second ribbon, which is built by all parts if they can talk, and else by join().
//
//   table   one number for each
//   0       shard or segment        its keys
//   1       shard                   its seed; none with bumping
//   2       4 buckets x 4           thresholds, of the segments of the part together
//   3       quarter of a digest     bumped keys: four numbers each; none if the parts talked, and then:
//   4, 5    shard of the second     its keys; its seed
//   words   0: the shards, or the band; 1: the second ribbon
template <>
struct PartsOf<Ribbon> {
  using Params = Ribbon::Params;

  static Result<ShardMap> shards(const Whole& whole, const Params& p) {
    NAYSAY_CHECK(Ribbon::check(p));
    if (!Ribbon::bumps(whole.keys, p))
      return Ribbon::with_width(p, [&](auto solver) { return ShardMap(solver.sizes().shards(whole.keys)); });
    const Segments segments(Ribbon::fit(whole.keys, p.bits_per_key));
    std::vector<std::uint64_t> begins(segments.size());
    for (std::uint64_t s = 0; s < begins.size(); ++s) begins[s] = segments.first_hi(s);
    return ShardMap(std::move(begins));
  }

  static Result<FilterPart> build(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                                  PartPeers* peers) {
    FilterPart part;
    std::vector<Digest> bumped;
    NAYSAY_CHECK(
        agreed(peers, no_memory_is_an_error("ribbon", [&] { return solve(whole, input, p, o, part, bumped); })));
    if (peers && Ribbon::bumps(whole.keys, p)) {
      NAYSAY_CHECK(solve_second(whole, p, o, *peers, part, std::move(bumped)));
    } else {
      part.tables[3].values = column(4 * bumped.size(), [&](std::uint64_t i) {
        const Digest& d = bumped[i / 4];
        return (i % 4 < 2 ? d.lo : d.hi) >> (i % 2 * 32);
      });
    }
    part.complete = true;
    return part;
  }

  static Result<Ribbon> join(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                             const BuildOptions& o) {
    NAYSAY_TRY(const ShardMap map, shards(whole, p));
    NAYSAY_TRY(const auto counts, joined_counts("ribbon", all, map.size(), whole.keys, kTables, kWords));
    Ribbon f;
    if (Ribbon::bumps(whole.keys, p)) {
      NAYSAY_CHECK(join_bumped(whole, all, p, o, f));
    } else {
      NAYSAY_CHECK(Ribbon::with_width(p, [&](auto solver) -> Result<Ok> {
        NAYSAY_TRY(f.both_.second, solver.place(counts, Ribbon::room(whole.keys, p), Zeros::sparse));
        if (f.both_.second.is_absent()) return Ribbon::buys_no_plane(p, solver.sizes().bits_per_key(1));
        for (const FilterPart& part : all)
          if (!put(f.both_.second, {part.first, part.last}, part.tables[1].values, part.words[0]))
            return damaged_part("ribbon", part);
        return Ok{};
      }));
    }
    NAYSAY_CHECK(f.validate());
    return f;
  }

  static Result<CostLimit> limit(const Whole&, std::span<const FilterPart>, const Params&, const BuildOptions&) {
    return no_second_round("ribbon");
  }
  static std::vector<PartPlace> places(const Ribbon& f, ShardRange range) {
    const Band& band = f.both_.band;
    const Layout& second = f.both_.second;
    const auto place = [](const auto& layout, const auto& words) {
      return PartPlace{{layout.words(), layout.word_count()}, words.first, words.last};
    };
    if (band.is_absent()) return {place(second, second.word_range(range.first, range.last))};
    const Segments segments(band.shape());
    const ShardRange own = second_range(range, segments.size(), second.shards());
    return {place(second, second.word_range(own.first, own.last)),
            place(band, band.word_range(segments.begin(range.first), segments.begin(range.last)))};
  }
  static double expected_fpr(const Ribbon& f, std::span<const FilterPart>) { return f.expected_fpr(); }

 private:
  using Layout = ribbon::detail::RibbonLayout;
  using Band = ribbon::detail::BumpedLayout;
  using Segments = ribbon::detail::BumpedSegments;
  using Second = Ribbon::Solver<128>;
  static constexpr std::size_t kTables = 6, kWords = 2;

  static Result<Ok> agreed(PartPeers* peers, Result<Ok> own) { return peers ? peers->agree(std::move(own)) : own; }

  static Error unmixed() {
    return {Errc::build_failed,
            "ribbon: too many keys are bumped to build it in parts; are the digests well mixed? give width=64 or "
            "width=128"};
  }
  // The shards of the second ribbon that a part with these segments solves.
  static ShardRange second_range(ShardRange own, std::uint64_t segments, std::uint64_t shards) noexcept {
    const auto cut = [&](std::uint64_t s) { return static_cast<std::uint64_t>(Uint128{shards} * s / segments); };
    return {cut(own.first), cut(own.last)};
  }

  // The words and seeds of a range of shards. A part may come without its words; then others have them.
  static bool put(Layout& layout, ShardRange own, const Array<std::uint32_t>& seeds, const PartWords& words) {
    if (seeds.size() != own.last - own.first) return false;
    for (std::uint64_t i = 0; i < seeds.size(); ++i) {
      if (seeds[i] >= ribbon::detail::kRibbonSeeds) return false;
      layout.set_seed(own.first + i, seeds[i]);
    }
    if (words.words.empty()) return true;
    const auto range = layout.word_range(own.first, own.last);
    return words.first == range.first && words.words.size() == range.last - range.first &&
           layout.put_words(words.first, {words.words.data(), words.words.size()});
  }
  static void take(const Layout& layout, ShardRange own, PartTable& seeds, PartWords& words) {
    if (own.first == own.last) return;
    seeds.values = column(own.last - own.first, [&](std::uint64_t i) { return layout.place(own.first + i).seed; });
    const auto range = layout.word_range(own.first, own.last);
    words = copied_words(layout.words(), range.first, range.last);
  }

  // The own shards, or segments and what they bump.
  static Result<Ok> solve(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                          FilterPart& part, std::vector<Digest>& bumped) {
    NAYSAY_TRY(const ShardMap map, shards(whole, p));
    NAYSAY_CHECK(check_part_input("ribbon", map, input));
    BuildOptions options = o;
    options.seed = whole.seed;
    const ShardRange own{input.first, input.last};
    part.first = own.first, part.last = own.last;
    part.tables.resize(kTables);
    part.words.resize(kWords);
    const std::vector<std::uint64_t> all(input.counts.begin(), input.counts.end());
    const auto counts = std::span(all).subspan(own.first, own.last - own.first);
    part.tables[0].values = column(counts.size(), [&](std::uint64_t i) { return counts[i]; });
    for (std::uint64_t n : counts) part.keys += n;
    if (!Ribbon::bumps(whole.keys, p))
      return Ribbon::with_width(p, [&](auto solver) -> Result<Ok> {
        NAYSAY_TRY(Layout layout, solver.place(all, Ribbon::room(whole.keys, p), Zeros::sparse));
        if (layout.is_absent()) return Ribbon::buys_no_plane(p, solver.sizes().bits_per_key(1));
        NAYSAY_CHECK(solver.solve(layout, input.workload.keys, counts, own.first, options));
        take(layout, own, part.tables[1], part.words[0]);
        return Ok{};
      });
    const auto shape = Ribbon::fit(whole.keys, p.bits_per_key);
    if (shape.planes == 0 && shape.rich == 0) return Ribbon::buys_no_band(p);
    const Segments segments(shape);
    Band band(shape, Zeros::sparse);
    bumped = fill_bumped(band, segments, input.workload.keys, counts, own.first, options);
    NAYSAY_CHECK(options.go_on("ribbon"));
    const std::uint64_t begin = segments.begin(own.first), end = segments.begin(own.last);
    const auto words = band.word_range(begin, end), bytes = band.threshold_range(begin, end);
    part.words[0] = copied_words(band.words(), words.first, words.last);
    part.tables[2].values = column(divide_up(bytes.last - bytes.first, 4), [&](std::uint64_t i) {
      std::uint32_t four = 0;
      for (std::uint64_t at = bytes.first + 4 * i, k = 0; k < 4 && at + k < bytes.last; ++k)
        four |= std::uint32_t{band.thresholds()[at + k]} << 8 * k;
      return four;
    });
    return Ok{};
  }

  // Peers solve the second ribbon together: each gets the bumped keys of a range of its shards.
  static Result<Ok> solve_second(const Whole& whole, const Params& p, const BuildOptions& o, PartPeers& peers,
                                 FilterPart& part, std::vector<Digest> bumped) {
    std::uint64_t all = bumped.size();
    NAYSAY_CHECK(peers.add_up({&all, 1}));
    if (Ribbon::bumps_too_many(all, whole.keys)) return unmixed();
    const auto shape = Ribbon::fit(whole.keys, p.bits_per_key);
    const ShardMap map(Second::sizes().shards(all));
    const ShardRange own = second_range({part.first, part.last}, Segments(shape).size(), map.size());
    NAYSAY_CHECK(peers.exchange(bumped, map.range(own)));
    std::vector<std::uint64_t> counts;
    NAYSAY_CHECK(peers.agree(no_memory_is_an_error("ribbon", [&]() -> Result<Ok> {
      counts = shard_counts(bumped, map.size());
      return Ok{};
    })));
    NAYSAY_CHECK(peers.add_up(counts));
    return peers.agree(no_memory_is_an_error("ribbon", [&]() -> Result<Ok> {
      BuildOptions options = o;
      options.seed = whole.seed;
      NAYSAY_TRY(Layout layout, Second::place(counts, Ribbon::second_room(whole.keys, p, shape), Zeros::sparse));
      if (layout.is_absent()) return Ribbon::buys_no_band(p);
      const auto mine = std::span(counts).subspan(own.first, own.last - own.first);
      NAYSAY_CHECK(Second::solve(layout, bumped, mine, own.first, options));
      part.tables[4].values = column(mine.size(), [&](std::uint64_t i) { return mine[i]; });
      take(layout, own, part.tables[5], part.words[1]);
      return Ok{};
    }));
  }

  static Result<Ok> join_bumped(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                                const BuildOptions& o, Ribbon& f) {
    const auto shape = Ribbon::fit(whole.keys, p.bits_per_key);
    if (shape.planes == 0 && shape.rich == 0) return Ribbon::buys_no_band(p);
    const Segments segments(shape);
    Band band(shape, Zeros::sparse);
    std::vector<Digest> bumped;
    std::vector<std::uint64_t> counts;  // of the second ribbon, if the parts have solved it
    for (const FilterPart& part : all) {
      const std::uint64_t begin = segments.begin(part.first), end = segments.begin(part.last);
      const auto words = band.word_range(begin, end), bytes = band.threshold_range(begin, end);
      const auto &levels = part.tables[2].values, &keys = part.tables[3].values;
      const Array<std::uint64_t>& own = part.words[0].words;
      if (levels.size() != divide_up(bytes.last - bytes.first, 4) || keys.size() % 4 != 0) return damaged(part);
      for (std::uint64_t at = bytes.first; at < bytes.last; ++at) {
        const std::uint64_t i = at - bytes.first;
        band.put_thresholds(at, static_cast<std::uint8_t>(levels[i / 4] >> i % 4 * 8));
      }
      if (!own.empty() && (part.words[0].first != words.first || own.size() != words.last - words.first ||
                           !band.put_words(words.first, {own.data(), own.size()})))
        return damaged(part);
      for (std::uint64_t i = 0; i < keys.size(); i += 4)
        bumped.push_back({keys[i] | std::uint64_t{keys[i + 1]} << 32, keys[i + 2] | std::uint64_t{keys[i + 3]} << 32});
      for (std::uint32_t n : part.tables[4].values) counts.push_back(n);
    }
    band.count_kept();
    f.both_.band = std::move(band);
    const auto room = Ribbon::second_room(whole.keys, p, shape);
    if (!counts.empty() && !bumped.empty()) return damaged(all[0]);  // some solved the second ribbon, others did not
    if (counts.empty()) {
      if (Ribbon::bumps_too_many(bumped.size(), whole.keys)) return unmixed();
      BuildOptions options = o;
      options.seed = whole.seed;
      NAYSAY_TRY(f.both_.second, Second::build(bumped, room, options));
      return f.both_.second.is_absent() ? Result<Ok>(Ribbon::buys_no_band(p)) : Ok{};
    }
    std::uint64_t keys = 0;
    for (std::uint64_t n : counts) keys += n;
    if (counts.size() != Second::sizes().shards(keys)) return damaged(all[0]);
    NAYSAY_TRY(f.both_.second, Second::place(counts, room, Zeros::sparse));
    if (f.both_.second.is_absent()) return Ribbon::buys_no_band(p);
    for (const FilterPart& part : all) {
      const ShardRange own = second_range({part.first, part.last}, segments.size(), counts.size());
      if (part.tables[4].values.size() != own.last - own.first ||
          !put(f.both_.second, own, part.tables[5].values, part.words[1]))
        return damaged(part);
    }
    return Ok{};
  }
  static Error damaged(const FilterPart& part) { return damaged_part("ribbon", part); }
};

template <>
struct PartsOf<TaughtRibbon> {
  using Params = TaughtRibbon::Params;

  static Result<ShardMap> shards(const Whole& whole, const Params& p) {
    return with_parts(whole, {}, p, {}, nullptr,
                      [](auto& parts) -> Result<ShardMap> { return ShardMap(parts.shards()); });
  }
  static Result<FilterPart> build(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                                  PartPeers* peers) {
    return with_parts(whole, input, p, o, peers, [](auto& parts) { return parts.build(); });
  }
  static Result<TaughtRibbon> join(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                                   const BuildOptions& o) {
    return with_parts(whole, {}, p, o, nullptr, [&](auto& parts) -> Result<TaughtRibbon> {
      NAYSAY_TRY(ribbon::detail::TaughtPlanes planes, parts.join(all));
      TaughtRibbon f(std::move(planes));
      NAYSAY_CHECK(f.validate());
      return f;
    });
  }
  static Result<CostLimit> limit(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                                 const BuildOptions& o) {
    Whole open = whole;
    open.limit = {};
    return with_parts(open, {}, p, o, nullptr, [&](auto& parts) { return parts.limit(all); });
  }
  static std::vector<PartPlace> places(const TaughtRibbon& f, ShardRange range) {
    const auto& [main, exact] = f.planes_;
    const std::uint64_t parts = main.is_absent() || exact.is_absent() ? 1 : exact.shards() / main.shards();
    std::vector<PartPlace> places;
    for (const auto& [layout, factor] : {std::pair(&main, std::uint64_t{1}), std::pair(&exact, parts)}) {
      if (layout->is_absent()) continue;
      const auto words = layout->word_range(range.first * factor, range.last * factor);
      places.push_back({{layout->words(), layout->word_count()}, words.first, words.last});
    }
    return places;
  }
  static double expected_fpr(const TaughtRibbon& f, std::span<const FilterPart>) { return f.expected_fpr(); }

 private:
  template <class Body>
  static auto with_parts(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                         PartPeers* peers, Body body)
      -> decltype(body(std::declval<ribbon::detail::TaughtParts<64>&>())) {
    NAYSAY_CHECK(TaughtRibbon::check(p));
    if (p.exact)
      return Error{Errc::unsupported,
                   "taught-ribbon: with exact=true it cannot be built in parts, because the fewest bits are found by "
                   "building several times; give bits_per_key without it"};
    BuildOptions options = o;
    options.seed = whole.seed;
    const NegativeSource held =
        input.workload.source ? NegativeSource{} : NegativeSource::of(input.workload, o.threads);
    const NegativeSource& negatives = input.workload.source ? *input.workload.source : held;
    const CostCurve costs(whole.costs);
    const auto plan = ribbon::plan({.keys = static_cast<double>(whole.keys),
                                    .bits_per_key = p.bits_per_key,
                                    .stranger_share = whole.stranger_share,
                                    .width = p.width},
                                   costs);
    const ribbon::detail::TaughtShare share{whole.keys, input.first, input.last, input.counts, whole.limit, peers};
    const auto run = [&](auto width) {
      ribbon::detail::TaughtParts<width()> parts(input.workload, p.bits_per_key, options, negatives, costs, plan,
                                                 share);
      return body(parts);
    };
    return plan.width == 64 ? run(std::integral_constant<unsigned, 64>{})
                            : run(std::integral_constant<unsigned, 128>{});
  }
};

}  // namespace naysay
