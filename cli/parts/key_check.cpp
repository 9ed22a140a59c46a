// SPDX-License-Identifier: Apache-2.0
#include "parts/key_check.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "parts/failure.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

void add_key_check_option(Command& command, std::string& keys) {
  command.option("--keys", keys, "the keys of the filter: negatives of --adapt that are among them are left out")
      .type_name("FILE");
}

KeyCheck check_for_keys(std::span<const Digest> negatives, const KeyFile& keys, const Hasher& hasher,
                        std::uint64_t keys_of_filter, const Progress& progress) {
  std::vector<Digest> sorted(negatives.begin(), negatives.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Digest> found;
  std::uint64_t count = 0;
  need(for_each_line(keys, progress, [&](const Line& line) -> Result<Ok> {
    ++count;
    if (const Digest d = hasher(line.text); std::binary_search(sorted.begin(), sorted.end(), d)) found.push_back(d);
    return Ok{};
  }));
  std::sort(found.begin(), found.end());
  KeyCheck check;
  for (const Digest& d : negatives) {
    check.is_key.push_back(std::binary_search(found.begin(), found.end(), d));
    check.found += check.is_key.back();
  }
  if (count < keys_of_filter)
    note(fmt::format("{} has {} keys and the filter holds {}; a negative may be one of the others", keys.name(), count,
                     keys_of_filter));
  return check;
}

}  // namespace naysay::cli
