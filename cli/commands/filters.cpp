// SPDX-License-Identifier: Apache-2.0
// naysay filters: the registry, for users who have to choose.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "parts/describe.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

void print_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const FilterType& t : filter_types()) all.push_back(describe(t));
  fmt::print("{}\n", json_text(all, 2));
}

void print_table() {
  using enum Table::Align;
  Table table({{"filter", left},
               {"dynamic", left},
               {"erasable", left},
               {"adaptive", left},
               {"tunable", left},
               {"negatives", left},
               {"about", left}});
  const auto tick = [](bool yes) { return std::string(yes ? "yes" : "-"); };
  for (const FilterType& t : filter_types())
    table.add({std::string(t.name), tick(t.dynamic), tick(t.erasable), tick(t.adaptive), tick(t.tunable),
               tick(t.claims.uses_negatives), std::string(t.claims.about)});
  fmt::print("{}", table.text());
  fmt::print("\n");
  print_text(fmt::format(
      "dynamic: keys can be inserted later; erasable: and erased; adaptive: stops accepting a negative that is "
      "reported\n"
      "({}: given the file of its keys, --slots);\n"
      "tunable: can be built for a rate (--fpr); negatives: uses known negatives and their costs",
      names_of_filters([](const FilterType& t) { return t.write_key_file != nullptr; })));
}

}  // namespace

void add_filters(CommandLine& line, int&) {
  auto json = std::make_shared<bool>(false);
  Command c = line.command("filters", "list the filters and what each can do");
  c.flag("--json", *json, "as JSON, with every filter's parameters and their defaults");
  c.footer(
      "Example:\n"
      "  naysay filters");
  c.runs([json] { *json ? print_json() : print_table(); });
}

}  // namespace naysay::cli
