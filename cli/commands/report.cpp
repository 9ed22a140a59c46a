// SPDX-License-Identifier: Apache-2.0
// naysay report: results become one HTML page.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "experiments/figures.hpp"
#include "experiments/results.hpp"
#include "naysay/core/files.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/output.hpp"
#include "parts/page.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::vector<std::string> results;
  std::string output = "report.html";
};

void run(const Options& o) {
  std::vector<Input> inputs;
  for (const std::string& path : o.results) inputs.push_back({"a file of results", path});
  need_distinct({{"-o", o.output}}, inputs);
  const bool markdown = o.output.ends_with(".md");
  if (!markdown) need_page();
  if (o.output != "-") need(files::can_create(o.output));
  std::vector<nlohmann::ordered_json> lines;
  for (const std::string& path : o.results) {
    auto more = read_results(path);
    lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  nlohmann::ordered_json data = figures(lines);
  if (data["figures"].empty())
    throw Failure{fmt::format(
        "{}: there is no measurement of an experiment this version knows; see naysay bench --list", o.results[0])};
  data["title"] = "naysay: measured";
  if (markdown) {
    Output out(o.output);
    out.write(markdown_of(data));
    out.finish();
  } else {
    write_page(o.output, data);
  }
  if (o.output == "-") return;
  std::size_t panels = 0, deviations = 0, unexplained = 0;
  for (const auto& figure : data["figures"])
    for (const auto& panel : figure["panels"]) {
      ++panels;
      for (const auto& d : panel["deviations"]) {
        deviations += d["points"].size();
        if (d["why"] == "") unexplained += d["points"].size();
      }
    }
  fmt::print("{}: {} figures, {} charts, {} measurements; {} published points are missed by more than 20 %{}\n",
             o.output, data["figures"].size(), panels, data["lines"].get<std::size_t>(), deviations,
             unexplained == 0 ? ", each with its reason" : fmt::format(", {} of them without a reason", unexplained));
}

}  // namespace

void add_report(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("report", "make one HTML page of what naysay bench measured");
  c.option("results", o->results, "files of results that naysay bench --out wrote; - is the standard input")
      .required()
      .type_name("FILE");
  c.option("-o,--output", o->output,
           "the page to write; - is the standard output; a name that ends in .md gets Markdown tables")
      .shows_default()
      .type_name("FILE");
  c.footer(
      "The page holds everything: it can be mailed, and opened without a network.\n\n"
      "Example:\n"
      "  naysay bench habf-fig10 --size tiny --filters bloom --out results.jsonl\n"
      "  naysay report results.jsonl -o report.md");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
