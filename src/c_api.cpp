// SPDX-License-Identifier: Apache-2.0
// The C API over AnyFilter. Whatever is thrown below ends in report(); what C++ only asserts is checked here first.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "naysay/naysay.h"

#if defined(__cpp_exceptions)
#include <cxxabi.h>

#include <exception>
#endif

#include "naysay/any_filter.hpp"
#include "naysay/choose.hpp"
#include "naysay/workload/keys.hpp"
#include "naysay/workload/score.hpp"
#include "naysay/workload/texts.hpp"
#include "naysay/workload/trial.hpp"

struct naysay_filter {
  naysay::AnyFilter filter;
};

namespace naysay {

namespace {

static_assert(static_cast<int>(KeyKind::unknown) == NAYSAY_KIND_UNKNOWN);
static_assert(static_cast<int>(KeyKind::text) == NAYSAY_KIND_TEXT);
static_assert(static_cast<int>(KeyKind::integer) == NAYSAY_KIND_INTEGER);
static_assert(sizeof(naysay_error) == 512);
static_assert(sizeof(Digest) == 2 * sizeof(std::uint64_t));

// ---- errors ---------------------------------------------------------------------------------------------------------

naysay_code code_of(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_argument:
      return NAYSAY_INVALID_ARGUMENT;
    case Errc::out_of_budget:
      return NAYSAY_OUT_OF_BUDGET;
    case Errc::build_failed:
      return NAYSAY_BUILD_FAILED;
    case Errc::corrupt:
      return NAYSAY_CORRUPT;
    case Errc::unsupported:
      return NAYSAY_UNSUPPORTED;
    case Errc::io:
      return NAYSAY_IO;
    case Errc::no_memory:
      return NAYSAY_NO_MEMORY;
    case Errc::cancelled:
      return NAYSAY_CANCELLED;
    case Errc::chosen_keys:
      return NAYSAY_CHOSEN_KEYS;
  }
  return NAYSAY_INTERNAL;
}

// An Error with the codes that only C has.
struct Failure {
  naysay_code code = NAYSAY_OK;
  std::string message = {};

