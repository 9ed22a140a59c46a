// Stacked<Base>: filters of keys and filters of known negatives in turn, each holding only what the ones above it got
// wrong.
//
//   layer      1          2          3
//           +------+   +------+   +------+
//   holds   | keys |-->| negs |-->| keys |-->  maybe         keys of layer 3: those that layer 2 takes for negatives
//           +------+   +------+   +------+                   negatives of layer 2: those that layer 1 takes for keys
//   refusal    no  <-+  maybe <-+    no  <-+
//
// A key is in every layer of keys that it reaches, so none refuses it; a known negative is in every layer of negatives
// that it reaches, so none lets it out before all layers of keys have erred.
//
//   paper        here
//   L_1, L_i     first_, rest_[i - 2]
//   S_P, S_Nk    Workload::keys, the costliest of ::negatives
//   T_L          at most Params::layers; stacked::plan_stack chooses
//   psi          1 - Workload::stranger_share, times the cost share of the negatives stored
//   x at L_i     layer_digest(x, i): layers must err independently, and one digest in all of them does not
//
// A base is asked for its price (bits_per_key, params_for), never for its type. After every layer the rest of the stack
// is planned again from what really passed, so the bits are used up and never exceeded.
//
// With capacity beyond the keys, negatives are stored whether or not layer 1 accepts them yet: a later key may make it
// do so. That takes more bits per negative, and three layers at most.
//
// Promises   never denies a key it was built from or given by insert; by the tuner's formulas never a higher weighted
//            rate than its base with the same bits, because one layer is always tried.
// Does not   take new negatives: that could send a key to a layer it is not in. Insert raises the rates of the layers
//            of keys as it does in the base. A base that cannot erase must never refuse an insert, as Bloom does not:
//            it could not be undone.
// Cost       build: one query per negative, two operations per key, and a few milliseconds of planning. Query: the base
//            for a negative; for a key one more query, of a layer that is small enough for the cache.
// Source     Deeds, 2020, chapter 2, Algorithms 1 to 4.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "naysay/core/filter.hpp"
#include "naysay/core/detail/parallel.hpp"
#include "naysay/stacked/stacked_rates.hpp"
#include "naysay/stacked/stacked_plan.hpp"

namespace naysay {

// The digest by which layer `layer` (from 0) of a stack knows a key.
inline Digest layer_digest(Digest d, std::uint64_t layer) noexcept {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32;  // away from the nth_hash values that a base uses
  return layer == 0 ? d : Digest{nth_hash(d, kFar + 2 * layer), nth_hash(d, kFar + 2 * layer + 1)};
}

namespace stacked {
// The price list of a base, made once.
template <TunableFilter Base>
const PriceList& price_list() {
  static const PriceList list([](double fpr) { return Base::bits_per_key(fpr); });
  return list;
}

// What a layer of this base takes beside the price of its keys: some bits, and some more keys at that price.
struct LayerExtra {
  double bits = 0, keys = 0;

  double at(double price) const noexcept { return bits + keys * price; }
};

// Measured once, on layers of three sizes at three rates.
template <TunableFilter Base>
const LayerExtra& layer_extra() {
  static const LayerExtra extra = [] {
    static constexpr std::array<std::size_t, 3> kSizes = {64, 1024, 16384};
    static constexpr std::array<double, 3> kRates = {0.1, 1e-3, 1e-5};
    std::vector<Digest> keys(kSizes.back());
    for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = digest(i);
    const auto price = [](std::size_t rate) { return Base::bits_per_key(kRates[rate]); };
    double more[kSizes.size()][kRates.size()];
    for (std::size_t size = 0; size < kSizes.size(); ++size)
      for (std::size_t rate = 0; rate < kRates.size(); ++rate) {
        const auto layer = Base::build({.keys = std::span(keys).first(kSizes[size])}, Base::params_for(kRates[rate]));
        const double bits = layer ? static_cast<double>(layer->size_bits()) : 0;
        more[size][rate] = bits - static_cast<double>(kSizes[size]) * price(rate);
      }
    LayerExtra e;
    e.keys = std::max(0.0, (more[2][2] - more[2][0]) / (price(2) - price(0)));
    for (const auto& of_size : more)
      for (std::size_t rate = 0; rate < kRates.size(); ++rate)
        e.bits = std::max(e.bits, of_size[rate] - e.keys * price(rate));
    return e;
  }();
  return extra;
}
}  // namespace stacked

template <TunableFilter Base, std::size_t kMostLayers = stacked::kMaxLayers>
class Stacked {
  static_assert(kMostLayers % 2 == 1 && kMostLayers <= stacked::kMaxLayers);

