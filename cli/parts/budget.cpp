// SPDX-License-Identifier: Apache-2.0
#include "parts/budget.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

double need_bits_per_key(const std::string& text) {
  return need_number<double>("--bits-per-key", text, {0, kMaxBitsPerKey, true});
}
double need_fpr(const std::string& text) {
  double value = 0;
  std::string unused;
  if (!from_text(text, value, unused) || !(value > 0 && value < 1))
    throw Failure{fmt::format("--fpr is '{}'; it must be a rate above 0 and below 1, such as 0.001", text)};
  return value;
}

}  // namespace

Result<std::uint64_t> parse_bytes(const std::string& text, const char* option) {
  struct Suffix {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array<Suffix, 9> kSuffixes = {{{"", 1},
                                                       {"B", 1},
                                                       {"kB", 1e3},
                                                       {"KB", 1e3},
                                                       {"MB", 1e6},
                                                       {"GB", 1e9},
                                                       {"KiB", 1024},
                                                       {"MiB", 1024 * 1024},
                                                       {"GiB", 1024.0 * 1024 * 1024}}};
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (problem == std::errc{})
    for (const Suffix& u : kSuffixes)
      if (u.name == unit && value * u.bytes >= 1 && value * u.bytes < 1e18)
        return static_cast<std::uint64_t>(value * u.bytes);
  return Error{Errc::invalid_argument, fmt::format("{} is '{}'; it must be a number of bytes from 1 to 1e18, such as "
                                                   "1500000, 1.5MB (a million bytes each) or 1.5MiB (2^20 bytes each)",
                                                   option, text)};
}

void Budget::add_options(Command& command, Rates rates) {
  rates_ = rates;
  command.option("--bits-per-key", bits_per_key_, "bits of the filter for each key").type_name("X");
  command.option("--bytes", bytes_, "bytes of the filter: 1500000, 1.5MB (1000^2), 1.5MiB (1024^2)").type_name("SIZE");
  if (rates == Rates::allowed)
    command.option("--fpr", fpr_, "the rate of strangers that may be accepted, at most").type_name("P");
}

void Budget::check() const {
  const int given = !bits_per_key_.empty() + !bytes_.empty() + !fpr_.empty();
  const char* ways = rates_ == Rates::allowed ? "--bits-per-key, --bytes or --fpr" : "--bits-per-key or --bytes";
  if (given == 0) throw Failure{fmt::format("no budget is given; give {}", ways)};
  if (given > 1) throw Failure{fmt::format("{} budgets are given; give only one of {}", given, ways)};
  if (!bits_per_key_.empty()) (void)need_bits_per_key(bits_per_key_);
  if (!bytes_.empty()) (void)need(parse_bytes(bytes_));
  if (!fpr_.empty()) (void)need_fpr(fpr_);
}

double Budget::bits_per_key(std::uint64_t room) const {
  return !bits_per_key_.empty() ? need_bits_per_key(bits_per_key_)
                                : 8 * static_cast<double>(need(parse_bytes(bytes_))) /
                                      static_cast<double>(std::max<std::uint64_t>(room, 1));
}

double Budget::rate() const { return need_fpr(fpr_); }

std::vector<Param> Budget::params(std::uint64_t room) const { return {{"bits_per_key", to_text(bits_per_key(room))}}; }

}  // namespace naysay::cli
