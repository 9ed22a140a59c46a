// SPDX-License-Identifier: Apache-2.0
// naysay inspect: what is in a .nsy file.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/live/metrics.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/reasons.hpp"
#include "parts/stacks.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter;
  bool json = false, prometheus = false;
};

void run(const Options& o) {
  if (o.filter != "-" && is_stack(o.filter)) {
    if (o.prometheus) throw Failure{fmt::format("{}: is a stack; --prometheus takes a single filter", o.filter)};
    return inspect_stack(o.filter, o.json);
  }
  const AnyFilter f = open_filter(o.filter);
  if (o.prometheus) {
    fmt::print("{}", prometheus(metrics_of(f), f.type().name));
    return;
  }
  std::error_code unknown;
  const std::uint64_t file_bytes =
      o.filter == "-" ? f.to_bytes().size() : std::filesystem::file_size(o.filter, unknown);
  if (o.json) {
    nlohmann::ordered_json j = describe(f);
    j["file"] = o.filter;
    j["file_bytes"] = file_bytes;
    for (const Report::Line& l : f.describe().lines) j["details"][l.name] = l.value;
    fmt::print("{}\n", json_text(j, 2));
    return;
  }
  const auto line = [](std::string_view name, const std::string& value) { fmt::print("{:<14}{}\n", name, value); };
  line("filter", fmt::format("{}: {}", f.type().name, f.type().claims.about));
  line("keys", fmt::format("{}", f.keys()));
  line("size", fmt::format("{} bytes, {} bits per key", size_bytes(f), number(bits_per_key(f))));
  if (f.index_bits() > 0)
    line("index", fmt::format("{} bytes next to it, which no query reads", (f.index_bits() + 7) / 8));
  line("file", fmt::format("{} bytes", file_bytes));
  line("expected fpr", percent(f.expected_fpr()));
  if (const std::string warmth = warmth_text(f); !warmth.empty()) line("learning", warmth);
  if (const Metrics m = metrics_of(f); m.planned_fpr <= 0 && f.type().dynamic) {
    line("capacity", fmt::format("{} keys", f.facts().room()));
  } else if (m.planned_fpr > 0) {
    line("capacity",
         fmt::format("{} keys before it grows, in {} table{}", m.capacity, m.parts, m.parts == 1 ? "" : "s"));
    line("planned fpr", percent(m.planned_fpr));
  }
  if (const Metrics m = metrics_of(f); m.guard_room > 0)
    line("guard", fmt::format("{} of {} entries, {} evicted, {} negatives pinned", m.guard_entries, m.guard_room,
                              m.guard_evictions, m.pinned));
  line("hash", f.hasher().id == HashId::siphash ? "siphash, its key is in the file"
                                                : fmt::format("xxh3, seed {}", f.hasher().seed));
  for (const Report::Line& l : f.describe().lines) fmt::print("{}: {}\n", l.name, number(l.value));
  for (const Param& p : f.params()) line("parameter", p.name + " = " + p.value);
}

}  // namespace

void add_inspect(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("inspect", "say what is in a filter's file");
  c.option("filter", o->filter, "a file that naysay build or naysay apply wrote; - is the standard input")
      .required()
      .type_name("F.nsy|F.nst");
  c.flag("--json", o->json, "as JSON");
  c.flag("--prometheus", o->prometheus, "as text that Prometheus reads");
  c.footer(
      "Example:\n"
      "  naysay generate integers --count 1000 -o keys.txt\n"
      "  naysay build --keys keys.txt --filter bloom --bytes 1.5kB -o set.nsy\n"
      "  naysay inspect set.nsy");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
