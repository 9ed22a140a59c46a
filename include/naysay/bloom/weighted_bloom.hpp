// WeightedBloom: a Bloom filter that tests costly negatives with more hash functions. Who is costly is written in a
// list that the filter keeps, and the list's bits are part of the budget.
//
//   x --> h1 .. hk --> all set? -- no --> no
//                         |
//                        yes
//                         v
//   x --> list: bucket of four cells [fingerprint | more]  -- not found --> maybe
//                         |
//                       found
//                         v
//         hk+1 .. hk+more --> all set? -- no --> no, yes --> maybe
//
// The list is by fingerprint, so now and then a key or a stranger is taken for a listed negative. Inserting and asking
// read the same list, so such a key is set with as many functions as it will be asked for.
//
//   paper       here
//   k_e         k_ + more: more = log2(cost / mean cost of those not listed), rounded, at most 15. With equal chances
//   of being
//               a key that is Bruck's optimum: cost * 2^-k_e is the same for all.
//   cost list   list_; the costliest negatives, as many as lower the expected weighted rate (or as many as `listed`
//   says)
//
// Edge cases   a negative that is also a key may be listed; it is inserted as it is asked, and never denied. Equal
// costs, or
//              none above the mean: nobody is listed, and this is a Bloom filter. Copies of a negative share a cell.
//
// Promises   never denies a key it was built from or given by insert.
// Does not   refuse a listed negative for certain; know anything of strangers: their rate is Bloom's at the bits left.
// Cost       query: as Bloom, and one word of the list for who passes k bits. Build: as Bloom, and sorting the
// negatives. Source     Bruck, Gao and Jiang, Weighted Bloom Filter, ISIT 2006; with a cost list as in Xie et al., ICDE
// 2021, V-A.
#pragma once

#include <cmath>

#include "naysay/core/filter.hpp"
#include "naysay/bloom/bloom_rates.hpp"

