// SPDX-License-Identifier: Apache-2.0
// naysay: membership filters that know what is not in the set. The front door: everything a user needs, one include.
//
//   #include <naysay/naysay.hpp>
//
//   std::vector<std::string> blocked = ...;
//   std::vector<std::pair<std::string, float>> allowed = {{"popular.example", 1000}, {"niche.example", 2}};
//
//   auto filter = naysay::build<naysay::TaughtRibbon>(blocked, allowed, {.bits_per_key = 10});
//   if (!filter) return report(filter.error());
//   if (filter->may_contain("evil.example")) block();
//   if (auto saved = filter->save("blocked.nsy"); !saved) return report(saved.error());
//
//   auto live = naysay::open("live.nsy");       // any filter, type known at run time
//   if (!live) return report(live.error());
//   live->insert("newest.example");
//   live->adapt("popular.example", 1000);
//
// Keys        strings, integers and digests, everywhere: build, query, batch, insert, erase, adapt. See core/key.hpp.
//             The integer 7 and the text "7" are different keys. A filter remembers which of the two it was built from:
//             a change with the other kind is Outcome::wrong_kind, a query answers maybe, and an assertion fails.
// Negatives   known non-members: keys, or pairs of a key and its cost (what one false "maybe" about it costs).
// Filters     one header each, in the folder of its family; naysay::filter_types() lists them, and
//             `naysay compare` says which one to use for your keys.
//
// Threads     Calls on const objects (may_contain, save, expected_fpr, ...) may run at the same time on one filter, from
//             any number of threads. A call that changes a filter (insert, erase, adapt, attach_key_file, merge, warm,
//             drop_index, change, assignment, a move) needs it alone: no other call may run on that filter at the same
//             time, reads included. To replace a filter while others read it, use Swapped (live/swapped.hpp) or a
//             std::atomic<std::shared_ptr<const AnyFilter>>; to change one, SharedFilter (live/shared_filter.hpp).
// Memory      Functions that return a Result report a failed allocation as Errc::no_memory, from worker threads too;
//             insert, erase and adapt report it as Outcome::no_memory, or as no_room where a filter that grows could
//             not. Nothing has changed then. Queries do not allocate. A program compiled without exceptions ends where
//             the standard library cannot allocate. bytes_for() says before a build what the filter will need;
//             set_allocator() (core/allocator.hpp) says where the arrays of filters come from.
// Building    BuildOptions::progress is called now and then, and cancels the build by returning false
//             (core/progress.hpp).
// Exceptions  Result::value() throws. What returns a container (to_bytes, params, filter_types' defaults) may throw
//             std::bad_alloc. An exception of a Progress callback or of a range passes through build; in a batch query
//             it ends the program.
// Planning    Workload::stranger_share, the share of queries about strangers, is 0.01 here; AnyFilter::build and
//             Keyed<F>::build take a Workload and let you say another.
// Files       open() queries a file in place; replace it by rename, as save() does. If somebody truncates it meanwhile,
//             the next query of a page that is gone ends the process (SIGBUS). If somebody overwrites it, answers are
//             wrong, but a query still ends and reads only the filter's memory, and a change is refused
//             (Outcome::damaged). load() copies the file. AnyFilter::save and load also take functions, for bytes that
//             leave or come in pieces (core/byte_stream.hpp).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/filters.hpp"
#include "naysay/keyed.hpp"
#include "naysay/version.hpp"

namespace naysay {

// A known negative: a key, which then costs 1, or a pair of a key and its cost.
template <class T>
concept Negative = Key<T> || requires(const T& t) {
  requires std::tuple_size<std::remove_cvref_t<T>>::value == 2;
  requires Key<std::tuple_element_t<0, std::remove_cvref_t<T>>>;
  requires std::is_arithmetic_v<std::remove_cvref_t<std::tuple_element_t<1, std::remove_cvref_t<T>>>>;
};

template <class R>
concept NegativeRange = std::ranges::input_range<R> && Negative<std::ranges::range_value_t<R>>;

// The negatives of a filter that is given none: build<Bloom>(keys, {}, {.bits_per_key = 12}).
struct NoNegatives {
  const Digest* begin() const noexcept { return nullptr; }
  const Digest* end() const noexcept { return nullptr; }
};

namespace door_detail {

// The digests of a range of keys, and their bytes if a filter reads them. A contiguous range of digests is not copied.
class Digested {
 public:
  template <class Keys>
  Digested(const Hasher& hasher, Keys&& keys, bool with_bytes) {
    using T = std::ranges::range_value_t<Keys>;
    if constexpr (std::ranges::contiguous_range<Keys> && std::ranges::sized_range<Keys> &&
                  std::same_as<std::remove_cv_t<T>, Digest>) {
      view_ = std::span<const Digest>(std::ranges::data(keys), std::ranges::size(keys));
    } else {
      if constexpr (std::ranges::sized_range<Keys>) digests_.reserve(std::ranges::size(keys));
      for (auto&& element : keys) add(hasher, element, with_bytes);
      view_ = digests_;
    }
    for (const std::string& text : texts_) bytes_.push_back(text);
  }
  Digested(const Digested&) = delete;  // view_ may point into digests_
  Digested& operator=(const Digested&) = delete;

