// SPDX-License-Identifier: Apache-2.0
#include "parts/nearest.hpp"

#include <algorithm>

namespace naysay::cli {

namespace {

// Letters that are wrong, left out, added, or exchanged with a neighbour (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;  // of a name that is worth comparing
  if (typed.empty() || typed.size() > kLongest) return "";
  std::string best;
  std::size_t least = typed.size() + 1;
  for (const std::string& name : names) {
    const std::size_t longer = std::max(typed.size(), name.size());
    const bool begins = std::min(typed.size(), name.size()) > 1 && (name.starts_with(typed) || typed.starts_with(name));
    const std::size_t far = begins ? 0 : distance(typed, name);
    if (far > std::max<std::size_t>(longer / 3, 1) || far >= least) continue;
    least = far;
    best = name;
  }
  return best;
}

std::string or_nearest(std::string_view typed, const std::vector<std::string>& names, std::string_view otherwise) {
  const std::string name = nearest(typed, names);
  return (name.empty() ? "; " : "; did you mean " + name + "? ") + std::string(otherwise);
}

}  // namespace naysay::cli
