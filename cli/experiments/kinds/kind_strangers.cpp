// SPDX-License-Identifier: Apache-2.0
// strangers: what a filter accepts of strangers of several kinds, none of which it was built with.
//
//   fpr           a fifth of the negatives, held back by a hash: strangers like the known negatives
//   no_www_fpr    those of them that begin with "www.", without it
//   random_fpr    random letters, digits, dots and dashes
//   address_fpr   random IP addresses
//   near_fpr      a key with one letter changed
//   spliced_fpr   the first half of one key and the second half of another: what a model of the keys likes best
//
// Setup::addresses and ::www show what a gain rests on: without them, keys that are IP addresses are left out, and
// "www." is cut off the negatives.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "experiments/measurement.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/score.hpp"
#include "naysay/workload/texts.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/timing.hpp"

namespace naysay::cli {

namespace {

constexpr double kHeldOut = 0.2;  // of the negatives
constexpr std::size_t kOfEachKind = 200'000, kOfEachKindWhenTiny = 2000;

struct Strings {
  std::vector<Digest> digests = {};
  Texts texts = {};
  void add(const Hasher& hasher, std::string_view text) {
    digests.push_back(hasher(text));
    if (!texts.push(text)) throw Failure{"no memory for the strings of the strangers"};
  }
};

bool is_address(std::string_view text) { return text.find_first_not_of("0123456789.") == std::string_view::npos; }

}  // namespace

Json measure_strangers(const Measurement& m) {
  Strings keys, known, held, no_www, letters, addresses, near, spliced;
  const auto draw = [&](std::string_view text, std::uint64_t purpose) {  // in [0, 1), by a hash
    return static_cast<double>(mix64(m.hasher(text).lo ^ mix64(m.plan.seed + purpose)) >> 11) * 0x1p-53;
  };
  const auto is_swapped = [&](std::string_view text) { return draw(text, 0x73776170) < m.plan.swapped_share; };
  const auto add_negative = [&](std::string_view negative) {
    const bool www = negative.starts_with("www.");
    if (www && !m.setup.www) negative.remove_prefix(4);
    const bool out = draw(negative, 0x68656c64) < kHeldOut;
    (out ? held : known).add(m.hasher, negative);
    if (out && www && m.setup.www) no_www.add(m.hasher, negative.substr(4));
  };
  for (const std::string_view key : m.set.key_bytes) {
    if (!m.setup.addresses && is_address(key)) continue;
    if (is_swapped(key))
      add_negative(key);
    else
      keys.add(m.hasher, key);
  }
  for (const std::string_view negative : m.set.negative_bytes) {
    if (is_swapped(negative))
      keys.add(m.hasher, negative);
    else
      add_negative(negative);
  }
  std::vector<Digest> members = keys.digests;
  std::sort(members.begin(), members.end());
  Random random(m.plan.seed);
  const auto any_key = [&] { return keys.texts.views()[random.below(keys.digests.size())]; };
  const auto any_letter = [&] { return "abcdefghijklmnopqrstuvwxyz0123456789.-"[random.below(38)]; };
  const auto add = [&](Strings& to, std::string_view text) {
    if (!std::binary_search(members.begin(), members.end(), m.hasher(text))) to.add(m.hasher, text);
  };
  for (std::size_t i = 0; i < (m.plan.size == Size::tiny ? kOfEachKindWhenTiny : kOfEachKind); ++i) {
    std::string text;
    for (std::uint64_t n = 8 + random.below(24); n > 0; --n) text += any_letter();
    add(letters, text);
    text.clear();
    for (int part = 0; part < 4; ++part) text += (part > 0 ? "." : "") + std::to_string(random.below(256));
    add(addresses, text);
    text = any_key();
    text[random.below(text.size())] = any_letter();
    add(near, text);
    const std::string_view first = any_key(), second = any_key();
    text = first.substr(0, first.size() / 2);
    text += second.substr(second.size() / 2);
    add(spliced, text);
  }

  Workload w{.keys = keys.digests, .negatives = known.digests};
  w.key_bytes = m.bytes(keys.texts.views());
  w.negative_bytes = m.bytes(known.texts.views());
  Report said;
  const Attempt built = attempt(m.plan.type->name, w, m.plan.params, m.options(0, &said));
  if (built.refused) return problem(*built.refused);
  const AnyFilter& f = *built.filter;
  const auto rate = [&](const Strings& of) {
    return score_detail::rate(static_cast<double>(count_maybe(f, of.digests, m.bytes(of.texts.views()))),
                              static_cast<double>(of.digests.size()));
  };
  if (rate(keys) < 1) throw Failure{fmt::format("{} denies a key; no filter may deny any", m.plan.type->name)};
  Json v;
  v["fpr"] = number_or_null(rate(held));
  v["no_www_fpr"] = number_or_null(rate(no_www));
  v["random_fpr"] = number_or_null(rate(letters));
  v["address_fpr"] = number_or_null(rate(addresses));
  v["near_fpr"] = number_or_null(rate(near));
  v["spliced_fpr"] = number_or_null(rate(spliced));
  v["known_fpr"] = number_or_null(rate(known));
  v["expected_fpr"] = f.expected_fpr();
  v["bits_per_key"] = bits_per_key(f);
  v["bytes"] = size_bytes(f);
  v["held_out"] = held.digests.size();
  v["build_seconds"] = built.ns / 1e9;
  v["peak_build_bytes"] = built.peak_bytes;
  for (const Report::Line& line : said.lines) v["report"][line.name] = line.value;
  return {{"values", std::move(v)}};
}

}  // namespace naysay::cli