  Failure() = default;
  Failure(naysay_code c, std::string text) : code(c), message(std::move(text)) {}
  Failure(Error e) : code(code_of(e.code)), message(std::move(e.message)) {}
};

naysay_code report(naysay_error* to, naysay_code code, std::string_view message) noexcept {
  if (to) {
    constexpr std::string_view kCut = "...";
    constexpr std::size_t kMost = sizeof to->message - 1;
    std::size_t size = std::min(message.size(), kMost);
    to->code = code;
    std::memcpy(to->message, message.data(), size);
    if (message.size() > kMost) std::memcpy(to->message + kMost - kCut.size(), kCut.data(), kCut.size());
    to->message[size] = '\0';
  }
  return code;
}

// Runs a body that returns a Failure, and lets nothing but its code out.
template <class Body>
naysay_code guarded(naysay_error* error, Body&& body) {
#if defined(__cpp_exceptions)
  try {
    const Failure f = body();
    return report(error, f.code, f.message);
  } catch (const std::bad_alloc&) {
    return report(error, NAYSAY_NO_MEMORY, "not enough memory; nothing has changed");
  } catch (const std::length_error&) {
    return report(error, NAYSAY_NO_MEMORY, "not enough memory; nothing has changed");
  } catch (const abi::__forced_unwind&) {  // pthread_cancel: not an exception, and it must go on
    throw;
  } catch (const std::exception& e) {
    return report(error, NAYSAY_INTERNAL, e.what());
  } catch (...) {
    return report(error, NAYSAY_INTERNAL, "an unknown exception; please report it");
  }
#else
  const Failure f = body();
  return report(error, f.code, f.message);
#endif
}

constexpr const char* kStopped = "a callback asked for an end; nothing has changed";

Failure is_null(const char* what) { return {NAYSAY_INVALID_ARGUMENT, std::string(what) + " is NULL; give one"}; }

#define NAYSAY_NEED(pointer) \
  if (!(pointer)) return is_null(#pointer)

Failure hand_out(Result<AnyFilter> made, naysay_filter** out) {
  if (!made) return std::move(made).error();
  *out = new naysay_filter{std::move(*made)};
  return {};
}

// ---- keys -----------------------------------------------------------------------------------------------------------

KeyKind kind_of(const naysay_keys& keys) {
  switch (keys.layout) {
    case NAYSAY_INTEGERS:
      return KeyKind::integer;
    case NAYSAY_TEXTS:
    case NAYSAY_OFFSETS32:
    case NAYSAY_OFFSETS64:
      return KeyKind::text;
    default:
      return KeyKind::unknown;
  }
}
const char* name_of(KeyKind kind) {
  return kind == KeyKind::integer ? "integers" : kind == KeyKind::text ? "text" : "digests";
}

// Where text i lies, for each layout.
struct AtText {
  const naysay_text* texts = nullptr;
  std::string_view operator()(std::uint64_t i) const { return {texts[i].data, texts[i].size}; }
};
template <class Offset>
struct AtOffset {
  const char* bytes = nullptr;
  const Offset* offsets = nullptr;
  std::string_view operator()(std::uint64_t i) const {
    return {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
};

// Texts of any layout as a range of std::string_view.
template <class At>
class TextRange {
 public:
  struct Iterator {
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    At at = {};
    std::uint64_t i = 0;
    std::string_view operator*() const { return at(i); }
    Iterator& operator++() { return ++i, *this; }
    Iterator operator++(int) { return {at, i++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i == b.i; }
  };
  TextRange(At at, std::uint64_t count) : at_(at), count_(count) {}
  Iterator begin() const { return {at_, 0}; }
  Iterator end() const { return {at_, count_}; }
  std::uint64_t size() const { return count_; }

 private:
  At at_;
  std::uint64_t count_;
};

// Calls body(range of keys) with the type of range that the layout has. Requires check(keys).
template <class Body>
auto with_keys(const naysay_keys& keys, Body&& body) {
  const auto count = static_cast<std::size_t>(keys.count);
  const auto* bytes = static_cast<const char*>(keys.data);
  switch (keys.layout) {
    case NAYSAY_INTEGERS:
      return body(std::span(static_cast<const std::uint64_t*>(keys.data), count));
    case NAYSAY_TEXTS:
      return body(TextRange(AtText{static_cast<const naysay_text*>(keys.data)}, count));
    case NAYSAY_OFFSETS32:
      return body(TextRange(AtOffset<std::int32_t>{bytes, static_cast<const std::int32_t*>(keys.offsets)}, count));
    case NAYSAY_OFFSETS64:
      return body(TextRange(AtOffset<std::int64_t>{bytes, static_cast<const std::int64_t*>(keys.offsets)}, count));
    default:
      return body(std::span(static_cast<const Digest*>(keys.data), count));
  }
}

template <class Offset>
Failure check_offsets(const char* what, const void* data, const void* offsets, std::uint64_t count) {
  const auto* at = static_cast<const Offset*>(offsets);
  bool sorted = at[0] >= 0;
  for (std::uint64_t i = 0; i < count; ++i) sorted &= at[i] <= at[i + 1];
  if (!sorted)
    return {NAYSAY_INVALID_ARGUMENT, std::string(what) + ": the offsets must be 0 or more and must not fall"};
  if (!data && at[count] > 0) return {NAYSAY_INVALID_ARGUMENT, std::string(what) + ": data is NULL; give the bytes"};
  return {};
}

Failure check(const char* what, const naysay_keys& keys) {
  if (keys.layout < NAYSAY_NO_KEYS || keys.layout > NAYSAY_DIGESTS)
    return {NAYSAY_INVALID_ARGUMENT, std::string(what) + ": the layout is " + std::to_string(keys.layout) +
                                         "; fill naysay_keys with one of its functions"};
  if (keys.count == 0) return {};
  if (keys.layout == NAYSAY_NO_KEYS)
    return {NAYSAY_INVALID_ARGUMENT, std::string(what) + ": there is a count, but no layout"};
  if (keys.count > std::numeric_limits<std::uint64_t>::max() / (2 * sizeof(Digest)))
    return {NAYSAY_INVALID_ARGUMENT,
            std::string(what) + ": a count of " + std::to_string(keys.count) + " is more than memory can hold"};
  if (keys.layout == NAYSAY_OFFSETS32 || keys.layout == NAYSAY_OFFSETS64) {
    if (!keys.offsets) return {NAYSAY_INVALID_ARGUMENT, std::string(what) + ": the offsets are NULL; give count + 1"};
    return keys.layout == NAYSAY_OFFSETS32 ? check_offsets<std::int32_t>(what, keys.data, keys.offsets, keys.count)
                                           : check_offsets<std::int64_t>(what, keys.data, keys.offsets, keys.count);
  }
  if (!keys.data) return {NAYSAY_INVALID_ARGUMENT, std::string(what) + ": data is NULL; give " + "the keys"};
  return {};
}

Failure wrong_kind(const AnyFilter& f, KeyKind given) {
  return {NAYSAY_WRONG_KIND, std::string(f.type().name) + ": its keys are " + name_of(f.key_kind()) +
                                 ", and it was given " + name_of(given)};
}
Failure check(const char* what, const AnyFilter& f, const naysay_keys& keys) {
  if (Failure wrong = check(what, keys); wrong.code) return wrong;
  if (keys.count > 0 && !kinds_fit(f.key_kind(), kind_of(keys))) return wrong_kind(f, kind_of(keys));
  return {};
}

// The digests of keys, and where their bytes are if a filter reads them. Digests are not copied.
struct DigestedKeys {
  std::vector<Digest> owned;
  std::vector<std::string_view> bytes;
  std::span<const Digest> digests;

  DigestedKeys(const Hasher& hasher, const naysay_keys& keys, bool with_bytes) {
    if (keys.layout == NAYSAY_DIGESTS || keys.count == 0) {
      digests = {static_cast<const Digest*>(keys.data), static_cast<std::size_t>(keys.count)};
      return;
    }
    with_keys(keys, [&](const auto& range) {
      owned.reserve(range.size());
      for (const auto& key : range) {
        owned.push_back(digest_of(hasher, key));
        if constexpr (TextKey<std::remove_cvref_t<decltype(key)>>)
          if (with_bytes) bytes.push_back(key);
      }
    });
    digests = owned;
  }
  DigestedKeys(const DigestedKeys&) = delete;
  DigestedKeys& operator=(const DigestedKeys&) = delete;
};

// ---- options --------------------------------------------------------------------------------------------------------

constexpr double kAutoBitsPerKey = 10;
constexpr std::string_view kAuto = "auto";

Failure read_options(const naysay_build_options* given, naysay_build_options& to) {
  to = NAYSAY_BUILD_OPTIONS;
  if (!given) return {};
  if (given->size < sizeof to)
    return {NAYSAY_INVALID_ARGUMENT, "options: their size is " + std::to_string(given->size) +
                                         "; begin with naysay_build_options options = NAYSAY_BUILD_OPTIONS"};
  // A newer header may have more options; those that are set cannot be obeyed.
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + sizeof to, bytes + given->size, [](unsigned char b) { return b != 0; }))
    return {NAYSAY_UNSUPPORTED, "options: one is set that this naysay (" NAYSAY_VERSION ") does not know"};
  to = *given;
  if (to.hash != NAYSAY_HASH_XXH3 && to.hash != NAYSAY_HASH_SIPHASH)
    return {NAYSAY_INVALID_ARGUMENT, "options: hash is " + std::to_string(to.hash) + "; it must be 0 or 1"};
  if (to.fpr != 0 && !(to.fpr > 0 && to.fpr < 1))
    return {NAYSAY_INVALID_ARGUMENT,
            "options: fpr is " + rounded_text(to.fpr) + "; it must be more than 0 and less than 1"};
  if (to.fpr != 0 && to.bits_per_key != 0)
    return {NAYSAY_INVALID_ARGUMENT, "options: bits_per_key and fpr are both given; give one"};
  if (!to.params && to.param_count > 0) return is_null("params");
  for (std::size_t i = 0; i < to.param_count; ++i)
    if (!to.params[i].name) return {NAYSAY_INVALID_ARGUMENT, "options: the name of a parameter is NULL"};
  return {};
}

Progress progress_of(const naysay_build_options& o) {
  if (!o.progress) return {};
  return [&o](std::string_view stage, std::uint64_t done, std::uint64_t total) {
    return o.progress(o.progress_user, std::string(stage).c_str(), done, total) == 0;
  };
}

// Requires that `o` outlives the result.
BuildOptions build_options(const naysay_build_options& o) {
  const unsigned threads = o.threads > 0 ? o.threads : std::max(1u, std::thread::hardware_concurrency());
  const bool keyed = o.hash == NAYSAY_HASH_SIPHASH;
  return {.capacity = o.capacity,
          .seed = o.seed,
          .threads = threads,
          .hasher = {keyed ? HashId::siphash : HashId::xxh3, keyed ? 0 : o.hash_seed, {o.secret[0], o.secret[1]}},
          .progress = progress_of(o)};
}

Result<std::vector<Param>> params_of(const FilterType& type, const naysay_build_options& o, bool chosen) {
  std::vector<Param> params;
  if (o.fpr > 0) {
    if (!type.tunable)
      return Error{Errc::unsupported, std::string(type.name) +
                                          ": it cannot say which size a rate needs; give bits_per_key, or one of " +
                                          names_of_filters([](const FilterType& t) { return t.tunable; })};
    params = type.params_for(o.fpr);
  } else if (o.bits_per_key != 0 || chosen) {
    params.emplace_back("bits_per_key", o.bits_per_key != 0 ? o.bits_per_key : kAutoBitsPerKey);
  }
  for (std::size_t i = 0; i < o.param_count; ++i) {
    const naysay_param& p = o.params[i];
    if (p.text)
      params.emplace_back(p.name, p.text);
    else
      params.emplace_back(p.name, p.number);
  }
  return params;
}

// Builds the named filter, or the first of the chosen ones that fits into the budget.
Result<AnyFilter> build_named(std::string_view name, const Workload& w, const naysay_build_options& o, KeyKind kind) {
  const BuildOptions options = build_options(o);
  if (name != kAuto) {
    const FilterType* type = find_filter(name);
    std::vector<Param> params;
    if (type) {
      NAYSAY_TRY(params, params_of(*type, o, false));
    }
    return AnyFilter::build(name, w, params, options, kind);  // which has the sentence for an unknown name
  }
  const FilterWish wish{.negatives = !w.negatives.empty(), .grows = o.capacity > 0, .by_rate = o.fpr > 0};
  CostCounts costs;
  for (std::size_t i = 0; i < w.negatives.size(); ++i)
    if (const float cost = w.cost(i); cost >= 0 && !std::isinf(cost)) costs.add(cost);
  const auto ranked = rank(candidates(wish), wish,
                           {.keys = static_cast<double>(w.keys.size()),
                            .bits_per_key = o.bits_per_key != 0 ? o.bits_per_key : kAutoBitsPerKey,
                            .stranger_share = w.stranger_share,
                            .costs = costs},
                           false);
  for (std::size_t i = 0;; ++i) {
    NAYSAY_TRY(const std::vector<Param> params, params_of(*ranked[i].filter, o, true));
    auto built = AnyFilter::build(ranked[i].filter->name, w, params, options, kind);
    if (built || built.error().code != Errc::out_of_budget || i + 1 == ranked.size()) return built;
  }
}

bool reads_bytes(const char* filter) {
  const FilterType* type = find_filter(std::string_view(filter));
  return type && type->claims.reads_bytes;
}

Failure check_workload(const naysay_keys& keys, const naysay_keys& negatives) {
  if (Failure wrong = check("keys", keys); wrong.code) return wrong;
  if (Failure wrong = check("negatives", negatives); wrong.code) return wrong;
  if (!kinds_fit(kind_of(keys), kind_of(negatives)))
    return {NAYSAY_WRONG_KIND, std::string("the keys are ") + name_of(kind_of(keys)) + " and the negatives are " +
                                   name_of(kind_of(negatives)) + "; both must be of one kind"};
  return {};
}

// ---- changes --------------------------------------------------------------------------------------------------------

struct Change {
  const char* verb;  // "inserted"
  bool FilterType::*can;
};
constexpr Change kInsert{"inserted", &FilterType::dynamic}, kErase{"erased", &FilterType::erasable},
    kAdapt{"adapted to", &FilterType::adaptive};

Failure failure_of(const AnyFilter& f, const Change& change, Outcome outcome, KeyKind given) {
  const std::string who = std::string(f.type().name) + ": ";
  switch (outcome.value()) {
    case Outcome::done:
      return {};
    case Outcome::no_room:
      if (change.can == kAdapt.can) return {NAYSAY_NO_ROOM, who + "the negative is not refused yet"};
      return {NAYSAY_NO_ROOM,
              who + "it is full with " + std::to_string(f.keys()) + " keys; build it with a larger capacity"};
    case Outcome::absent:
      return {NAYSAY_ABSENT, who + "it does not contain the key"};
    case Outcome::unsupported:
      return {NAYSAY_UNSUPPORTED, who + "keys cannot be " + change.verb + "; filters that can do this are " +
                                      names_of_filters([&](const FilterType& t) { return t.*change.can; })};
    case Outcome::no_memory:
      return {NAYSAY_NO_MEMORY, who + "not enough memory; nothing has changed"};
    case Outcome::wrong_kind:
      return wrong_kind(f, given);
    case Outcome::damaged:
      return {NAYSAY_CORRUPT, who + "its mapped file was overwritten since it was opened; open it again"};
    case Outcome::no_key_file:
      return {NAYSAY_UNSUPPORTED, who +
                                      "it cannot be adapted without the file of its keys; write_key_file makes it, "
                                      "and attach_key_file takes it"};
  }
  return {NAYSAY_INTERNAL, who + "an unknown outcome"};
}

// body(filter, key) -> Outcome, for one key.
template <class Key, class Body>
naysay_code change_one(naysay_filter* filter, const Change& change, const Key& key, naysay_error* error, Body&& body) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    AnyFilter& f = filter->filter;
    if (!kinds_fit(f.key_kind(), kKeyKind<Key>)) return wrong_kind(f, kKeyKind<Key>);  // C++ asserts it
    return failure_of(f, change, body(f, key), kKeyKind<Key>);
  });
}

