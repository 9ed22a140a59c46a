// SPDX-License-Identifier: Apache-2.0
#include "parts/filter_names.hpp"

#include <fmt/core.h>

#include "parts/failure.hpp"
#include "parts/nearest.hpp"

namespace naysay::cli {

const FilterType& need_filter(const std::string& name) {
  if (const FilterType* type = find_filter(name)) return *type;
  std::vector<std::string> names;
  for (const FilterType& t : filter_types()) names.emplace_back(t.name);
  throw Failure{
      fmt::format("no filter '{}'{}", name,
                  or_nearest(name, names, "there are " + names_of_filters([](const FilterType&) { return true; })))};
}

std::vector<const FilterType*> need_filters(const std::vector<std::string>& names) {
  std::vector<const FilterType*> filters;
  for (const std::string& name : names) {
    if (name == "all")
      for (const FilterType& t : filter_types()) filters.push_back(&t);
    else
      filters.push_back(&need_filter(name));
  }
  return filters;
}

}  // namespace naysay::cli
