// SPDX-License-Identifier: Apache-2.0
// What bindings.py cannot time itself: one pass of queries in C++ and through the C API, in the process in which Python's
// queries are timed too. Each function returns nanoseconds per query.
#include <naysay/naysay.h>

#include <ctime>
#include <naysay/naysay.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace {

struct Both {
  naysay::AnyFilter cpp;
  naysay_filter* c;
  std::vector<std::string_view> views;  // the same texts for both
  std::vector<naysay_text> texts;
};

// The processor's time of this thread, as time.thread_time_ns() of Python: other programs may run meanwhile.
double thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}
template <class Body>
double ns_per_query(std::uint64_t queries, Body&& body) {
  const double start = thread_ns();
  body();
  return (thread_ns() - start) / static_cast<double>(queries);
}

}  // namespace

extern "C" {

// Null if there is no such file.
NAYSAY_EXPORT void* bench_open(const char* path) {
  auto cpp = naysay::load(path);
  naysay_filter* c = nullptr;
  if (!cpp || naysay_load(path, &c, nullptr) != NAYSAY_OK) return nullptr;
  return new Both{std::move(*cpp), c, {}, {}};
}
NAYSAY_EXPORT void bench_close(void* both) {
  auto* const b = static_cast<Both*>(both);
  naysay_free(b->c);
  delete b;
}
NAYSAY_EXPORT void bench_texts(void* both, const char* bytes, const std::int64_t* offsets, std::uint64_t count) {
  auto* const b = static_cast<Both*>(both);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
    b->views.emplace_back(bytes + offsets[i], size);
    b->texts.push_back({bytes + offsets[i], size});
  }
}

NAYSAY_EXPORT double bench_cpp_batch(void* both, const std::uint64_t* keys, std::uint64_t n, std::uint8_t* answers) {
  const naysay::AnyFilter& f = static_cast<Both*>(both)->cpp;
  return ns_per_query(n, [&] { f.may_contain(std::span(keys, n), std::span(answers, n)); });
}
NAYSAY_EXPORT double bench_c_batch(void* both, const std::uint64_t* keys, std::uint64_t n, std::uint8_t* answers) {
  const naysay_filter* f = static_cast<Both*>(both)->c;
  return ns_per_query(n, [&] { (void)naysay_contains(f, naysay_integers(keys, n), answers, nullptr); });
}
NAYSAY_EXPORT double bench_cpp_one(void* both, const std::uint64_t* keys, std::uint64_t n, std::uint8_t* answers) {
  const naysay::AnyFilter& f = static_cast<Both*>(both)->cpp;
  return ns_per_query(n, [&] {
    for (std::uint64_t i = 0; i < n; ++i) answers[i] = f.may_contain(keys[i]);
  });
}
NAYSAY_EXPORT double bench_c_one(void* both, const std::uint64_t* keys, std::uint64_t n, std::uint8_t* answers) {
  const naysay_filter* f = static_cast<Both*>(both)->c;
  return ns_per_query(n, [&] {
    for (std::uint64_t i = 0; i < n; ++i) answers[i] = static_cast<std::uint8_t>(naysay_contains_integer(f, keys[i]));
  });
}
NAYSAY_EXPORT double bench_cpp_texts(void* both, std::uint8_t* answers) {
  const auto* const b = static_cast<Both*>(both);
  return ns_per_query(b->views.size(), [&] { b->cpp.may_contain(b->views, std::span(answers, b->views.size())); });
}
NAYSAY_EXPORT double bench_c_texts(void* both, std::uint8_t* answers) {
  const auto* const b = static_cast<Both*>(both);
  return ns_per_query(b->texts.size(), [&] {
    (void)naysay_contains(b->c, naysay_texts(b->texts.data(), b->texts.size()), answers, nullptr);
  });
}
}