// body(filter, key, i) -> Outcome, for every key until one fails.
template <class Body>
naysay_code change_all(naysay_filter* filter, const Change& change, const naysay_keys& keys, std::uint64_t* done,
                       naysay_error* error, Body&& body) {
  return guarded(error, [&]() -> Failure {
    if (done) *done = 0;
    NAYSAY_NEED(filter);
    AnyFilter& f = filter->filter;
    if (Failure wrong = check("keys", f, keys); wrong.code) return wrong;
    if (!(f.type().*change.can)) return failure_of(f, change, Outcome::unsupported, kind_of(keys));
    std::uint64_t i = 0, counted = 0;
    Outcome outcome = Outcome::done;
    with_keys(keys, [&](const auto& range) {
      for (const auto& key : range) {
        outcome = body(f, key, i++);
        counted += outcome == Outcome::done;
        if (change.can == kAdapt.can && outcome == Outcome::no_room) outcome = Outcome::done;
        if (!outcome) return;
      }
    });
    if (done) *done = counted;
    return failure_of(f, change, outcome, kind_of(keys));
  });
}

Failure check_cost(float cost) {
  if (cost >= 0 && !std::isinf(cost)) return {};
  return {NAYSAY_INVALID_ARGUMENT, "adapt: the cost is " + to_text(cost) + "; it must be finite and 0 or more"};
}

