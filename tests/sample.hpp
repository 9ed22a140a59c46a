// SPDX-License-Identifier: Apache-2.0
// Samples: keys, strangers and costs for tests, from fixed seeds, filters built of them, and the verdict on a measured
// rate.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "naysay/core/filter.hpp"
#include "says.hpp"

namespace naysay::sample {

// The digests of first, first + 1, ...: short sequential keys, the hardest for a weak hash.
inline std::vector<Digest> numbers(std::uint64_t first, std::uint64_t count) {
  std::vector<Digest> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = digest(first + i);
  return out;
}

// A sequence of 64-bit words that is the same on every machine.
class Words {
 public:
  explicit Words(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() noexcept { return mix64(state_ += 0x9e3779b97f4a7c15u); }
  std::uint64_t below(std::uint64_t n) noexcept { return fast_range((*this)(), n); }

 private:
  std::uint64_t state_;
};

// Costs 1 / rank^exponent, costliest first; digests are random, so their order says nothing.
inline std::vector<float> zipf_costs(double exponent, std::uint64_t count) {
  std::vector<float> costs(count);
  for (std::uint64_t i = 0; i < count; ++i)
    costs[i] = static_cast<float>(std::pow(static_cast<double>(i + 1), -exponent));
  return costs;
}

// The value; ends the test program, with the message, if there is none.
template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return std::move(*result);
}
template <class F>
F must_build(const Workload& w, const typename F::Params& p = {}, const BuildOptions& o = {}) {
  return must(F::build(w, p, o));
}

// The value of a report's line. A missing line is a failure, and the NaN it gives is neither at most nor at least
// anything.
inline double must_say(const Report& report, std::string_view name) {
  for (const Report::Line& line : report.lines)
    if (line.name == name) return line.value;
  ADD_FAILURE() << "the report has no line '" << name << "'";
  return std::numeric_limits<double>::quiet_NaN();
}

// Calls edit(field) for every field of this name that it can take, and says how many there were. A test that breaks a
// filter on purpose names what it breaks, and needs to know nothing of the bytes.
template <class Edit>
class FieldEditor {
 public:
  FieldEditor(std::string_view name, Edit edit) : name_(name), edit_(edit) {}
  template <class T>
  void operator()(std::string_view name, T& field) {
    if (name == name_) {
      if constexpr (std::is_invocable_v<Edit, T&>) edit_(field), ++edited_;
    } else if constexpr (archive_detail::is_vector<T>) {
      for (auto& element : field) (*this)("", element);
    } else if constexpr (Described<T>) {
      T::fields(field, *this);
    }
  }
  int edited() const { return edited_; }

 private:
  std::string_view name_;
  Edit edit_;
  int edited_ = 0;
};
template <class F, class Edit>
int edit_field(F& filter, std::string_view name, Edit edit) {
  FieldEditor<Edit> editor(name, edit);
  F::fields(filter, editor);
  return editor.edited();
}

// What a file would hold of it.
template <class F>
std::vector<std::byte> bytes_of(const F& f) {
  std::vector<std::byte> out;
  FieldWriter write(out);
  F::fields(f, write);
  return out;
}

// Both sides: 5 standard deviations plus the model error that the filter admits.
inline ::testing::AssertionResult rate_matches(std::uint64_t hits, std::uint64_t asked, double expected,
                                               double model_error) {
  const double mean = expected * static_cast<double>(asked);
  const double allowed = 5 * std::sqrt(mean * (1 - expected)) + model_error * mean + 1;
  const double off = std::abs(static_cast<double>(hits) - mean);
  if (off <= allowed) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << hits << " of " << asked << " were accepted; " << mean << " +- " << allowed
                                       << " were expected";
}

}  // namespace naysay::sample
