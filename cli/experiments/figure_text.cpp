// SPDX-License-Identifier: Apache-2.0
// Figures as text: in a terminal, and as Markdown for docs/results.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/figures.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

using Json = nlohmann::ordered_json;

std::string x_text(double x) {
  if (x >= 1e4)
    return x == std::floor(x) && std::fmod(x, 1e6) == 0 ? fmt::format("{:.0f} M", x / 1e6) : fmt::format("{:.0f}", x);
  return fmt::format("{:.4g}", x);
}

std::string y_text(double y, Unit unit) {
  switch (unit) {
    case Unit::rate:
      return percent(y);
    case Unit::nanoseconds:
      return y >= 1e6 ? number(y / 1e6) + " ms" : y >= 1e4 ? number(y / 1e3) + " us" : number(y) + " ns";
    case Unit::bits:
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

std::string text_of(const Json& figure) {
  std::string out = fmt::format("{}: {}\n", figure["name"].get<std::string>(), figure["title"].get<std::string>());
  for (const Json& panel : figure["panels"]) {
    out += fmt::format("\n{}) {} [{}]\n", panel["id"].get<std::string>(), panel["title"].get<std::string>(),
                       panel["workload"].get<std::string>());
    const Json& whole = panel["table"];
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
    out += table.text();
    for (const Json& d : panel["deviations"]) {
      const std::string why = d["why"].get<std::string>();
      for (const Json& point : d["points"]) out += fmt::format("deviation: {}\n", point.get<std::string>());
      out += fmt::format("  {}\n", why.empty() ? "UNEXPLAINED" : why);
    }
    for (const Json& p : panel["problems"]) out += fmt::format("note: {}\n", p.get<std::string>());
  }
  return out;
}

std::string markdown_of(const Json& data) {
  // Nothing in a cell may end it or begin something else.
  const auto plain = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '|' || c == '<' || c == '*' || c == '`') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    return out;
  };
  const auto text = [&](const Json& j) { return plain(j.get<std::string>()); };
  std::string out;
  for (const Json& m : data["machines"])
    out += fmt::format("Measured on {} ({} cores, {}), compiler {}, naysay {}, commit `{}`.\n", text(m["cpu"]),
                       m["cores"].dump(), text(m["simd"]), text(m["compiler"]), text(m["naysay"]),
                       m["commit"].get<std::string>());
  for (const Json& figure : data["figures"]) {
    out += fmt::format("\n## {}: {}\n\nSource: {}. {}\n", text(figure["name"]), text(figure["title"]),
                       text(figure["source"]), text(figure["about"]));
    for (const Json& panel : figure["panels"]) {
      out += fmt::format("\n### {}) {}\n\n{} size; {}. Values: {}.\n\n", text(panel["id"]), text(panel["title"]),
                         text(panel["size"]), text(panel["workload"]),
                         panel["y"]["label"] == "" ? "see the columns" : text(panel["y"]["label"]));
      const Json& table = panel["table"];
      std::string head = "|", rule = "|";
      for (std::size_t i = 0; i < table["columns"].size(); ++i) {
        if (!table["brief"][i].get<bool>()) continue;
        head += fmt::format(" {} |", text(table["columns"][i]));
        rule += i == 0 ? " --- |" : " ---: |";
      }
      out += head + "\n" + rule + "\n";
      for (const Json& row : table["rows"]) {
        std::string line = "|";
        for (std::size_t i = 0; i < row.size(); ++i)
          if (table["brief"][i].get<bool>()) line += fmt::format(" {} |", text(row[i]["t"]));
        out += line + "\n";
      }
      if (!panel["published"].empty()) {
        out += "\nPublished: ";
        std::string list;
        for (const Json& p : panel["published"]) {
          const std::string where =
              panel["chart"] == "bars"
                  ? (p.contains("metric") && panel["curves"].size() > 1 ? fmt::format(" {}", text(p["metric"])) : "")
              : p["x"].is_number() ? fmt::format(" at {}", x_text(p["x"].get<double>()))
                                   : "";
          list += fmt::format("{}{}{} {}", list.empty() ? "" : "; ", text(p["curve"]), where, text(p["text"]));
        }
        out += list + ".\n";
      }
      if (!panel["finding"].get<std::string>().empty()) out += fmt::format("\n{}\n", text(panel["finding"]));
      out += fmt::format("\n{}\n", text(panel["advice"]));
      if (!panel["deviations"].empty()) out += "\nMore than 20 % from what was published:\n\n";
      for (const Json& d : panel["deviations"]) {
        out += fmt::format("- {}\n", d["why"] == "" ? "**Unexplained.**" : text(d["why"]));
        for (const Json& point : d["points"]) out += fmt::format("  - {}\n", text(point));
      }
      if (!panel["problems"].empty()) out += "\n";
      for (const Json& p : panel["problems"]) out += fmt::format("- {}\n", text(p));
    }
  }
  return out;
}

}  // namespace naysay::cli
