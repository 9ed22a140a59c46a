// SPDX-License-Identifier: Apache-2.0
// The bodies that the fuzzer drives and the tests replay: any bytes in, no crash, no false negative.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/tiny/tiny.hpp"

namespace naysay::fuzz {

// A check that stops the fuzzer and fails the test, also where asserts are off.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void exercise(AnyFilter& f) {
  Digest questions[40];
  std::uint8_t answers[40];
  for (std::uint64_t i = 0; i < 40; ++i) questions[i] = digest(i);
  f.may_contain(questions, answers);
  for (int i = 0; i < 40; ++i) require(answers[i] == f.may_contain(questions[i]));
  (void)f.expected_fpr();
  (void)f.describe();
  for (std::string_view text : {"", "a", "example.org", "10.0.0.1", "a-longer-name.with.labels.example"})
    require(!f.may_contain(f.hasher()(text), text) || f.may_contain(f.hasher()(text)));  // bytes only help to say no
  if (f.type().dynamic)
    for (int i = 0; i < 20; ++i)
      if (f.insert(questions[i])) require(f.may_contain(questions[i]));
  if (f.type().erasable)
    for (int i = 0; i < 40; ++i) (void)f.erase(questions[i]);
  if (f.type().adaptive)
    for (int i = 20; i < 40; ++i) (void)f.adapt(questions[i], 1);
}

// Bytes as a file and as a bare payload. Size and checksum are put right first, or nothing would get past them.
inline void load(std::span<const std::uint8_t> data) {
  const auto own = std::make_unique<std::byte[]>(data.size());
  if (!data.empty()) std::memcpy(own.get(), data.data(), data.size());
  const std::span<std::byte> bytes(own.get(), data.size());
  if (auto f = AnyFilter::view_bare(bytes)) exercise(*f);
  if (auto f = AnyFilter::load(bytes)) exercise(*f);
  constexpr std::size_t kHeader = 80, kSizeAt = 16, kChecksumAt = 24;  // docs/format.md
  if (bytes.size() < kHeader) return;
  const std::uint64_t size = bytes.size(), zero = 0;
  const std::uint32_t version = bytes[8] == std::byte{2} ? 2 : 1;
  std::memcpy(bytes.data(), "naysay\r\n", 8);
  std::memcpy(bytes.data() + 8, &version, 4);
  std::memcpy(bytes.data() + kSizeAt, &size, 8);
  std::memcpy(bytes.data() + kChecksumAt, &zero, 8);
  const std::uint64_t sum = checksum(bytes.subspan(kHeader), checksum(bytes.first(kHeader)));
  std::memcpy(bytes.data() + kChecksumAt, &sum, 8);
  if (auto f = AnyFilter::load(bytes)) {
    if (version == f->type().format) require(f->to_bytes().size() == bytes.size());
    exercise(*f);
  }
}

// The same filter in another place: a copy, one read from its bytes, one that borrows them.
inline constexpr std::uint64_t kStructural = 240;
inline Result<AnyFilter> moved(AnyFilter f, std::uint64_t how, std::list<std::vector<std::byte>>& files) {
  switch (how % 4) {
    case 0:
      return f.clone();
    case 1:
      return AnyFilter::load(f.to_bytes());
    case 2:
      return AnyFilter::view(files.emplace_back(f.to_bytes()));
    default:
      if (f.index_bits() > 0) f.drop_index();
      return f;
  }
}

// Bytes as a filter, its keys and negatives, and a list of operations, against a multiset.
inline void operate(std::span<const std::uint8_t> data) {
  std::size_t at = 0;
  const auto next = [&]() -> std::uint64_t { return at < data.size() ? data[at++] : 0; };
  const auto types = filter_types();
  const FilterType& type = types[next() % types.size()];
  const std::uint64_t bits = 1 + next() % 40, n = next() % 64, m = next() % 64, capacity = n + 40;
  std::map<std::uint64_t, std::uint64_t> model;
  std::vector<Digest> keys, negatives;
  std::vector<float> costs;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t key = next();
    keys.push_back(digest(key));
    ++model[key];
  }
  for (std::uint64_t i = 0; i < m; ++i) {
    negatives.push_back(digest(next()));
    costs.push_back(static_cast<float>(next()));
  }
  const auto holds = [&](const AnyFilter& f) {
    for (const auto& [key, count] : model) require(count == 0 || f.may_contain(digest(key)));
  };
  auto f = AnyFilter::build(type.name, {.keys = keys, .negatives = negatives, .costs = costs},
                            {{"bits_per_key", std::to_string(bits)}}, {.capacity = capacity, .seed = next()});
  if (!f) return;
  holds(*f);
  // What a build could not store of a key that comes many times is not erased here: see the filters' contracts.
  if (type.erasable)
    for (auto& [key, count] : model) count = std::min<std::uint64_t>(count, 1);
  std::list<std::vector<std::byte>> files;  // what views of them need
  while (at < data.size()) {
    const std::uint64_t key = next(), what = next();
    std::uint64_t& count = model[key];
    if (what >= kStructural) {
      f = moved(std::move(*f), what, files);
      require(f.has_value());
      holds(*f);
    } else if (what % 3 == 0 && type.dynamic && count < 4) {
      if (f->insert(digest(key))) ++count;
    } else if (what % 3 == 1 && type.erasable && count > 0) {
      require(static_cast<bool>(f->erase(digest(key))));
      --count;
    } else if (type.adaptive && count == 0 && f->may_contain(digest(key))) {
      if (f->adapt(digest(key), 1)) require(!f->may_contain(digest(key)));
    }
  }
  holds(*f);
  const auto bytes = f->to_bytes();
  const auto again = AnyFilter::load(bytes);
  require(again.has_value());
  require(again->to_bytes() == bytes);
  holds(*again);
}

// Bytes as a tiny filter, and as the keys, negatives and budget of one.
inline void tiny_filter(std::span<const std::uint8_t> data) {
  const std::vector<std::uint8_t> own(data.begin(), data.end());
  const auto bytes = std::as_bytes(std::span(own));
  for (std::uint64_t i = 0; i < 40; ++i) (void)tiny::may_contain(bytes, digest(i));
  (void)tiny::expected_fpr(bytes);

  std::size_t at = 0;
  const auto next = [&]() -> std::uint64_t { return at < data.size() ? data[at++] : 0; };
  const std::uint64_t n = next() + next() % 4 * 256, m = next();
  std::vector<std::byte> out(next() + next() % 16 * 256);
  std::vector<Digest> keys, negatives;
  std::vector<float> costs;
  for (std::uint64_t i = 0; i < n; ++i)
    keys.push_back(at < data.size() ? digest(next() * 256 + next()) : digest(i << 32));
  for (std::uint64_t i = 0; i < m; ++i) {
    negatives.push_back(digest(next() * 256 + next()));
    costs.push_back(static_cast<float>(next()));
  }
  const auto built = tiny::build(keys, negatives, costs, out);
  if (!built) return;
  for (const Digest& d : keys) require(tiny::may_contain(out, d));
  std::uint64_t left = 0;
  for (const Digest& d : negatives) left += tiny::may_contain(out, d);
  require(left >= built->left);
}

}  // namespace naysay::fuzz