  std::span<const Digest> digests() const noexcept { return view_; }
  std::span<const float> costs() const noexcept { return costs_; }
  std::span<const std::string_view> bytes() const noexcept { return bytes_; }

 private:
  template <class T>
  void add(const Hasher& hasher, const T& element, bool with_bytes) {
    if constexpr (Key<T>) {
      digests_.push_back(digest_of(hasher, element));
      if constexpr (TextKey<T>)
        if (with_bytes) texts_.emplace_back(std::string_view(element));
    } else {
      digests_.push_back(digest_of(hasher, std::get<0>(element)));
      costs_.push_back(static_cast<float>(std::get<1>(element)));
      if constexpr (TextKey<std::tuple_element_t<0, T>>)
        if (with_bytes) texts_.emplace_back(std::string_view(std::get<0>(element)));
    }
  }

  std::vector<Digest> digests_;
  std::vector<float> costs_;
  std::vector<std::string> texts_;
  std::span<const Digest> view_;
  std::vector<std::string_view> bytes_;
};

template <class T>
constexpr KeyKind kind_of_negative() {
  if constexpr (Key<T>)
    return kKeyKind<T>;
  else
    return kKeyKind<std::tuple_element_t<0, T>>;
}

// Digests keys and negatives, and gives body(workload, kind of the keys).
template <class Body, KeyRange Keys, NegativeRange Negatives>
auto with_workload(Body&& body, std::string_view who, Keys&& keys, Negatives&& negatives, const Hasher& hasher,
                   bool reads_bytes) {
  using T = std::ranges::range_value_t<Keys>;
  constexpr KeyKind kind = kKeyKind<T>;
  constexpr KeyKind other = kind_of_negative<std::ranges::range_value_t<Negatives>>();
  static_assert(kinds_fit(kind, other), "keys and negatives must both be text, or both be integers");
  using Built = std::invoke_result_t<Body, const Workload&, KeyKind>;
  return no_memory_is_an_error(who, [&]() -> Built {
    const Digested in(hasher, keys, reads_bytes && TextKey<T>);
    const Digested out(hasher, negatives, reads_bytes && TextKey<T>);
    return body(Workload{.keys = in.digests(),
                         .negatives = out.digests(),
                         .costs = out.costs(),
                         .key_bytes = in.bytes(),
                         .negative_bytes = out.bytes()},
                kind);
  });
}

}  // namespace door_detail

// Builds a filter of a known type from keys and known negatives.
template <Filter F, KeyRange Keys, NegativeRange Negatives = NoNegatives>
Result<Keyed<F>> build(Keys&& keys, Negatives&& negatives, const typename F::Params& params = {},
                       const BuildOptions& options = {}) {
  return door_detail::with_workload(
      [&](const Workload& w, KeyKind kind) { return Keyed<F>::build("build", w, params, options, kind); }, "build",
      keys, negatives, options.hasher, F::kClaims.reads_bytes);
}
template <Filter F, KeyRange Keys>
Result<Keyed<F>> build(Keys&& keys, const typename F::Params& params, const BuildOptions& options = {}) {
  return build<F>(std::forward<Keys>(keys), NoNegatives{}, params, options);
}
template <Filter F, KeyRange Keys>
Result<Keyed<F>> build(Keys&& keys) {
  return build<F>(std::forward<Keys>(keys), NoNegatives{});
}

// Builds a filter by its name, as filter_types() and `naysay filters` list them. Fails if no filter has this name.
template <KeyRange Keys, NegativeRange Negatives = NoNegatives>
Result<AnyFilter> build(std::string_view name, Keys&& keys, Negatives&& negatives, std::span<const Param> params,
                        const BuildOptions& options = {}) {
  const FilterType* type = find_filter(name);
  return door_detail::with_workload(
      [&](const Workload& w, KeyKind kind) { return AnyFilter::build(name, w, params, options, kind); }, name, keys,
      negatives, options.hasher, type && type->claims.reads_bytes);
}
template <KeyRange Keys, NegativeRange Negatives = NoNegatives>
Result<AnyFilter> build(std::string_view name, Keys&& keys, Negatives&& negatives = {},
                        std::initializer_list<Param> params = {}, const BuildOptions& options = {}) {
  return build(name, std::forward<Keys>(keys), std::forward<Negatives>(negatives),
               std::span<const Param>(params.begin(), params.size()), options);
}

}  // namespace naysay
