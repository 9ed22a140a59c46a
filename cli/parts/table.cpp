// SPDX-License-Identifier: Apache-2.0
#include "parts/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace naysay::cli {

namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kLeastText = 20;  // columns that are enough for a sentence in lines

}  // namespace

std::string Table::text(std::size_t columns) const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns_) widths.push_back(c.name.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row.size() == columns_.size() || i + 1 < row.size()) widths[i] = std::max(widths[i], row[i].size());

  // Columns [first, last) next to each other, after the first column of the table.
  std::string out;
  const auto part = [&](std::size_t first, std::size_t last) {
    const auto line = [&](std::size_t count, auto&& text_of) {
      std::string text;
      for (std::size_t i = 0; i < last; i = i == 0 ? first : i + 1) {
        if (i >= count) break;
        const bool runs_on = count < columns_.size() && i + 1 == count;
        const bool left = runs_on || columns_[i].align == Align::left;
        if (i > 0) text += kGap;
        const std::string cell(text_of(i));
        const std::size_t at = text.size();
        // What is too wide for the line goes on in the next one, below its beginning.
        if (left && (runs_on || i + 1 == last) && at + cell.size() > columns && at + kLeastText <= columns)
          text += wrapped(cell, columns - at, at);
        else
          text += left ? fmt::format("{:<{}}", cell, widths[i]) : fmt::format("{:>{}}", cell, widths[i]);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out += text;
      out += '\n';
    };
    line(columns_.size(), [&](std::size_t i) { return std::string_view(columns_[i].name); });
    for (const auto& row : rows_)
      if (first == 1 || row.size() > first) line(row.size(), [&](std::size_t i) { return std::string_view(row[i]); });
  };
  std::size_t first = std::min<std::size_t>(1, columns_.size());
  do {
    std::size_t last = first, used = columns_.empty() ? 0 : widths[0];
    while (last < columns_.size() && (last == first || used + kGap.size() + widths[last] <= columns))
      used += kGap.size() + widths[last++];
    if (first > 1) out += '\n';
    part(first, last);
    first = last;
  } while (first < columns_.size());
  return out;
}

namespace {

// Three significant digits.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size < 1e-6) return fmt::format("{:.1e}", value);
  const int digits = 2 - static_cast<int>(std::floor(std::log10(size)));
  return fmt::format("{:.{}f}", value, digits);
}

}  // namespace

std::string percent(double rate) { return std::isnan(rate) ? "-" : fmt::format("{} %", three_digits(100 * rate)); }

std::string number(double value) { return std::isnan(value) ? "-" : three_digits(value); }

std::string bytes_text(std::uint64_t bytes) {
  const double n = static_cast<double>(bytes);
  if (n < 1e3) return fmt::format("{} bytes", bytes);
  if (n < 1e6) return fmt::format("{} kB", three_digits(n / 1e3));
  if (n < 1e9) return fmt::format("{} MB", three_digits(n / 1e6));
  return fmt::format("{} GB", three_digits(n / 1e9));
}

}  // namespace naysay::cli
