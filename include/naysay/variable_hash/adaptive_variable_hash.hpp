// SPDX-License-Identifier: Apache-2.0
// AdaptiveVariableHash: a variable hash filter that stops making the false positives that are reported to it.
//
//   slot   | 81 | 1f | c2 | 77 |        1. read the slot's keys from the file next to the filter
//                  |                    2. find a function that all of them pass, that refuses the negative, and that
//                  v                       accepts none of the slot's earlier negatives again
//          | 81 | a4 | c2 | 77 |        3. append a record to the file, then change the number in the filter
//
// Of the functions that could be replaced, the one is replaced whose place moves least, because places only go up: the
// places above are room for later negatives. "No function left" is a normal answer, and it is counted.
//
//   paper                           here
//   the elements pulled off disk    SlotFile::keys_of
//   functions of a higher index     functions at a higher place (function_family.hpp)
//
// Promises   A negative for which adapt() returned true is refused from then on, also after the process was killed and
//            the file opened again. No key is ever denied, as long as the file has all keys: open() compares their
//            number and whether they pass, but has no keys to compare them with.
// Does not   absorb a key: adapt() of a key returns false and changes nothing.
// Cost       adapt() reads the slot's keys (a few hundred bytes) and writes 48 bytes; the filter's size does not
//            change. open() reads the file once. The file is not part of size_bits().
// Source     Deeds, 2020, section 3.5. Remembering the earlier negatives is our own; in the thesis they can be accepted
//            again.
#pragma once

#include "naysay/variable_hash/slot_file.hpp"

namespace naysay {

class AdaptiveVariableHash {
 public:
  using KeyFile = SlotFile;

  // Builds a filter and writes the file of its keys.
  static Result<AdaptiveVariableHash> create(const std::string& path, const Workload& w, const VariableHash::Params& p,
                                             const BuildOptions& o = {}) {
    NAYSAY_TRY(VariableHash filter, VariableHash::build(w, p, o));
    NAYSAY_CHECK(SlotFile::create(path, filter, w.keys));
    return open(path, std::move(filter));
  }

  // Accepts the filter as it was built, or any later copy of it, and applies the records of its file. Fails if the keys
  // of a slot are damaged, do not pass its functions, or would not pass those of a record.
  static Result<AdaptiveVariableHash> open(const std::string& path, VariableHash filter) {
    NAYSAY_TRY(SlotFile file, attach(path, filter));
    return AdaptiveVariableHash(std::move(filter), std::move(file));
  }

  // The same for a filter that somebody else holds (AnyFilter). An error leaves it as it was, or with some of the
  // records applied; either denies no key.
  static Result<SlotFile> attach(const std::string& path, VariableHash& filter) {
    NAYSAY_TRY(SlotFile file, SlotFile::open(path, filter));
    FieldOwner owner;
    VariableHash::fields(filter, owner);
    NAYSAY_CHECK(filter.validate());
    const auto forged = [&](std::uint64_t slot) {
      return Error{Errc::corrupt, path + ": the keys of slot " + std::to_string(slot) +
                                      " do not pass its functions; the file is damaged, or of another filter"};
    };
    for (std::uint64_t slot = 0; slot < filter.slots(); ++slot) {
      std::span<const std::uint64_t> xs;
      if (!file.keys_of(slot, xs) || !pass(filter, slot, xs)) return forged(slot);
    }
    Result<Ok> replayed = Ok{};
    file.replay([&](const SlotFile::Record& r) {
      std::span<const std::uint64_t> xs;
      if (!replayed || r.number == 0 || !file.keys_of(r.slot, xs)) return;
      const auto function = static_cast<unsigned>(r.function);
      const bool passes = r.function < filter.functions_of(r.slot) && r.number <= low_mask(filter.function_bits()) &&
                          std::all_of(xs.begin(), xs.end(), [&](auto x) { return accepts(r.number, function, x); });
      if (!passes)
        replayed = forged(r.slot);
      else if (rank(r.number) > rank(filter.function(r.slot, function)))
        Access::table(filter).set_function(r.slot, function, r.number);
    });
    NAYSAY_CHECK(std::move(replayed));
    return file;
  }

  bool may_contain(Digest d) const noexcept { return filter_.may_contain(d); }

  // True: d is refused from now on. False: it is a key, no function is left, or the file is damaged or full; then
  // nothing has changed.
  bool adapt(Digest d, float cost) noexcept {
    bool added = false;
    const bool refused = adapt(filter_, file_, d, cost, &added);
    absorbed_ += added;
    refused_ += !refused;
    return refused;
  }