 public:
  struct Params {
    double bits_per_key = typename Base::Params{}.bits_per_key;
    std::uint32_t layers = kMostLayers;  // at most; odd
    double wfpr = 0;                     // 0: the lowest for the bits; else the fewest bits that reach it
    double max_fpr = 0;                  // for strangers, the worst case; 0: no bound
    double max_fpr_times = 0;  // the same, as a multiple (1 or more) of one layer's of these bits; 0: no bound
    double known = 0;          // the part of the negatives to store, costliest first; 0: the best

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("layers", self.layers);
      visit("wfpr", self.wfpr);
      visit("max_fpr", self.max_fpr);
      visit("max_fpr_times", self.max_fpr_times);
      visit("known", self.known);
    }
  };

  static constexpr Claims kClaims = {
      .about = "layers of keys and of costly negatives in turn: lower weighted rate than its base, for skewed costs",
      .uses_negatives = true,
      .fpr_model_error = Base::kClaims.fpr_model_error,
      .fixed_bits = Base::kClaims.fixed_bits,
  };

  // The base's own: strangers alone give a stack nothing to work with.
  static double bits_per_key(double fpr) { return Base::bits_per_key(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Stacked> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.layers % 2 == 0 || p.layers > kMostLayers)
      return Error{Errc::invalid_argument, "stacked: layers is " + std::to_string(p.layers) +
                                               "; it must be odd and at most " + std::to_string(kMostLayers)};
    for (auto [name, value] : {std::pair{"wfpr", p.wfpr}, {"max_fpr", p.max_fpr}, {"known", p.known}})
      if (!(value >= 0 && value <= 1))
        return Error{Errc::invalid_argument,
                     std::string("stacked: ") + name + " is " + to_text(value) + "; it must be in [0, 1]"};
    if (p.max_fpr_times != 0 && !(p.max_fpr_times >= 1))
      return Error{Errc::invalid_argument,
                   "stacked: max_fpr_times is " + to_text(p.max_fpr_times) + "; it must be 0 or at least 1"};
    return Builder(w, p, o).build();
  }

