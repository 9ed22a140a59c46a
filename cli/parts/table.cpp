// SPDX-License-Identifier: Apache-2.0
#include "parts/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace naysay::cli {

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns_) widths.push_back(c.name.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row.size() == columns_.size() || i + 1 < row.size()) widths[i] = std::max(widths[i], row[i].size());

  std::string out;
  const auto line = [&](const auto& cells, auto&& cell_text) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool runs_on = cells.size() < columns_.size() && i + 1 == cells.size();
      const bool left = runs_on || columns_[i].align == Align::left;
      if (i > 0) text += "  ";
      text += left ? fmt::format("{:<{}}", cell_text(cells[i]), widths[i])
                   : fmt::format("{:>{}}", cell_text(cells[i]), widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text;
    out += '\n';
  };
  line(columns_, [](const Column& c) { return c.name; });
  for (const auto& row : rows_) line(row, [](const std::string& cell) { return cell; });
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