// ---- inspection -----------------------------------------------------------------------------------------------------

const FilterType& type_of(const naysay_type* type) { return *reinterpret_cast<const FilterType*>(type); }
const naysay_type* opaque(const FilterType* type) { return reinterpret_cast<const naysay_type*>(type); }

Failure visit_all(const std::vector<Param>& params, naysay_visit visit, void* user) {
  for (const Param& p : params)
    if (visit(user, p.name.c_str(), p.value.c_str()) != 0) return {NAYSAY_CANCELLED, kStopped};
  return {};
}

// ---- compare --------------------------------------------------------------------------------------------------------

double ns_since(std::chrono::steady_clock::time_point start, std::uint64_t count) {
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / static_cast<double>(std::max<std::uint64_t>(count, 1));
}

// The median of five passes over strangers, known negatives and keys.
double query_ns(const AnyFilter& f, const Trial& t, bool with_bytes) {
  constexpr int kPasses = 5;
  const auto pick = [&](std::span<const std::string_view> bytes) {
    return with_bytes ? bytes : std::span<const std::string_view>();
  };
  std::vector<double> ns;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    (void)count_maybe(f, t.strangers, pick(t.stranger_bytes));
    (void)count_maybe(f, t.negatives, pick(t.negative_bytes));
    (void)count_maybe(f, t.keys, pick(t.key_bytes));
    ns.push_back(ns_since(start, t.strangers.size() + t.negatives.size() + t.keys.size()));
  }
  std::sort(ns.begin(), ns.end());
  return ns[kPasses / 2];
}

}  // namespace
}  // namespace naysay