  bool may_contain(Digest d) const noexcept { return first_.may_contain(d) && (rest_.empty() || deeper(d)); }

  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    for (std::size_t at = 0; at < keys.size(); at += kBatch) {
      const auto part = keys.subspan(at, std::min(kBatch, keys.size() - at));
      naysay::may_contain(first_, part, out + at);
      if (!rest_.empty()) deeper(part, out + at);
    }
  }

  // Algorithm 3.
  bool insert(Digest d) noexcept requires DynamicFilter<Base> {
    if (!first_.insert(d)) return false;
    for (std::size_t i = 0; i < rest_.size(); i += 2) {
      if (!rest_[i].may_contain(layer_digest(d, i + 1))) break;
      if (rest_[i + 1].insert(layer_digest(d, i + 2))) continue;
      if constexpr (ErasableFilter<Base>) {
        first_.erase(d);
        for (std::size_t j = 0; j < i; j += 2) rest_[j + 1].erase(layer_digest(d, j + 2));
      }
      return false;
    }
    return true;
  }

  // Algorithm 4. What may_contain() accepts is in every layer of keys that it reaches.
  bool erase(Digest d) noexcept requires ErasableFilter<Base> {
    if (!may_contain(d)) return false;
    bool erased = first_.erase(d);
    for (std::size_t i = 0; i < rest_.size() && rest_[i].may_contain(layer_digest(d, i + 1)); i += 2)
      erased &= rest_[i + 1].erase(layer_digest(d, i + 2));
    return erased;
  }

  double expected_fpr() const noexcept {
    std::array<double, kMostLayers> rates;
    rates[0] = first_.expected_fpr();
    for (std::size_t i = 0; i < rest_.size(); ++i) rates[i + 1] = rest_[i].expected_fpr();
    return stacked::stranger({rates.data(), layers()});
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }
  std::size_t layers() const noexcept { return 1 + rest_.size(); }
  const Base& layer(std::size_t i) const noexcept { return i == 0 ? first_ : rest_[i - 1]; }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("first", self.first_);
    visit("rest", self.rest_);
  }
  Result<Ok> validate() const {
    if (rest_.size() % 2 != 0 || rest_.size() >= kMostLayers)
      return Error{Errc::corrupt, "stacked: " + std::to_string(layers()) +
                                      " layers; the number must be odd and at most " + std::to_string(kMostLayers)};
    if (auto ok = first_.validate(); !ok) return ok;
    for (const Base& layer : rest_)
      if (auto ok = layer.validate(); !ok) return ok;
    return Ok{};
  }

 private:
  static constexpr std::size_t kBatch = 256;  // digests, indices and answers of a batch stay in the first-level cache

  // For what layer 1 accepts (Algorithm 2).
  bool deeper(Digest d) const noexcept {
    for (std::size_t i = 0; i < rest_.size(); ++i)
      if (!rest_[i].may_contain(layer_digest(d, i + 1))) return i % 2 == 0;
    return true;
  }

  // The same for a batch of at most kBatch; out holds the answers of layer 1.
  void deeper(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    std::array<std::uint16_t, kBatch> open;
    std::array<Digest, kBatch> digests;
    std::array<std::uint8_t, kBatch> answers;
    std::size_t n = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      open[n] = static_cast<std::uint16_t>(i);
      n += out[i];
    }
    for (std::size_t i = 0; i < rest_.size() && n != 0; ++i) {
      for (std::size_t j = 0; j < n; ++j) digests[j] = layer_digest(keys[open[j]], i + 1);
      naysay::may_contain(rest_[i], {digests.data(), n}, answers.data());
      std::size_t left = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const std::uint16_t at = open[j];
        out[at] = answers[j] | (i % 2 == 0);
        open[left] = at;
        left += answers[j];
      }
      n = left;
    }
  }

  // Algorithm 1, planned again after every layer.
  class Builder;

  Base first_;
  std::vector<Base> rest_;
};

// Follows a query down the stack as it grows: what part of the queries comes this far, and what was accepted on the
// way.
template <TunableFilter Base, std::size_t kMostLayers>
class Stacked<Base, kMostLayers>::Builder {
 public:
  Builder(const Workload& w, const Params& p, const BuildOptions& o)
      : w_(w), p_(p), o_(o), room_(DynamicFilter<Base> ? o.room(w) : w.keys.size()), grows_(room_ > w.keys.size()) {
    if (p.max_fpr > 0) bound_ = p.max_fpr;
    if (p.max_fpr_times > 0) bound_ = std::min(bound_, p.max_fpr_times * prices_.rate_for(p.bits_per_key));
  }

  Result<Stacked> build() {
    const CostCurve curve = CostCurve::of(w_.costs, w_.negatives.size(), o_.threads);
    const double share = curve.weight() > 0 ? 1 - w_.stranger_share : 0;  // of the queries, about these negatives
    cost_scale_ = share > 0 ? share / curve.weight() : 0;
    // The second attempt leaves every layer all that its base may take beside its price.
    for (double more_bits : {0.0, static_cast<double>(Base::kClaims.fixed_bits)}) {
      extra_.bits += more_bits;
      // What the base would get: its price and what one layer takes beside it.
      here_ = {.bits = static_cast<double>(budget_bits(p_.bits_per_key, room_)) +
                       std::min(extra_.at(p_.bits_per_key), static_cast<double>(kClaims.fixed_bits)),
               .layers = grows_ ? std::min<std::size_t>(p_.layers, 3) : p_.layers,
               .others = std::max(1 - share, stacked::kLeastStrangers)};
      stacked::KnownList known(curve, share);
      if (p_.known > 0 && share > 0) {
        const double x = std::max(1.0, p_.known * curve.count());
        known = stacked::KnownList(x, cost_scale_ * curve.weight(x));
        here_.others += share - known.weight();
      }
      const stacked::StackPlan plan = stacked::plan_stack(prices_, known, problem(static_cast<double>(room_), false));
      if (!plan.found && (p_.wfpr > 0 || p_.max_fpr > 0))
        return Error{Errc::out_of_budget, "stacked: no stack of " + to_text(p_.bits_per_key) +
                                              " bits per key has wfpr " + to_text(p_.wfpr) + " and max_fpr " +
                                              to_text(p_.max_fpr) + " (0: any); allow more bits or higher rates"};
      if (plan.rates.size() <= 1) break;
      here_.layers = plan.rates.size();
      here_.others += known.weight() - cost_scale_ * curve.weight(plan.known);
      if (auto f = stack(plan.rates[0], curve.cut(plan.known)); f) return f;
    }
    // A layer that could not be made ends the attempt: one layer is always a filter.
    return one_layer();
  }