  // The same, with the file that attach() returned for this filter. `added`: a record was written.
  static bool adapt(VariableHash& filter, SlotFile& file, Digest d, float /*cost*/, bool* added = nullptr) noexcept {
    const std::uint64_t slot = filter.slot_of(d), x = d.lo + filter.seed();
    std::span<const std::uint64_t> xs;
    SlotFile::Record before[kMaxRemembered];
    const std::uint64_t count = file.records_of(slot, before);
    // If the keys are damaged, or do not pass their functions, the file was changed since it was opened.
    if (count >= kMaxRemembered || !file.keys_of(slot, xs) || !pass(filter, slot, xs) ||
        std::find(xs.begin(), xs.end(), x) != xs.end())
      return false;
    SlotFile::Record change{slot, 0, 0, x};
    if (filter.may_contain(d) && !find(filter, {before, count}, xs, change)) return false;
    for (const SlotFile::Record& r : std::span(before, count))
      if (r.x == x && change.number == 0) return true;  // reported before, and still refused
    if (!file.append(change)) return false;
    if (change.number != 0)
      Access::table(filter).set_function(slot, static_cast<unsigned>(change.function), change.number);
    if (added) *added = true;
    return true;
  }

  const VariableHash& filter() const& noexcept { return filter_; }
  VariableHash filter() && noexcept { return std::move(filter_); }
  const SlotFile& file() const noexcept { return file_; }
  Result<Ok> sync() const { return file_.sync(); }
  std::uint64_t absorbed() const noexcept { return absorbed_; }  // by adapt() since it was opened
  std::uint64_t refused() const noexcept { return refused_; }    // no function left, a key, or a file that failed

 private:
  using Access = variable_hash::detail::VariableHashAccess;

  // Negatives that a slot can remember; usually no function is left long before.
  static constexpr std::uint64_t kMaxRemembered = 128;

  AdaptiveVariableHash(VariableHash filter, SlotFile file) : filter_(std::move(filter)), file_(std::move(file)) {}

  // Order of numbers: none, then by place.
  static unsigned rank(std::uint64_t number) noexcept {
    return number == 0 ? 0 : 1 + variable_hash::detail::family::place(number);
  }

  static bool accepts(std::uint64_t number, unsigned f, std::uint64_t x) noexcept {
    return variable_hash::detail::family::accepts(number, variable_hash::detail::family::pick_word(x, f),
                                                  variable_hash::detail::family::mask_word(x));
  }

  static bool pass(const VariableHash& filter, std::uint64_t slot, std::span<const std::uint64_t> xs) noexcept {
    for (unsigned f = 0; f < filter.functions_of(slot); ++f)
      for (std::uint64_t x : xs)
        if (!accepts(filter.function(slot, f), f, x)) return false;
    return true;
  }

  static bool find(const VariableHash& filter, std::span<const SlotFile::Record> remembered,
                   std::span<const std::uint64_t> xs, SlotFile::Record& change) noexcept {
    variable_hash::detail::FunctionSearch search(xs, filter.function_bits());
    const unsigned k = filter.functions_of(change.slot);
    unsigned nearest = ~0u;
    for (unsigned f = 0; f < k; ++f) {
      const std::uint64_t old = filter.function(change.slot, f);
      // Negatives that no other function refuses: the new one must refuse them.
      std::uint64_t alone[kMaxRemembered];
      unsigned alone_count = 0;
      for (const SlotFile::Record& r : remembered) {
        bool held = false;
        for (unsigned g = 0; g < k && !held; ++g) held = g != f && !accepts(filter.function(change.slot, g), g, r.x);
        if (!held) alone[alone_count++] = r.x;
      }
      search.turn_to(f);
      for (std::uint64_t number = search.first(rank(old)); number != 0;
           number = search.first(variable_hash::detail::family::place(number) + 1)) {
        if (rank(number) - rank(old) >= nearest) break;
        if (accepts(number, f, change.x)) continue;
        if (std::any_of(alone, alone + alone_count, [&](std::uint64_t y) { return accepts(number, f, y); })) continue;
        nearest = rank(number) - rank(old);
        change.function = f, change.number = number;
        break;
      }
    }
    return change.number != 0;
  }

  VariableHash filter_;
  SlotFile file_;
  std::uint64_t absorbed_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace naysay
