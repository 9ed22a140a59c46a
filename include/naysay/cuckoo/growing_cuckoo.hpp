// SPDX-License-Identifier: Apache-2.0
// GrowingCuckoo: a cuckoo filter without a fixed capacity. It starts at the capacity it was built for and grows by one
// bucket every 3.6 insertions; no answer changes while it grows.
//
//   keys         n0               2 n0              4 n0      ...     growth * n0
//   slot         w bits           w - 1             w - 2     ...     w - log2(growth)
//   fpr          r                2 r               4 r       ...     growth * r = planned_fpr()
//
// It is a detail::SplitTable: it keeps exactly W bits of each key's digest, some of them as the index of a bucket, the
// rest in a slot. Growing moves bits from slots to indices. The rate of false positives is proportional to the number
// of keys, and W is chosen so that bits_per_key pays for the table at the capacity it is built for. The price of growth
// is paid at the start: log2(growth) / 0.9 bits per key more than a table that ends at the same rate without growing.
//
//   bits_per_key   of the capacity at build time (BuildOptions::room()), as for every filter
//   growth         how many times that capacity the first table can reach; 1 or more
//   eras           what happens after that: true opens a second table, an *era*; false makes insert say "no room"
//
// An era is a table with more place bits and the same tags and hops as the one before, so its addresses are nested in
// the older ones: keys that agree in a newer era agree in every older one. Insertions go to the newest era. A query
// reads all of them, so plan `growth` and let eras be the exception: two eras cost two to three times a query. Erase
// takes from the newest era that accepts the key. That is safe: if it takes the entry of another key there, that key's
// copy in the older era matches both. Erasing from the oldest first would lose keys. An old era without keys is dropped.
//
// merge() takes in the entries of another filter that sees the same bits of a key. They go into an era that can
// grow so far and has no more place bits than they have; if there is none, their table becomes an era of this filter.
//
// Promises   never denies a key that was built from or inserted and not erased as often as that. Growing changes no
//            answer. address() of a digest never changes. Same operations, same bytes. An insert that returns false has
//            changed no answer; it does so only when the first table is used up and eras is false, when all 2^32 places
//            are used, or when there is no memory. No insertion repacks more than 16 buckets or copies more than
//            the 32nd part of the table.
// Does not   count copies of a key beyond seven; notice that a key which was never inserted is erased, if it takes it
//            for one; shrink: what erasures free is used by later insertions.
// Cost       query and erase: two cache lines, independent of each other, after two reads of a small directory. Insert:
//            the same, at load 0.90, and a split every 3.6 insertions.
// Source     linear hashing (W. Litwin, 1980) over cuckoo filters (B. Fan et al., 2014); the idea of moving bits from
//            fingerprints to addresses: InfiniFilter (N. Dayan et al., 2023), Taffy filters (J. Apple, 2022). Fixed
//            total width, splitting bucket by bucket and longest-first erasure over eras are our own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/cuckoo/detail/split_table.hpp"

namespace naysay {

template <class Access>
class BasicGrowingCuckoo {
 public:
  using Table = cuckoo::detail::SplitTable<Access>;

  struct Params {
    double bits_per_key = 18;  // 16-bit slots; 12-bit slots and a rate of 0.18 % at 16 times the keys
    double growth = 16;
    bool eras = true;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("growth", self.growth);
      visit("eras", self.eras);
    }
  };

  static constexpr Claims kClaims = {
      .about = "keys can be inserted and erased without a fixed capacity; it grows and no answer changes",
      .fixed_bits = 6144,  // spare slots, spare words of the blocks, the fields
      .most_arrays = 80,   // 33 blocks in each of two layers
  };

  static constexpr double kLoad = 0.90;