 private:
  struct Sifted {
    std::vector<Digest> digests;
    std::vector<float> costs;  // none: 1 each
  };

  Result<Stacked> one_layer() const {
    typename Base::Params params{};
    params.bits_per_key = p_.bits_per_key;
    if (p_.wfpr > 0) {
      params = Base::params_for(std::min(p_.wfpr, bound_));
      if (params.bits_per_key > p_.bits_per_key)
        return Error{Errc::out_of_budget, "stacked: wfpr " + to_text(p_.wfpr) + " takes " +
                                              to_text(double{params.bits_per_key}) + " bits per key in one layer; " +
                                              to_text(p_.bits_per_key) + " are allowed"};
    }
    auto first = Base::build({.keys = w_.keys}, params, layer_options(static_cast<double>(room_)));
    if (!first) return std::move(first).error();
    Stacked f;
    f.first_ = std::move(*first);
    tell(f, 0, f.first_.expected_fpr());
    return f;
  }

  Result<Stacked> stack(double first_rate, CostCurve::Cut cut) {
    Stacked f;
    auto first = Base::build({.keys = w_.keys}, Base::params_for(first_rate), layer_options(static_cast<double>(room_)));
    if (!first) return std::move(first).error();
    f.first_ = std::move(*first);
    passed_keys_layer(f.first_, first_rate);

    Sifted known = sift(grows_ ? nullptr : &f.first_, 0, w_.negatives, w_.costs, cut);
    const std::size_t keys_among = drop_keys_and_repeats(known);
    Sifted keys;
    std::span<const Digest> keys_here = w_.keys;
    std::size_t stored = 0;
    double known_weight = 0;  // of the stored ones that come this far
    while (!known.digests.empty()) {
      const Passage before = here_;
      const double weight_before = known_weight;
      // The costliest negatives that are left.
      const CostCurve curve = CostCurve::of(known.costs, known.digests.size());
      const double room_here = f.rest_.empty() ? static_cast<double>(room_) : static_cast<double>(keys_here.size());
      stacked::StackPlan plan =
          stacked::plan_stack(prices_, stacked::KnownList(curve, cost_scale_ * curve.weight()), problem(room_here, true));
      if (!plan.found && !f.rest_.empty()) break;  // the stack may end after any layer of keys
      if (!plan.found) return no_bits_left(f);
      if (plan.known < curve.count()) known = sift(nullptr, 0, known.digests, known.costs, curve.cut(plan.known));
      known_weight = cost_scale_ * CostCurve::of(known.costs, known.digests.size()).weight();
      here_.others += cost_scale_ * curve.weight() - known_weight;
      stored = std::max(stored, known.digests.size());
      if (auto ok = add_layer(f, known.digests, 0, Base::params_for(plan.rates[0])); !ok) return std::move(ok).error();
      const double rate = f.rest_.back().expected_fpr();
      passed_negatives_layer(f.rest_.back(), rate);

      // The keys that this layer takes for negatives, those that are still to come included.
      keys = sift(&f.rest_.back(), f.rest_.size(), keys_here, {}, {});
      keys_here = keys.digests;
      const double later = static_cast<double>(room_ - w_.keys.size()) * rate;
      const double room = static_cast<double>(keys_here.size()) + later + 5 * std::sqrt(later);
      plan = stacked::plan_stack(prices_, stacked::KnownList(static_cast<double>(known.digests.size()), known_weight),
                              problem(room, false));
      if (!plan.found && f.rest_.size() > 2) {  // then the stack ends above these negatives
        f.rest_.pop_back();
        here_ = before;
        known_weight = weight_before;
        break;
      }
      if (!plan.found) return no_bits_left(f);
      const bool last = plan.rates.size() == 1;
      typename Base::Params params = Base::params_for(plan.rates[0]);
      if (last && p_.wfpr == 0) {  // all that is left
        const double all = (here_.bits - extra_.bits) / (std::max(room, 1.0) + extra_.keys);
        params = {};
        params.bits_per_key = std::min(all, prices_[prices_.size() - 1].bits);
      }
      if (auto ok = add_layer(f, keys_here, room, params); !ok) return std::move(ok).error();
      passed_keys_layer(f.rest_.back(), plan.rates[0]);
      if (last) {
        known_weight *= grows_ ? first_rate * plan.rates[0] : f.rest_.back().expected_fpr();
        break;
      }
      known = sift(&f.rest_.back(), f.rest_.size(), known.digests, known.costs, {});
      known_weight = cost_scale_ * CostCurve::of(known.costs, known.digests.size()).weight();
    }
    tell(f, stored, here_.accepted_weight + here_.others + known_weight);
    o_.say("negatives that are keys", static_cast<double>(keys_among));
    return f;
  }