// ---- the functions of naysay.h --------------------------------------------------------------------------------------

using namespace naysay;

const char* naysay_version(void) { return NAYSAY_VERSION; }

size_t naysay_type_count(void) { return filter_types().size(); }
const naysay_type* naysay_type_at(size_t index) {
  return index < filter_types().size() ? opaque(&filter_types()[index]) : nullptr;
}
const naysay_type* naysay_find_type(const char* name) {
  return name ? opaque(find_filter(std::string_view(name))) : nullptr;
}
// Names and sentences are literals, so a NUL follows them; tests/c_api compares their lengths.
const char* naysay_type_name(const naysay_type* type) { return type_of(type).name.data(); }
const char* naysay_type_about(const naysay_type* type) {
  return type_of(type).claims.about.empty() ? "" : type_of(type).claims.about.data();
}
uint32_t naysay_type_id(const naysay_type* type) { return type_of(type).id; }
uint32_t naysay_type_abilities(const naysay_type* type) {
  const FilterType& t = type_of(type);
  uint32_t all = 0;
  const auto add = [&](bool can, uint32_t ability) { all |= can ? ability : 0; };
  add(t.dynamic, NAYSAY_CAN_INSERT);
  add(t.erasable, NAYSAY_CAN_ERASE);
  add(t.adaptive, NAYSAY_CAN_ADAPT);
  add(t.warming, NAYSAY_CAN_WARM);
  add(t.tunable, NAYSAY_CAN_PRICE);
  add(t.claims.uses_negatives, NAYSAY_USES_NEGATIVES);
  add(t.claims.exact_on_negatives, NAYSAY_EXACT_ON_NEGATIVES);
  add(t.claims.reads_bytes, NAYSAY_READS_BYTES);
  add(t.claims.adapts_with_churn, NAYSAY_ADAPTS_WITH_CHURN);
  add(t.write_key_file != nullptr, NAYSAY_ADAPTS_WITH_KEY_FILE);
  return all;
}
naysay_code naysay_type_params(const naysay_type* type, naysay_visit visit, void* user, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(type);
    NAYSAY_NEED(visit);
    return visit_all(type_of(type).defaults(), visit, user);
  });
}

naysay_code naysay_build(const char* filter, naysay_keys keys, naysay_keys negatives, const float* costs,
                         const naysay_build_options* options, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(out);
    naysay_build_options o;
    if (Failure wrong = read_options(options, o); wrong.code) return wrong;
    if (Failure wrong = check_workload(keys, negatives); wrong.code) return wrong;
    const Hasher hasher = build_options(o).hasher;
    const bool with_bytes = reads_bytes(filter);
    const DigestedKeys in(hasher, keys, with_bytes), outside(hasher, negatives, with_bytes);
    const Workload w{.keys = in.digests,
                     .negatives = outside.digests,
                     .costs = {costs, costs ? outside.digests.size() : 0},
                     .key_bytes = in.bytes,
                     .negative_bytes = outside.bytes,
                     .stranger_share = o.stranger_share};
    return hand_out(build_named(filter, w, o, kind_of(keys)), out);
  });
}