  // Of a table that reaches the rate after it has grown that much: no more at any size, because slots are whole bits.
  static double bits_per_key(double fpr) { return bits_per_key(fpr, Params{}.growth); }
  static double bits_per_key(double fpr, double growth) {
    const double width = std::log2(2 * cuckoo::detail::kSlots * kLoad * growth / -std::log1p(-fpr));
    // No tag is 0, and tags are as long as a slot is in the end.
    const double tag = std::max<double>(width - std::log2(growth) - 1, kMinTagBits);
    return std::max(width - std::log2(1 - std::exp2(-tag)) + 1, kMinTagBits + std::log2(growth) + 1) / kLoad;
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<BasicGrowingCuckoo> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    using namespace cuckoo::detail;
    if (!(p.growth >= 1 && p.growth <= 1e9))
      return Error{Errc::invalid_argument, "growing-cuckoo: growth is " + to_text(p.growth) + "; it must be 1 to 1e9"};
    const double planned = static_cast<double>(o.room(w)) * p.growth;
    if (planned > 1.5e10)
      return Error{Errc::invalid_argument, "growing-cuckoo: " + to_text(o.room(w)) + " keys that grow " +
                                               to_text(p.growth) + "-fold are " + to_text(planned) +
                                               "; at most 1.5e10 can be told apart"};
    const std::uint64_t buckets = buckets_for(o.room(w));
    const auto most = std::max(buckets, buckets_for(static_cast<std::uint64_t>(std::ceil(planned))));
    const auto place_bits = static_cast<unsigned>(std::bit_width(most - 1));
    // The most bits of a digest that the budget pays for. What small tables have spare is free of charge.
    const auto level = static_cast<unsigned>(std::bit_width(buckets - 1) - 1);
    const std::uint64_t budget = budget_bits(p.bits_per_key, o.room(w)) + kFreeBits;
    unsigned tag_bits = 0;
    for (unsigned g = kMinTagBits; g <= kMaxTagBits && place_bits - level + g <= kMaxWidth; ++g)
      if (Table::bits_for(paid_buckets(o.room(w)), place_bits + g) <= budget) tag_bits = g;
    if (tag_bits == 0)
      return Error{Errc::out_of_budget, "growing-cuckoo: bits_per_key is " + to_text(p.bits_per_key) + "; to grow " +
                                            to_text(p.growth) + "-fold it needs " +
                                            to_text(std::ceil((place_bits - level + kMinTagBits) / kLoad * 10) / 10)};
    BasicGrowingCuckoo f;
    f.bits_per_key_ = p.bits_per_key;
    f.growth_ = p.growth;
    f.opens_eras_ = p.eras;
    f.address_bits_ = place_bits;
    f.eras_.reserve(kMaxEras);
    if (!f.eras_.emplace_back().start(buckets, place_bits, tag_bits, mix64(o.seed + 1))) return no_memory();
    f.era_count_ = 1;
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0 && !o.tell("growing-cuckoo: placing fingerprints", i, w.keys.size()))
        return cancelled_error("growing-cuckoo");
      if (i + kAhead < w.keys.size()) f.probe(w.keys[i + kAhead]);
      if (!f.insert(w.keys[i]))
        return Error{Errc::build_failed, "growing-cuckoo: no room for key " + to_text(std::uint64_t{i}) + " of " +
                                             to_text(std::uint64_t{w.keys.size()}) + "; more growth would help"};
    }
    return f;
  }

  bool insert(Digest d) noexcept {
    using Put = typename Table::Put;
    const auto a = address(d, 0);
    if (newest().count() + 1 > room_of(newest()) && !grow()) return false;
    for (unsigned forced = 0;; ++forced) {
      switch (newest().insert(a)) {
        case Put::done:
        case Put::copied:
          return true;
        case Put::full:
          break;
      }
      // Hardly ever at this load: only in tables of a few buckets, or where many copies meet.
      if (forced == kMaxForced || !grow()) return forced == kMaxForced && open_era() && newest().insert(a) != Put::full;
    }
  }

  bool erase(Digest d) noexcept {
    const auto a = address(d, 0);
    for (std::size_t i = eras_.size(); i-- > 0;)
      if (eras_[i].erase(a)) {
        if (!Access::kShared && eras_[i].count() == 0 && i + 1 < eras_.size()) drop(i);
        return true;
      }
    return false;
  }

  struct Probe {
    cuckoo::detail::Address at;
  };
  Probe probe(Digest d) const noexcept {
    const Probe p{address(d, 0)};
    const std::uint64_t n = Access::kShared ? Access::load(era_count_) : eras_.size();
    for (std::uint64_t i = 0; i < n; ++i) eras_.data()[i].prefetch(p.at);
    return p;
  }
  bool test(Probe p) const noexcept {
    if constexpr (Access::kShared) {
      for (std::uint64_t i = Access::load(era_count_); i-- > 0;)
        if (eras_.data()[i].may_contain(p.at)) return true;
      return false;
    }
    if (newest().may_contain(p.at)) return true;
    return eras_.size() != 1 && older_may_contain(p);
  }
  bool may_contain(Digest d) const noexcept { return test({address(d, 0)}); }

  // The same for exactly those digests that the first era could not tell apart, whatever has become of it.
  std::uint64_t address(Digest d) const noexcept {
    const auto a = address(d, 0);
    const std::uint64_t mask = low_mask(address_bits_), first = a.place & mask, second = (a.place ^ a.hop) & mask;
    return (std::uint64_t{a.tag} << 32) | std::min(first, second);
  }

  // Keys that it holds without growing, and that the newest era can hold in the end.
  std::uint64_t capacity() const noexcept { return keys() - newest().count() + room_of(newest()); }
  std::uint64_t planned_capacity() const noexcept {
    return keys() - newest().count() + room_for(newest().most_buckets());
  }
  // Entries, of which a key has one for each copy up to eight.
  std::uint64_t keys() const noexcept {
    std::uint64_t n = 0;
    for (const Table& era : eras_) n += era.count();
    return n;
  }
  std::size_t eras() const noexcept { return eras_.size(); }
  const Table& era(std::size_t i) const noexcept { return eras_[i]; }
  Params params() const noexcept { return {.bits_per_key = bits_per_key_, .growth = growth_, .eras = opens_eras_}; }
  // Calls body(access) for each era.
  template <class Body>
  void for_each_access(Body&& body) {
    for (Table& era : eras_) body(era.access());
  }
  double load() const noexcept { return static_cast<double>(newest().count()) / static_cast<double>(newest().slots()); }

  // Pays the splits for n keys in all ahead of time. False if they cannot be had; some may have been.
  bool reserve(std::uint64_t n) noexcept {
    while (capacity() < n)
      if (!grow()) return false;
    return true;
  }
  // Begins again with all the keys, at a new W: the way back to one era, and to a lower rate. Answers on strangers are
  // drawn again. An error leaves the filter as it was.
  Result<Ok> renew(std::span<const Digest> all_keys, std::uint64_t new_capacity = 0, std::uint64_t seed = 0) {
    auto again = build({.keys = all_keys}, {.bits_per_key = bits_per_key_, .growth = growth_, .eras = opens_eras_},
                       {.capacity = new_capacity, .seed = seed});
    if (!again) return std::move(again).error();
    *this = std::move(*again);
    return Ok{};
  }

  // As if the other's keys had been inserted; copies beyond seven are not counted. An error leaves the filter as it was.
  Result<Ok> merge(const BasicGrowingCuckoo& other) requires(!Access::kShared) {
    const auto wrong = [](const char* what) { return Error{Errc::invalid_argument, std::string(what)}; };
    if (other.eras_[0].tag_bits() != eras_[0].tag_bits() || other.eras_[0].seed() != eras_[0].seed())
      return wrong(
          "growing-cuckoo: the other filter sees other bits of a key; filters that are merged must have been "
          "built with the same bits_per_key, capacity and growth");
    if (other.eras_[0].place_bits() < address_bits_)
      return wrong("growing-cuckoo: the other filter was planned for fewer keys; merge this one into it instead");
    NAYSAY_TRY(BasicGrowingCuckoo merged, copy_of(*this));
    for (const Table& era : other.eras_) {
      bool taken = era.count() == 0;
      for (std::size_t i = merged.eras_.size(); i-- > 0 && !taken;) taken = takes_entries(merged.eras_[i], era);
      if (taken) continue;
      if (!opens_eras_ || merged.eras_.size() == kMaxEras)
        return Error{Errc::out_of_budget,
                     "growing-cuckoo: the table has no room for the other's keys, and there can be no "
                     "table more; build it again with more growth"};
      const auto at = std::find_if(merged.eras_.begin(), merged.eras_.end(),
                                   [&](const Table& mine) { return mine.place_bits() > era.place_bits(); });
      if (!merged.eras_.emplace(at)->copy_from(era)) return no_memory();
    }
    merged.era_count_ = merged.eras_.size();
    *this = std::move(merged);
    return Ok{};
  }

  // The same filter in words of its own, for another way of access.
  template <class OtherAccess>
  static Result<BasicGrowingCuckoo> copy_of(const BasicGrowingCuckoo<OtherAccess>& other) {
    BasicGrowingCuckoo f;
    f.bits_per_key_ = other.bits_per_key_;
    f.growth_ = other.growth_;
    f.opens_eras_ = other.opens_eras_;
    f.address_bits_ = other.address_bits_;
    f.eras_.reserve(kMaxEras);
    for (const auto& era : other.eras_)
      if (!f.eras_.emplace_back().copy_from(era)) return no_memory();
    f.era_count_ = f.eras_.size();
    return f;
  }

  // Of distinct keys; copies make it a little less.
  double expected_fpr() const noexcept {
    double mean = 0;
    for (const Table& era : eras_) mean += static_cast<double>(era.count()) * each(era);
    return -std::expm1(-mean);
  }
  // At planned_capacity().
  double planned_fpr() const noexcept {
    double mean = static_cast<double>(room_for(newest().most_buckets())) * each(newest());
    for (std::size_t i = 0; i + 1 < eras_.size(); ++i) mean += static_cast<double>(eras_[i].count()) * each(eras_[i]);
    return -std::expm1(-mean);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("bits_per_key", self.bits_per_key_);
    visit("growth", self.growth_);
    visit("opens_eras", self.opens_eras_);
    visit("address_bits", self.address_bits_);
    visit("eras", self.eras_);
  }
  Result<Ok> validate() const {
    const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, "growing-cuckoo: " + what}; };
    if (eras_.empty() || eras_.size() > kMaxEras)
      return wrong("it has " + to_text(std::uint64_t{eras_.size()}) + " eras; it must have 1 to 8");
    if (address_bits_ < 1 || address_bits_ > eras_[0].place_bits())
      return wrong("addresses have " + to_text(address_bits_) + " bits; its first era has " +
                   to_text(eras_[0].place_bits()));
    for (std::size_t i = 0; i < eras_.size(); ++i) {
      if (auto ok = eras_[i].validate(); !ok) return ok;
      if (i > 0 && (eras_[i].tag_bits() != eras_[0].tag_bits() || eras_[i].seed() != eras_[0].seed() ||
                    eras_[i].place_bits() < eras_[i - 1].place_bits()))
        return wrong("era " + to_text(std::uint64_t{i}) + " is not nested in the one before");
    }
    return Ok{};
  }

 private:
  template <class OtherAccess>
  friend class BasicGrowingCuckoo;

  static constexpr std::size_t kMaxEras = 8;
  static constexpr unsigned kMinTagBits = cuckoo::detail::kMinTagBits;
  static constexpr std::uint64_t kSpareSlots = 16;  // small tables are uneven
  static constexpr std::uint64_t kFreeBits = 512;
  static constexpr unsigned kMaxForced = 64;
  static constexpr unsigned kFirstBuckets = 16;  // of an era that is opened later

  static Error no_memory() { return out_of_memory("growing-cuckoo"); }

  static std::uint64_t buckets_for(std::uint64_t keys) noexcept {
    return std::max<std::uint64_t>(
        2, divide_up(static_cast<std::uint64_t>(std::ceil(static_cast<double>(keys) / kLoad)) + kSpareSlots,
                     cuckoo::detail::kSlots));
  }
  static std::uint64_t paid_buckets(std::uint64_t keys) noexcept {
    return std::max<std::uint64_t>(
        2,
        divide_up(static_cast<std::uint64_t>(std::ceil(static_cast<double>(std::max<std::uint64_t>(keys, 1)) / kLoad)),
                  cuckoo::detail::kSlots));
  }
  static std::uint64_t room_for(std::uint64_t buckets) noexcept {
    const std::uint64_t slots = buckets * cuckoo::detail::kSlots;
    return slots <= kSpareSlots ? 0 : static_cast<std::uint64_t>(static_cast<double>(slots - kSpareSlots) * kLoad);
  }
  static std::uint64_t room_of(const Table& era) noexcept { return room_for(era.buckets()); }
  // The chance that one entry accepts a stranger.
  static double each(const Table& era) noexcept {
    return 2 / (std::exp2(era.place_bits()) * static_cast<double>(low_mask(era.tag_bits())));
  }

  [[gnu::noinline]] bool older_may_contain(Probe p) const noexcept {
    for (std::size_t i = 0; i + 1 < eras_.size(); ++i)
      if (eras_[i].may_contain(p.at)) return true;
    return false;
  }

  Table& newest() noexcept { return eras_.back(); }
  const Table& newest() const noexcept { return eras_.back(); }
  cuckoo::detail::Address address(Digest d, int) const noexcept {
    return cuckoo::detail::address_of(d, eras_.data()->tag_bits(), eras_.data()->seed());
  }

  bool grow() noexcept {
    if (newest().used_up() && !open_era()) return false;
    return newest().split();
  }
  // As many times larger than the last as that was planned to grow, with slots of at most kMaxWidth bits.
  bool open_era() noexcept {
    using namespace cuckoo::detail;
    if (!opens_eras_ || eras_.size() >= kMaxEras || newest().place_bits() >= kMaxPlaceBits) return false;
    if (!reserve_for(eras_, kMaxEras)) return false;  // a filter that was loaded has room for its own only
    const Table& last = newest();
    const auto more = static_cast<unsigned>(std::max(1.0, std::ceil(std::log2(growth_))));
    const unsigned place_bits = std::min(kMaxPlaceBits, last.place_bits() + more);
    const unsigned total = place_bits + last.tag_bits();
    const unsigned level = total > kMaxWidth ? total - kMaxWidth : 0;
    const std::uint64_t buckets = std::min(std::uint64_t{1} << place_bits,
                                           std::max<std::uint64_t>(kFirstBuckets, (std::uint64_t{1} << level) + 1));
    Table next;
    if (!next.start(buckets, place_bits, last.tag_bits(), last.seed())) return false;
    eras_.push_back(std::move(next));
    if constexpr (Access::kShared) Access::store(era_count_, eras_.size());
    return true;
  }
  // Puts the entries of another table into this one. False if they do not all fit; nothing has changed then.
  static bool takes_entries(Table& era, const Table& other) {
    const std::uint64_t all = era.count() + other.count();
    if (other.place_bits() < era.place_bits() || all > room_for(era.most_buckets())) return false;
    Table grown;
    if (!grown.copy_from(era)) return false;
    bool fits = true;
    while (fits && room_of(grown) < all) fits = !grown.used_up() && grown.split();
    other.for_each_entry([&](std::uint64_t, unsigned, std::uint64_t side) {
      fits = fits && grown.insert(other.address_at(side)) != Table::Put::full;
    });
    if (fits) era = std::move(grown);
    return fits;
  }
  void drop(std::size_t i) noexcept { eras_.erase(eras_.begin() + static_cast<std::ptrdiff_t>(i)); }

  std::vector<Table> eras_;
  std::uint64_t era_count_ = 0;  // as readers next to a writer see it
  double bits_per_key_ = 0;
  double growth_ = 1;
  std::uint32_t address_bits_ = 0;
  bool opens_eras_ = true;
};

using GrowingCuckoo = BasicGrowingCuckoo<cuckoo::detail::Alone>;

static_assert(ErasableFilter<GrowingCuckoo> && TunableFilter<GrowingCuckoo> && ProbedFilter<GrowingCuckoo> &&
              AddressedFilter<GrowingCuckoo>);

}  // namespace naysay
