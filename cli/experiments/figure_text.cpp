// SPDX-License-Identifier: Apache-2.0
// Figures as text: in a terminal, and as Markdown for docs/results.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "experiments/figures.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

using Json = nlohmann::ordered_json;

std::string x_text(double x) {
  if (x >= 1e6) return fmt::format("{:.4g} M", x / 1e6);
  return x >= 1e4 ? grouped(x) : fmt::format("{:.4g}", x);
}

std::string grouped(double n) {
  std::string out = fmt::format("{:.0f}", n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string y_text(double y, Unit unit) {
  switch (unit) {
    case Unit::rate:
      return percent(y);
    case Unit::nanoseconds:
      return y >= 1e6 ? number(y / 1e6) + " ms" : y >= 1e4 ? number(y / 1e3) + " us" : number(y) + " ns";
    case Unit::bits:
    case Unit::number:
      return number(y);
    case Unit::bytes:
      return bytes_text(static_cast<std::uint64_t>(std::max(y, 0.0)));
    case Unit::ratio:
      return number(y) + "x";
    case Unit::seconds:
      return number(y) + " s";
  }
  return number(y);
}

namespace {

std::string terminal_table(const Json& whole) {
  std::vector<Table::Column> columns;
  for (std::size_t i = 0; i < whole["columns"].size(); ++i)
    if (whole["brief"][i].get<bool>())
      columns.push_back({whole["columns"][i].get<std::string>(), i == 0 ? Table::Align::left : Table::Align::right});
  Table table(std::move(columns));
  for (const Json& row : whole["rows"]) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (whole["brief"][i].get<bool>()) cells.push_back(row[i]["t"].get<std::string>());
    table.add(std::move(cells));
  }
  return table.text();
}

// Nothing in a cell may end it or begin something else.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '`') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}
std::string plain(const Json& j) { return plain(j.get<std::string>()); }

std::string markdown_table(const Json& table) {
  std::string head = "|", rule = "|", out;
  for (std::size_t i = 0; i < table["columns"].size(); ++i) {
    if (!table["brief"][i].get<bool>()) continue;
    head += fmt::format(" {} |", plain(table["columns"][i]));
    rule += i == 0 ? " --- |" : " ---: |";
  }
  out += head + "\n" + rule + "\n";
  for (const Json& row : table["rows"]) {
    std::string line = "|";
    for (std::size_t i = 0; i < row.size(); ++i)
      if (table["brief"][i].get<bool>()) line += fmt::format(" {} |", plain(row[i]["t"]));
    out += line + "\n";
  }
  return out;
}

// "contradicted: It is better. The paper: 1.55x; ours: 0.4x (SSCF, 4.3)."
std::string sentence(const Json& claim) {
  std::string out = fmt::format("{}: {} The paper: {}", claim["verdict"].get<std::string>(),
                                claim["text"].get<std::string>(), claim["published"].get<std::string>());
  if (claim["ours"] != "") out += "; ours: " + claim["ours"].get<std::string>();
  return out + fmt::format(" ({}).", claim["source"].get<std::string>());
}

}  // namespace

std::string text_of(const Json& figure, const Json& claims) {
  std::string out = fmt::format("{}: {}\n", figure["name"].get<std::string>(), figure["title"].get<std::string>());
  for (const Json& panel : figure["panels"]) {
    out += fmt::format("\n{}) {} [{}]\n", panel["id"].get<std::string>(), panel["title"].get<std::string>(),
                       panel["workload"].get<std::string>());
    out += terminal_table(panel["table"]);
    if (panel.contains("strangers"))
      out += fmt::format("\n   {}:\n{}", panel["strangers"]["label"].get<std::string>(),
                         terminal_table(panel["strangers"]["table"]));
    for (const Json& d : panel["deviations"]) {
      const std::string why = d["why"].get<std::string>();
      for (const Json& point : d["points"]) out += fmt::format("deviation: {}\n", point.get<std::string>());
      out += fmt::format("  {}\n", why.empty() ? "UNEXPLAINED" : why);
    }
    for (const Json& p : panel["problems"]) out += fmt::format("note: {}\n", p.get<std::string>());
  }
  std::string judged;
  for (const Json& c : claims)
    if (c["figure"] == figure["name"] && c["verdict"] != "out of reach") judged += fmt::format("{}\n", sentence(c));
  return judged.empty() ? out : out + "\n" + judged;
}

std::string markdown_of(const Json& data) {
  std::string out;
  for (const Json& m : data["machines"]) {
    const std::string commit = m["commit"].get<std::string>();
    out += fmt::format("Measured on {} ({} cores, {}), compiler {}, naysay {}, commit `{}`{}.\n", plain(m["cpu"]),
                       m["cores"].dump(), plain(m["simd"]), plain(m["compiler"]), plain(m["naysay"]), commit,
                       commit.ends_with("-dirty") ? " **and changes to it that nobody kept**" : "");
  }
  if (data.contains("summary")) {
    out += "\n## Summary\n";
    for (const Json& s : data["summary"]["sentences"]) out += fmt::format("\n{}\n", plain(s));
    if (data["summary"].contains("panel")) {
      const Json& p = data["summary"]["panel"];
      out += fmt::format("\n{} ({}):\n\n{}", plain(p["title"]), plain(p["workload"]), markdown_table(p["table"]));
    }
  }
  if (!data["claims"].empty()) {
    out +=
        "\n## Claims of the papers, judged\n\n"
        "From the rows below. An ordering, ratio, optimum or trend is contradicted if ours misses it by more than 5 % "
        "and "
        "by more than two standard errors.\n\n"
        "| claim | where | paper | ours | verdict |\n| --- | --- | --- | --- | --- |\n";
    std::vector<std::string> notes;  // a remark that several claims have stands once
    for (const Json& c : data["claims"]) {
      std::string mark;
      if (const std::string remark = plain(c["remark"]); !remark.empty()) {
        auto found = std::find(notes.begin(), notes.end(), remark);
        if (found == notes.end()) found = notes.insert(found, remark);
        mark = fmt::format(" ({})", found - notes.begin() + 1);
      }
      const std::string series = plain(c["series"]);
      out +=
          fmt::format("| {} | {}; {}{} | {} | {} | {}{} |\n", plain(c["text"]), plain(c["source"]), plain(c["figure"]),
                      series.empty() ? "" : ": " + series, plain(c["published"]), plain(c["ours"]),
                      c["verdict"] == "contradicted" ? "**contradicted**" : plain(c["verdict"]), mark);
    }
    if (!notes.empty()) out += "\n";
    for (std::size_t i = 0; i < notes.size(); ++i) out += fmt::format("{}. {}\n", i + 1, notes[i]);
    if (data["unjudged"] != 0)
      out += fmt::format("\n{} more claims are about figures of which these results hold no row.\n",
                         data["unjudged"].get<std::size_t>());
  }
  for (const Json& figure : data["figures"]) {
    out += fmt::format("\n## {}: {}\n\nSource: {}. {}\n", plain(figure["name"]), plain(figure["title"]),
                       plain(figure["source"]), plain(figure["about"]));
    std::string judged;
    for (const Json& c : data["claims"])
      if (c["figure"] == figure["name"] && c["verdict"] != "out of reach")
        judged += fmt::format("- {}\n", plain(sentence(c)));
    if (!judged.empty()) out += "\n" + judged;
    for (const Json& panel : figure["panels"]) {
      out += fmt::format(
          "\n### {}) {}\n\n{} size; {}. Values: {}.\n\n", plain(panel["id"]), plain(panel["title"]),
          plain(panel["size"]), plain(panel["workload"]),
          panel["y"]["label"] == "" || panel["chart"] == "bars" ? "see the columns" : plain(panel["y"]["label"]));
      out += markdown_table(panel["table"]);
      if (panel.contains("strangers"))
        out += fmt::format("\nThe same filters on {}:\n\n{}", plain(panel["strangers"]["label"]),
                           markdown_table(panel["strangers"]["table"]));
      if (!panel["published"].empty()) {
        out += "\nPublished: ";
        std::string list;
        for (const Json& p : panel["published"]) {
          const std::string where =
              panel["chart"] == "bars"
                  ? (p.contains("metric") && panel["curves"].size() > 1 ? fmt::format(" {}", plain(p["metric"])) : "")
              : p["x"].is_number() ? fmt::format(" at {}", x_text(p["x"].get<double>()))
                                   : "";
          list += fmt::format("{}{}{} {}", list.empty() ? "" : "; ", plain(p["curve"]), where, plain(p["text"]));
        }
        out += list + ".\n";
      }
      if (!panel["finding"].get<std::string>().empty()) out += fmt::format("\n{}\n", plain(panel["finding"]));
      out += fmt::format("\n{}\n", plain(panel["advice"]));
      if (!panel["problems"].empty()) out += "\n";
      for (const Json& p : panel["problems"]) out += fmt::format("- {}\n", plain(p));
    }
    if (!figure["deviations"].empty()) out += "\nMore than 20 % from what was published:\n\n";
    for (const Json& d : figure["deviations"]) {
      out += fmt::format("- {}\n", d["why"] == "" ? "**Unexplained.**" : plain(d["why"]));
      for (const Json& point : d["points"]) out += fmt::format("  - {}\n", plain(point));
    }
  }
  return out;
}

}  // namespace naysay::cli