  // What remains to be planned from here on.
  stacked::StackProblem problem(double keys, bool negatives_next) const noexcept {
    return {.keys = std::max(keys, 1.0),
            .bits = here_.bits,
            .layer_bits = extra_.bits,
            .layer_keys = extra_.keys,
            .strangers = here_.others,
            .spare = kSpare,
            .wfpr = p_.wfpr > 0 ? std::max(p_.wfpr - here_.accepted_weight, 1e-300) : 0,
            .max_stranger = bound_ < 1 ? std::max(bound_ - here_.accepted, 0.0) / here_.reaches : 1,
            .layers = here_.layers,
            .negatives_next = negatives_next,
            .all_known_reach = grows_};
  }
  void passed_keys_layer(const Base& layer, double planned_rate) noexcept {
    const double rate = grows_ ? planned_rate : layer.expected_fpr();
    here_.bits -= static_cast<double>(layer.size_bits());
    here_.layers -= 1;
    here_.others *= rate;
    here_.reaches *= rate;
  }
  void passed_negatives_layer(const Base& layer, double rate) noexcept {
    here_.bits -= static_cast<double>(layer.size_bits());
    here_.layers -= 1;
    here_.accepted_weight += here_.others * (1 - rate);
    here_.others *= rate;
    here_.accepted += here_.reaches * (1 - rate);
    here_.reaches *= rate;
  }

  BuildOptions layer_options(double room) const {
    return {.capacity = grows_ ? static_cast<std::uint64_t>(std::ceil(room)) : 0,
            .seed = o_.seed,
            .threads = o_.threads,
            .progress = o_.progress};
  }

  Result<Ok> add_layer(Stacked& f, std::span<const Digest> members, double room,
                       const typename Base::Params& params) const {
    std::vector<Digest> digests(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) digests[i] = layer_digest(members[i], f.layers());
    auto layer = Base::build({.keys = digests}, params, layer_options(room));
    if (!layer) return std::move(layer).error();
    f.rest_.push_back(std::move(*layer));
    return Ok{};
  }

  static Error no_bits_left(const Stacked& f) {
    return {Errc::out_of_budget, "stacked: no bits are left for layer " + std::to_string(f.layers() + 1)};
  }

  void tell(const Stacked& f, std::size_t stored, double wfpr) const {
    o_.say("layers", static_cast<double>(f.layers()));
    o_.say("negatives stored", static_cast<double>(stored));
    o_.say("expected wfpr", wfpr);
  }