naysay_code naysay_bytes_for(const char* filter, uint64_t keys, const naysay_build_options* options, uint64_t* bytes,
                             naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(bytes);
    naysay_build_options o;
    if (Failure wrong = read_options(options, o); wrong.code) return wrong;
    const FilterType* type = find_filter(std::string_view(filter));
    std::vector<Param> params;
    if (type) {
      auto given = params_of(*type, o, false);
      if (!given) return std::move(given).error();
      params = std::move(*given);
    }
    const auto most = bytes_for(filter, std::max(keys, o.capacity), params);
    if (!most) return most.error();
    *bytes = *most;
    return {};
  });
}

naysay_code naysay_build_from_files(const char* filter, const char* keys_path, const char* negatives_path,
                                    const naysay_build_options* options, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(keys_path);
    NAYSAY_NEED(out);
    naysay_build_options o;
    if (Failure wrong = read_options(options, o); wrong.code) return wrong;
    const BuildOptions building = build_options(o);
    const Hasher& hasher = building.hasher;
    const ReadingOptions reading{.threads = building.threads, .progress = building.progress};
    const Separator separator = o.nul_separated ? Separator::nul : Separator::newline;
    const auto build = [&]() -> Result<AnyFilter> {
      TextKeys in, outside;
      const KeyFile keys{keys_path, separator};
      const bool with_negatives = negatives_path != nullptr;
      const KeyFile negatives{with_negatives ? negatives_path : "", separator};
      if (reads_bytes(filter)) {
        NAYSAY_TRY(in, read_texts({&keys, 1}, Lines::keys, hasher, reading));
        if (with_negatives) {
          NAYSAY_TRY(outside, read_texts({&negatives, 1}, Lines::costed_keys, hasher, reading));
        }
      } else {
        NAYSAY_TRY(in.digests, read_keys({&keys, 1}, hasher, reading));
        if (with_negatives) {
          NAYSAY_TRY(Negatives read, read_negatives({&negatives, 1}, hasher, reading));
          outside.digests = std::move(read.digests);
          outside.costs = std::move(read.costs);
        }
      }
      const Workload w{.keys = in.digests,
                       .negatives = outside.digests,
                       .costs = outside.costs,
                       .key_bytes = in.texts.views(),
                       .negative_bytes = outside.texts.views(),
                       .stranger_share = o.stranger_share};
      return build_named(filter, w, o, KeyKind::text);
    };
    return hand_out(build(), out);
  });
}

naysay_code naysay_open(const char* path, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(path);
    NAYSAY_NEED(out);
    return hand_out(naysay::open(path), out);
  });
}
naysay_code naysay_load(const char* path, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(path);
    NAYSAY_NEED(out);
    return hand_out(naysay::load(path), out);
  });
}
naysay_code naysay_load_bytes(const void* data, size_t size, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(data);
    NAYSAY_NEED(out);
    return hand_out(AnyFilter::load({static_cast<const std::byte*>(data), size}), out);
  });
}
naysay_code naysay_view(const void* data, size_t size, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(data);
    NAYSAY_NEED(out);
    return hand_out(AnyFilter::view({static_cast<const std::byte*>(data), size}), out);
  });
}
naysay_code naysay_save(const naysay_filter* filter, const char* path, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(path);
    if (auto saved = filter->filter.save(path); !saved) return std::move(saved).error();
    return {};
  });
}
naysay_code naysay_save_to(const naysay_filter* filter, naysay_write write, void* user, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(write);
    auto saved = filter->filter.save([&](std::span<const std::byte> piece) -> Result<Ok> {
      if (write(user, piece.data(), piece.size()) != 0) return Error{Errc::cancelled, kStopped};
      return Ok{};
    });
    if (!saved) return std::move(saved).error();
    return {};
  });
}
naysay_code naysay_file_bytes(const naysay_filter* filter, uint64_t* bytes, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(bytes);
    *bytes = filter->filter.image().size();
    return {};
  });
}
naysay_code naysay_clone(const naysay_filter* filter, naysay_filter** out, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(out);
    return hand_out(filter->filter.clone(), out);
  });
}
void naysay_free(naysay_filter* filter) { delete filter; }

int naysay_contains_text(const naysay_filter* filter, const char* data, size_t size) {
  const AnyFilter& f = filter->filter;
  if (!kinds_fit(f.key_kind(), KeyKind::text)) return -NAYSAY_WRONG_KIND;
  return f.may_contain(std::string_view(data, size));
}
int naysay_contains_integer(const naysay_filter* filter, uint64_t key) {
  const AnyFilter& f = filter->filter;
  if (!kinds_fit(f.key_kind(), KeyKind::integer)) return -NAYSAY_WRONG_KIND;
  return f.may_contain(key);
}
naysay_code naysay_contains(const naysay_filter* filter, naysay_keys keys, uint8_t* answers, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    const AnyFilter& f = filter->filter;
    if (Failure wrong = check("keys", f, keys); wrong.code) return wrong;
    if (keys.count == 0) return {};
    NAYSAY_NEED(answers);
    with_keys(keys, [&](const auto& range) {
      f.may_contain(range, std::span<std::uint8_t>(answers, static_cast<std::size_t>(keys.count)));
    });
    return {};
  });
}

