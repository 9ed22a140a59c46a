// SPDX-License-Identifier: Apache-2.0
// Table: rows of text with aligned columns; the first column to the left, numbers to the right. And the way numbers
// look.
//
// A table that is wider than its place is divided: each part has the first column and as many others as fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parts/terminal.hpp"

namespace naysay::cli {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string name;
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A row shorter than the columns: its last cell runs on to the right and widens no column.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // In lines of at most this many columns of characters, as far as the first and one more column fit there.
  std::string text(std::size_t columns = output_columns()) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

std::string percent(double rate);             // "0.812 %", three digits; "-" for NaN
std::string number(double value);             // three digits and more before the point; "-" for NaN
std::string bytes_text(std::uint64_t bytes);  // "1.5 MB"

}  // namespace naysay::cli