namespace naysay {

class WeightedBloom {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t k = 0;       // of keys that are not listed; 0: the best for the bits left
    std::uint64_t listed = 0;  // how many negatives to list; 0: as many as pay

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
      visit("listed", self.listed);
    }
  };

  static constexpr Claims kClaims = {
      .about = "Bloom with more hash functions for a list of costly negatives; pays only if costs differ widely",
      .uses_negatives = true,
  };

  static Result<WeightedBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.k > kMaxK)
      return Error{Errc::invalid_argument,
                   "weighted-bloom: k is " + std::to_string(p.k) + "; it must be at most 64, or 0 for the best"};
    const std::uint64_t budget = budget_bits(p.bits_per_key, o.room(w));
    std::vector<std::uint64_t> order(w.negatives.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return w.cost(a) > w.cost(b); });

    Cut cut = p.listed == 0 ? best_cut(w, o, order, budget, p.k)
                            : cut_at(w, order, std::min<std::uint64_t>(p.listed, order.size()));
    if (cut.listed != 0 && kBucketBits * buckets_for(cut.listed) >= budget)
      return Error{Errc::out_of_budget, "weighted-bloom: a list of " + std::to_string(cut.listed) +
                                            " negatives takes " +
                                            std::to_string(kBucketBits * buckets_for(cut.listed)) + " bits of " +
                                            std::to_string(budget) + "; list fewer or give more bits"};
    WeightedBloom f;
    std::uint64_t dropped = 0;
    if (cut.listed != 0) f.list_ = Cells(kBucket * buckets_for(cut.listed), kCellBits);
    for (std::uint64_t i = 0; i < cut.listed; ++i)
      if (!f.list(w.negatives[order[i]], more_for(w.cost(order[i]), cut.mean))) ++dropped;
    f.bits_ = budget - kCellBits * f.list_.size();
    const double left = static_cast<double>(f.bits_) / static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    f.k_ = p.k != 0 ? p.k : bloom::best_k(left);
    f.words_ = Array<std::uint64_t>(words_for_bits(f.bits_));
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0) o.tell("weighted-bloom: setting bits", i, w.keys.size());
      f.insert(w.keys[i]);
    }
    o.say("negatives listed", static_cast<double>(cut.listed - dropped));
    o.say("negatives without room in their bucket", static_cast<double>(dropped));
    o.say("bits of the list", static_cast<double>(kCellBits * f.list_.size()));
    return f;
  }

  bool insert(Digest d) noexcept {
    const std::uint32_t k = k_ + more(d);
    for (std::uint32_t i = 0; i < k; ++i) set_bit(words_.mutable_data(), position(d, i));
    return true;
  }

  bool may_contain(Digest d) const noexcept {
    for (std::uint32_t i = 0; i < k_; ++i)
      if (!test_bit(words_.data(), position(d, i))) return false;
    if (list_.size() == 0) return true;
    const std::uint32_t k = k_ + more(d);
    for (std::uint32_t i = k_; i < k; ++i)
      if (!test_bit(words_.data(), position(d, i))) return false;
    return true;
  }

  // From the bits that are set. A stranger that is taken for a listed negative is tested like it.
  double expected_fpr() const noexcept {
    if (bits_ == 0) return 0;
    std::uint64_t set = 0;
    for (std::uint64_t word : words_) set += static_cast<std::uint64_t>(std::popcount(word));
    const double ones = static_cast<double>(set) / static_cast<double>(bits_);
    double spared = 0;
    for (std::uint64_t i = 0; i < list_.size(); ++i)
      spared += 1 - std::pow(ones, static_cast<double>(list_.get(i) & kMaxMore));
    const double places = static_cast<double>(std::max<std::uint64_t>(buckets(), 1)) * (1u << kFingerprintBits);
    return std::pow(ones, k_) * (1 - spared / places);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("bits", self.bits_);
    visit("k", self.k_);
    visit("words", self.words_);
    visit("list", self.list_);
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK)
      return Error{Errc::corrupt, "weighted-bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    if (auto ok = list_.validate(); !ok) return ok;
    if (list_.size() != 0 && (list_.width() != kCellBits || list_.size() % kBucket != 0))
      return Error{Errc::corrupt, "weighted-bloom: a list of " + std::to_string(list_.size()) + " cells of " +
                                      std::to_string(list_.width()) +
                                      " bits; it must be of whole buckets of 4 cells of 16 bits"};
    if (bits_ == 0 || words_.size() != words_for_bits(bits_))
      return Error{Errc::corrupt, "weighted-bloom: " + std::to_string(words_.size()) + " words do not hold " +
                                      std::to_string(bits_) + " bits"};
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;
  // A cell is 12 bits of fingerprint and 4 bits of more (0: the cell is empty); a bucket is four cells. 15 more
  // functions at half the bits set refuse all but 1 in 30,000.
  static constexpr unsigned kBucket = 4, kCellBits = 16, kMoreBits = 4, kFingerprintBits = kCellBits - kMoreBits;
  static constexpr std::uint32_t kMaxMore = (1u << kMoreBits) - 1;
  static constexpr std::uint64_t kBucketBits = kBucket * kCellBits;
  // Three listed per bucket of four: 10 % find no room, the cheapest of their buckets.
  static constexpr std::uint64_t kListedPerBucket = 3;
  static constexpr std::uint64_t kNthList = 1000;  // a function that no bit uses: k_ + more < 80

  static std::uint64_t buckets_for(std::uint64_t listed) noexcept { return divide_up(listed, kListedPerBucket); }
  std::uint64_t buckets() const noexcept { return list_.size() / kBucket; }

  std::uint64_t position(Digest d, std::uint32_t i) const noexcept { return fast_range(double_hash(d, i), bits_); }

  // How many more functions the list asks of d.
  std::uint32_t more(Digest d) const noexcept {
    if (list_.size() == 0) return 0;
    const std::uint64_t hash = nth_hash(d, kNthList), first = kBucket * fast_range(hash, buckets());
    const auto fingerprint = static_cast<std::uint32_t>(hash & low_mask(kFingerprintBits));
    for (std::uint64_t i = first; i < first + kBucket; ++i)
      if (const std::uint32_t c = list_.get(i); c >> kMoreBits == fingerprint && (c & kMaxMore) != 0)
        return c & kMaxMore;
    return 0;
  }

  // False if its bucket is full. Requires more >= 1.
  bool list(Digest d, std::uint32_t more) noexcept {
    if (this->more(d) != 0) return true;  // a costlier one has its fingerprint
    const std::uint64_t hash = nth_hash(d, kNthList), first = kBucket * fast_range(hash, buckets());
    const auto fingerprint = static_cast<std::uint32_t>(hash & low_mask(kFingerprintBits));
    for (std::uint64_t i = first; i < first + kBucket; ++i)
      if ((list_.get(i) & kMaxMore) == 0) {
        list_.set(i, fingerprint << kMoreBits | more);
        return true;
      }
    return false;
  }

  static std::uint32_t more_for(double cost, double mean) noexcept {
    const double ratio = mean > 0 ? cost / mean : static_cast<double>(1u << kMaxMore);
    return static_cast<std::uint32_t>(std::clamp(std::round(std::log2(std::max(ratio, 1.0))), 0.0, double{kMaxMore}));
  }

  struct Cut {
    std::uint64_t listed = 0;  // the first so many of the order
    double mean = 0;           // cost of the others
  };

  // The first `listed` of the order, less those that are too cheap to be asked for more.
  static Cut cut_at(const Workload& w, const std::vector<std::uint64_t>& order, std::uint64_t listed) {
    double rest = 0;
    for (std::size_t i = listed; i < order.size(); ++i) rest += w.cost(order[i]);
    Cut cut{listed, listed < order.size() ? rest / static_cast<double>(order.size() - listed) : 0.0};
    while (cut.listed > 0 &&
           (w.cost(order[cut.listed - 1]) <= 0 || more_for(w.cost(order[cut.listed - 1]), cut.mean) == 0))
      --cut.listed;
    return cut;
  }

  // Tries lists that double in size and takes the one with the least expected weighted rate.
  static Cut best_cut(const Workload& w, const BuildOptions& o, const std::vector<std::uint64_t>& order, std::uint64_t budget,
                      std::uint32_t k) {
    const auto keys = static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    Cut best{};
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t listed = 0; listed <= order.size() && kBucketBits * buckets_for(listed) < budget;
         listed = listed == 0 ? 1 : 2 * listed) {
      const Cut cut = cut_at(w, order, listed);
      const double left = static_cast<double>(budget - kBucketBits * buckets_for(cut.listed)) / keys;
      double cost = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const double c = w.cost(order[i]);
        cost += i < cut.listed ? std::ldexp(c, -static_cast<int>(more_for(c, cut.mean))) : c;
      }
      const double expected = cost * bloom::fpr(left, k != 0 ? k : bloom::best_k(left));
      if (expected < least) {
        least = expected;
        best = cut;
      }
    }
    return best;
  }

  Array<std::uint64_t> words_;
  Cells list_;  // by bucket
  std::uint64_t bits_ = 0;
  std::uint32_t k_ = 0;
};

static_assert(DynamicFilter<WeightedBloom>);

}  // namespace naysay