naysay_code naysay_insert_text(naysay_filter* filter, const char* data, size_t size, naysay_error* error) {
  return change_one(filter, kInsert, std::string_view(data, size), error,
                    [](AnyFilter& f, const auto& key) { return f.insert(key); });
}
naysay_code naysay_insert_integer(naysay_filter* filter, uint64_t key, naysay_error* error) {
  return change_one(filter, kInsert, key, error, [](AnyFilter& f, const auto& k) { return f.insert(k); });
}
naysay_code naysay_erase_text(naysay_filter* filter, const char* data, size_t size, naysay_error* error) {
  return change_one(filter, kErase, std::string_view(data, size), error,
                    [](AnyFilter& f, const auto& key) { return f.erase(key); });
}
naysay_code naysay_erase_integer(naysay_filter* filter, uint64_t key, naysay_error* error) {
  return change_one(filter, kErase, key, error, [](AnyFilter& f, const auto& k) { return f.erase(k); });
}
naysay_code naysay_adapt_text(naysay_filter* filter, const char* data, size_t size, float cost, naysay_error* error) {
  const naysay_text text = {data, size};
  uint64_t done = 0;
  const naysay_code code = naysay_adapt(filter, naysay_texts(&text, 1), &cost, &done, error);
  if (code != NAYSAY_OK || done == 1) return code;
  return guarded(error, [&] { return failure_of(filter->filter, kAdapt, Outcome::no_room, KeyKind::text); });
}
naysay_code naysay_adapt_integer(naysay_filter* filter, uint64_t key, float cost, naysay_error* error) {
  uint64_t done = 0;
  const naysay_code code = naysay_adapt(filter, naysay_integers(&key, 1), &cost, &done, error);
  if (code != NAYSAY_OK || done == 1) return code;
  return guarded(error, [&] { return failure_of(filter->filter, kAdapt, Outcome::no_room, KeyKind::integer); });
}
naysay_code naysay_insert(naysay_filter* filter, naysay_keys keys, uint64_t* done, naysay_error* error) {
  return change_all(filter, kInsert, keys, done, error,
                    [](AnyFilter& f, const auto& key, std::uint64_t) { return f.insert(key); });
}
naysay_code naysay_erase(naysay_filter* filter, naysay_keys keys, uint64_t* done, naysay_error* error) {
  return change_all(filter, kErase, keys, done, error,
                    [](AnyFilter& f, const auto& key, std::uint64_t) { return f.erase(key); });
}
naysay_code naysay_adapt(naysay_filter* filter, naysay_keys negatives, const float* costs, uint64_t* done,
                         naysay_error* error) {
  for (uint64_t i = 0; costs && i < negatives.count; ++i)
    if (!(costs[i] >= 0) || std::isinf(costs[i])) {
      if (done) *done = 0;
      return guarded(error, [&] { return check_cost(costs[i]); });
    }
  return change_all(filter, kAdapt, negatives, done, error, [&](AnyFilter& f, const auto& key, std::uint64_t i) {
    return f.adapt(key, costs ? costs[i] : 1.0f);
  });
}
int naysay_is_full(const naysay_filter* filter) {
  return filter->filter.type().warming && filter->filter.full() ? 1 : 0;
}
naysay_code naysay_warm(naysay_filter* filter, naysay_keys keys, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    AnyFilter& f = filter->filter;
    if (Failure wrong = check("keys", f, keys); wrong.code) return wrong;
    const DigestedKeys in(f.hasher(), keys, false);
    if (auto warm = f.warm(in.digests); !warm) return std::move(warm).error();
    return {};
  });
}

naysay_code naysay_write_key_file(const naysay_filter* filter, const char* path, naysay_keys keys,
                                  naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(path);
    const AnyFilter& f = filter->filter;
    if (Failure wrong = check("keys", f, keys); wrong.code) return wrong;
    const DigestedKeys in(f.hasher(), keys, false);
    if (auto written = f.write_key_file(path, in.digests); !written) return std::move(written).error();
    return {};
  });
}
naysay_code naysay_attach_key_file(naysay_filter* filter, const char* path, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(path);
    if (auto attached = filter->filter.attach_key_file(path); !attached) return std::move(attached).error();
    return {};
  });
}
naysay_code naysay_sync_key_file(const naysay_filter* filter, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    const AnyFilter& f = filter->filter;
    if (!f.type().write_key_file || !f.adapts())
      return {NAYSAY_UNSUPPORTED, std::string(f.type().name) + ": no file of its keys is attached"};
    if (auto synced = f.sync_key_file(); !synced) return std::move(synced).error();
    return {};
  });
}