  // Those that the cut takes and the layer, if there is one, accepts; in their order.
  Sifted sift(const Base* layer, std::size_t index, std::span<const Digest> digests, std::span<const float> costs,
              CostCurve::Cut cut) const {
    constexpr std::size_t kPart = std::size_t{1} << 16;  // enough to keep a thread busy, few enough to share out
    std::vector<Sifted> parts(divide_up(digests.size(), kPart));
    parallel_for(parts.size(), o_.threads, [&](std::uint64_t part) {
      const std::size_t end = std::min<std::size_t>(digests.size(), (part + 1) * kPart);
      std::array<std::size_t, kBatch> taken;
      std::array<Digest, kBatch> asked;
      std::array<std::uint8_t, kBatch> answers;
      answers.fill(1);
      for (std::size_t i = part * kPart; i < end;) {
        std::size_t n = 0;
        for (; i < end && n < kBatch; ++i) {
          taken[n] = i;
          n += costs.empty() ? cut.takes(1, digests[i]) : cut.takes(costs[i], digests[i]);
        }
        if (layer) {
          for (std::size_t j = 0; j < n; ++j) asked[j] = layer_digest(digests[taken[j]], index);
          naysay::may_contain(*layer, {asked.data(), n}, answers.data());
        }
        for (std::size_t j = 0; j < n; ++j) {
          if (!answers[j]) continue;
          parts[part].digests.push_back(digests[taken[j]]);
          if (!costs.empty()) parts[part].costs.push_back(costs[taken[j]]);
        }
      }
    });
    Sifted all;
    std::size_t total = 0;
    for (const Sifted& part : parts) total += part.digests.size();
    all.digests.reserve(total);
    all.costs.reserve(costs.empty() ? 0 : total);
    for (Sifted& part : parts) {
      all.digests.insert(all.digests.end(), part.digests.begin(), part.digests.end());
      all.costs.insert(all.costs.end(), part.costs.begin(), part.costs.end());
      part = {};
    }
    return all;
  }

  // A negative that is a key would go through all layers, and one that repeats would be paid for twice. Returns how
  // many were keys.
  std::size_t drop_keys_and_repeats(Sifted& known) const {
    const std::size_t n = known.digests.size();
    if (n == 0) return 0;
    const std::uint64_t slots = std::bit_ceil(2 * n);
    std::vector<std::uint32_t> table(slots, 0);  // 1 + index, linear probing
    std::vector<std::uint8_t> drop(n, 0);
    const auto find = [&](Digest d) {
      std::uint64_t at = d.lo & (slots - 1);
      while (table[at] != 0 && known.digests[table[at] - 1] != d) at = (at + 1) & (slots - 1);
      return at;
    };
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t& slot = table[find(known.digests[i])];
      if (slot == 0) {
        slot = static_cast<std::uint32_t>(i + 1);
        continue;
      }
      drop[i] = 1;
      if (!known.costs.empty()) known.costs[slot - 1] += known.costs[i];
    }
    std::size_t keys = 0;
    for (const Digest& d : w_.keys)
      if (const std::uint32_t i = table[find(d)]; i != 0 && !drop[i - 1]) drop[i - 1] = 1, ++keys;
    std::size_t left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (drop[i]) continue;
      known.digests[left] = known.digests[i];
      if (!known.costs.empty()) known.costs[left] = known.costs[i];
      ++left;
    }
    known.digests.resize(left);
    if (!known.costs.empty()) known.costs.resize(left);
    return keys;
  }

  static constexpr double kSpare = 3;  // one layer in a thousand is smaller than the next plan would like

  const Workload& w_;
  const Params& p_;
  const BuildOptions& o_;
  const stacked::PriceList& prices_ = stacked::price_list<Base>();
  stacked::LayerExtra extra_ = stacked::layer_extra<Base>();
  std::uint64_t room_;  // keys that will be in
  bool grows_;          // beyond those there are now
  double bound_ = 1;    // on the rate of strangers

  double cost_scale_ = 0;  // cost to share of the queries
  struct Passage {
    double bits = 0;             // not yet spent
    std::size_t layers = 0;      // that may still be added
    double others = 1;           // weight of the queries that come this far, but for those about negatives to be stored
    double accepted_weight = 0;  // of such queries, accepted on the way
    double reaches = 1;          // part of the strangers that come this far
    double accepted = 0;         // and were accepted on the way
  } here_;
};

}  // namespace naysay