const naysay_type* naysay_type_of(const naysay_filter* filter) { return opaque(&filter->filter.type()); }
uint64_t naysay_key_count(const naysay_filter* filter) { return filter->filter.keys(); }
naysay_key_kind naysay_kind_of(const naysay_filter* filter) {
  return static_cast<naysay_key_kind>(filter->filter.key_kind());
}
uint64_t naysay_size_bits(const naysay_filter* filter) { return filter->filter.size_bits(); }
uint64_t naysay_index_bits(const naysay_filter* filter) { return filter->filter.index_bits(); }
double naysay_expected_fpr(const naysay_filter* filter) { return filter->filter.expected_fpr(); }
int naysay_is_borrowed(const naysay_filter* filter) { return filter->filter.facts().borrowed ? 1 : 0; }
naysay_code naysay_params(const naysay_filter* filter, naysay_visit visit, void* user, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(visit);
    return visit_all(filter->filter.params(), visit, user);
  });
}
naysay_code naysay_describe(const naysay_filter* filter, naysay_visit visit, void* user, naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(filter);
    NAYSAY_NEED(visit);
    std::vector<Param> lines;
    for (const Report::Line& line : filter->filter.describe().lines) lines.emplace_back(line.name, line.value);
    return visit_all(lines, visit, user);
  });
}

naysay_code naysay_compare(const char* const* filters, size_t filter_count, naysay_keys keys, naysay_keys negatives,
                           const float* costs, const naysay_build_options* options, naysay_take_row take, void* user,
                           naysay_error* error) {
  return guarded(error, [&]() -> Failure {
    NAYSAY_NEED(take);
    naysay_build_options o;
    if (Failure wrong = read_options(options, o); wrong.code) return wrong;
    if (Failure wrong = check_workload(keys, negatives); wrong.code) return wrong;
    if (keys.count == 0 || negatives.count == 0)
      return {NAYSAY_INVALID_ARGUMENT, "compare: there are no keys or no negatives; give at least one of each"};
    std::vector<const FilterType*> chosen;
    for (size_t i = 0; i < filter_count; ++i) {
      NAYSAY_NEED(filters && filters[i] ? filters : nullptr);
      chosen.push_back(find_filter(std::string_view(filters[i])));
      if (!chosen.back()) return {NAYSAY_INVALID_ARGUMENT, "no filter has the name '" + std::string(filters[i]) + "'"};
    }
    if (filter_count == 0)
      for (const FilterType& t : filter_types()) chosen.push_back(&t);
    const bool with_bytes =
        std::any_of(chosen.begin(), chosen.end(), [](const FilterType* t) { return t->claims.reads_bytes; });
    const BuildOptions how = build_options(o);
    const DigestedKeys in(how.hasher, keys, with_bytes), outside(how.hasher, negatives, with_bytes);
    const std::span<const float> cost_of(costs, costs ? outside.digests.size() : 0);
    if (auto sane = check_build("compare", {.keys = in.digests, .negatives = outside.digests, .costs = cost_of},
                                kAutoBitsPerKey, how);
        !sane)
      return std::move(sane).error();
    const Trial trial = make_trial(in.digests, outside.digests, cost_of, {}, o.seed, {in.bytes, outside.bytes, {}});
    const double n = static_cast<double>(in.digests.size());
    for (const FilterType* type : chosen) {
      const bool reads = type->claims.reads_bytes && !in.bytes.empty();
      Workload w{
          .keys = trial.keys, .negatives = trial.negatives, .costs = trial.costs, .stranger_share = o.stranger_share};
      if (reads) {
        w.key_bytes = trial.key_bytes;
        w.negative_bytes = trial.negative_bytes;
      }
      constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
      naysay_row row = {sizeof row, type->name.data(), nullptr, kNone, kNone, kNone, kNone, 0, kNone, kNone, 0};
      const auto start = std::chrono::steady_clock::now();
      const auto build = [&]() -> Result<AnyFilter> {
        NAYSAY_TRY(const std::vector<Param> params, params_of(*type, o, true));
        return AnyFilter::build(type->name, w, params, how, kind_of(keys));
      };
      const auto built = build();
      if (!built && built.error().code == Errc::cancelled) return built.error();
      if (!built) {
        row.problem = built.error().message.c_str();
      } else {
        row.build_ns = ns_since(start, in.digests.size());
        const Score s = score(*built, trial, reads);
        row.bits_per_key = static_cast<double>(built->size_bits()) / n;
        row.fpr = s.fpr;
        row.known_fpr = s.known_fpr;
        row.wfpr = s.wfpr;
        row.false_negatives = s.false_negatives;
        row.batch_ns = query_ns(*built, trial, reads);
        row.bytes = (built->size_bits() + 7) / 8;
      }
      if (take(user, &row) != 0) return {NAYSAY_CANCELLED, kStopped};
    }
    return {};
  });
}
