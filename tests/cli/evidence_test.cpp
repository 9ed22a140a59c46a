// SPDX-License-Identifier: Apache-2.0
// Experiments, results and reports, through the real tool.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/figures.hpp"
#include "experiments/kinds/kinds.hpp"
#include "experiments/results.hpp"
#include "naysay/any_filter.hpp"
#include "parts/failure.hpp"
#include "parts/page.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::string_literals;

class Evidence : public Tool {
 protected:
  std::vector<Json> results(const std::string& name) const {
    std::vector<Json> lines;
    std::stringstream in(read(name));
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  // Tiny: two filters of one small figure.
  static constexpr const char* kBench = "naysay bench habf-fig10 --size tiny --filters bloom,xor --out r.jsonl";
  static constexpr std::size_t kLines = 12;  // two filters at both ends of three panels
};

bool page_is_here() {
  try {
    cli::need_page();
    return true;
  } catch (const cli::Failure&) {
    return false;
  }
}

TEST_F(Evidence, ListsEveryFigureOfThePapersAndOurOwn) {
  const std::string text = must("naysay bench --list");
  for (const auto& [prefix, first, last] :
       {std::tuple{"habf-fig", 8, 15}, {"sscf-fig", 10, 14}, {"stacked-fig", 3, 7}, {"vhf-fig", 8, 11}})
    for (int i = first; i <= last; ++i)
      EXPECT_NE(text.find(prefix + std::to_string(i)), std::string::npos) << prefix << i;
  // The tables that are not notations: HABF has one of functions, SSCF one of what filters can do.
  for (const char* name : {"space-limit", "speed", "churn-trace", "scale", "threads", "habf-table2", "Table 1 of SSCF"})
    EXPECT_NE(text.find(name), std::string::npos);
}

TEST_F(Evidence, WritesOneLineAMeasurementWithAllThatIsNeededToRepeatIt) {
  must(kBench);
  const auto lines = results("r.jsonl");
  ASSERT_EQ(lines.size(), kLines);
  for (const Json& line : lines) {
    for (const char* field : {"experiment", "panel", "series", "x", "size", "filter", "params", "workload", "seed",
                              "threads", "values", "seconds", "machine"})
      EXPECT_TRUE(line.contains(field)) << field;
    for (const char* field : {"cpu", "compiler", "naysay", "commit", "simd"})
      EXPECT_TRUE(line["machine"].contains(field)) << field;
    EXPECT_TRUE(line["workload"].contains("keys") && line["workload"].contains("source"));
  }
}

TEST_F(Evidence, GoesOnWhereItWasAndDropsATornLine) {
  must(kBench);
  const std::string whole = read("r.jsonl");
  // Interrupted in the middle of the fourth line.
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i) at = whole.find('\n', at) + 1;
  write("r.jsonl", std::string_view(whole).substr(0, at + 25));
  const Ran again = shell(kBench);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.err.find(std::to_string(kLines - 3) + " measurements"), std::string::npos) << again.err;
  EXPECT_NE(again.err.find("3 were there"), std::string::npos) << again.err;
  EXPECT_EQ(read("r.jsonl").substr(0, at), whole.substr(0, at));
  const auto lines = results("r.jsonl");
  ASSERT_EQ(lines.size(), kLines);
  std::set<std::string> different;
  for (const Json& line : lines) different.insert(cli::identity(line));
  EXPECT_EQ(different.size(), kLines);
  // Nothing is left to do.
  EXPECT_NE(shell(kBench).err.find("0 measurements"), std::string::npos);
  EXPECT_EQ(results("r.jsonl").size(), kLines);
}

TEST_F(Evidence, MeasuresAgainWhatAnotherVersionMeasured) {
  must(kBench);
  std::string text = read("r.jsonl");
  for (std::size_t at = 0; (at = text.find("\"commit\":\"", at)) != std::string::npos; at += 10)
    text.insert(at + 10, "older-");
  write("r.jsonl", text);
  must(kBench);
  EXPECT_EQ(results("r.jsonl").size(), 2 * kLines);
}

TEST_F(Evidence, RefusesWhatMakesNoSense) {
  refuses("naysay bench nonsense", {"'nonsense'", "naysay bench --list"});
  refuses("naysay bench speed --size huge", {"--size", "'huge'", "tiny", "quick", "paper"});
  refuses("naysay bench speed --data missing", {"--data", "'missing'", "*positive*", "*negative*"});
  write("bad.jsonl", "{\"experiment\": 7}\n");
  refuses("naysay bench habf-fig14 --size tiny --out bad.jsonl", {"bad.jsonl", "line 1", "naysay bench"});
  EXPECT_EQ(read("bad.jsonl"), "{\"experiment\": 7}\n");
}

TEST_F(Evidence, MeasuresInEveryWay) {
  // Between them they have every kind.
  must(
      "naysay bench stacked-fig3 stacked-fig5 stacked-fig7 sscf-fig14 churn-trace huge-pages vhf-fig8 --size tiny "
      "--out "
      "r.jsonl");
  std::set<std::string> kinds;
  for (const Json& line : results("r.jsonl"))
    for (const cli::Panel& p : cli::find_experiment(line["experiment"].get<std::string>())->panels)
      if (line["panel"] == p.id) kinds.insert(cli::kKindNames[static_cast<int>(p.kind)]);
  EXPECT_EQ(kinds.size(), std::size(cli::kKindNames));
}

class EvidenceSlow : public Evidence {};

TEST_F(EvidenceSlow, RunsEveryExperiment) {
  must("naysay bench all --size tiny --out r.jsonl");
  std::set<std::string> seen;
  for (const Json& line : results("r.jsonl")) {
    seen.insert(line["experiment"].get<std::string>());
    EXPECT_TRUE(line.contains("values") || line.contains("problem")) << line;
  }
  for (const cli::Experiment& e : cli::experiments()) {
    std::vector<std::string> missing;
    if (!cli::jobs_of(e, cli::Size::tiny, missing).empty()) EXPECT_TRUE(seen.contains(e.name)) << e.name;
  }
  must("naysay report r.jsonl -o r.md");
}

TEST_F(Evidence, TakesKeysFromFilesWhereTheyAreGiven) {
  must(
      "mkdir data && naysay generate urls --count 2000 -o data/some_positive.txt && naysay generate urls --first 2000 "
      "--count "
      "2000 --zipf 1 -o data/some_negative.tsv");
  must("naysay bench habf-fig13 --size tiny --filters bloom --data data --out r.jsonl");
  // Which files, each row says.
  std::set<std::string> files;
  const auto rows = results("r.jsonl");
  for (const Json& line : rows) {
    EXPECT_EQ(line["workload"]["source"], "files");
    files.insert(line["workload"]["files"].get<std::string>());
  }
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files.begin()->starts_with("some_positive.txt ")) << *files.begin();
  EXPECT_NE(files.begin()->find(", some_negative.tsv "), std::string::npos) << *files.begin();
  EXPECT_NE(must("naysay bench habf-fig13 --size tiny --filters bloom --data data --out r.jsonl")
                .find("real keys from files"),
            std::string::npos);
  must("naysay generate urls --count 10 -o data/some_positive.txt");
  EXPECT_NE(shell("naysay bench habf-fig13 --size tiny --filters bloom --data data").err.find("--data has 10 keys"),
            std::string::npos);
}

TEST_F(Evidence, MakesAReportOfASample) {
  const std::string sample = NAYSAY_SOURCE_DIR "/web/test/sample.jsonl";
  if (!page_is_here()) {
    refuses("naysay report " + sample, {"report page", "./dev page", "Node"});
    refuses("naysay compare --keys k --negatives n --bits-per-key 8 --html x.html", {"report page", "./dev page"});
  } else {
    EXPECT_NE(must("naysay report " + sample + " -o page.html").find("each with its reason"), std::string::npos);
    EXPECT_NE(read("page.html").find("habf-fig10"), std::string::npos);
  }
  EXPECT_NE(must("naysay report " + sample + " -o page.md").find("each with its reason"), std::string::npos);
  EXPECT_NE(read("page.md").find("## habf-fig10"), std::string::npos);
  refuses("naysay report missing.jsonl -o page.md", {"missing.jsonl", "No such file or directory"});
}

TEST(Page, NothingInTheDataCanEndTheScriptItStandsIn) {
  if (!page_is_here()) GTEST_SKIP() << "built without the report page";
  const Json data = {{"title", "</script><script>alert(1)</script><!-- "}};
  const std::string page = cli::page_with(data);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  const std::size_t from = page.find("id=\"data\">") + 10, to = page.find("</script>", from);
  EXPECT_EQ(Json::parse(page.substr(from, to - from)), data);
}

// ---- descriptions --------------------------------------------------------------------------------------------------

TEST(Experiments, NameFiltersParametersAndSeriesThatExist) {
  std::set<std::string> names;
  for (const cli::Experiment& e : cli::experiments()) {
    EXPECT_TRUE(names.insert(e.name).second) << e.name;
    std::set<std::string> ids;
    for (const cli::Panel& p : e.panels) {
      EXPECT_TRUE(ids.insert(p.id).second) << e.name << " " << p.id;
      EXPECT_STRNE(p.advice, "") << e.name << " " << p.id;
      ASSERT_FALSE(p.ys.empty()) << e.name << " " << p.id;
      const cli::Panel& measured = cli::measured_panel(e, p);
      EXPECT_EQ(*p.from != 0, &measured != &p) << e.name << " " << p.id;
      const auto has = [&](std::string_view series) {
        return std::any_of(measured.series.begin(), measured.series.end(),
                           [&](const cli::Series& s) { return s.name == series; });
      };
      for (const cli::Published& published : p.published)
        EXPECT_TRUE(*published.series == 0 || has(published.series)) << published.series;
      EXPECT_TRUE(*p.over == 0 || has(p.over)) << p.over;
      std::vector<std::string> missing;
      for (const cli::Size size : {cli::Size::quick, cli::Size::paper})
        for (const cli::Job& job : cli::jobs_of(e, size, missing)) {
          const cli::JobPlan plan = cli::plan(job, size, 1);
          const auto ok = plan.type->check_params(plan.type->name, plan.params);
          EXPECT_TRUE(ok) << e.name << " " << job.panel->id << ": " << ok.error().message;
        }
    }
  }
}

// ---- deviations ----------------------------------------------------------------------------------------------------

Json line_of(const char* series, double x, double wfpr) {
  return {{"experiment", "habf-fig10"},
          {"panel", "a"},
          {"series", series},
          {"x", x},
          {"size", "quick"},
          {"filter", series},
          {"params", Json::object()},
          {"workload", {{"keys", 1}}},
          {"values", {{"wfpr", wfpr}}}};
}

TEST(Figures, MarkAPointThatIsMoreThanAFifthFromThePublishedOne) {
  const auto deviations = [](double ours) {
    const Json made = cli::figures({line_of("bloom", 1.5, ours)});
    return made["figures"][0]["panels"][0]["deviations"].size();
  };
  EXPECT_EQ(deviations(0.0173), 0u);
  EXPECT_EQ(deviations(0.0173 * 1.19), 0u);
  EXPECT_EQ(deviations(0.0173 * 0.81), 0u);
  EXPECT_EQ(deviations(0.0173 * 1.21), 1u);
  EXPECT_EQ(deviations(0.0173 * 0.79), 1u);
  EXPECT_EQ(deviations(0), 1u);
}

TEST(Figures, TakeTheLastLineOfAPointAndThePapersSizeFirst) {
  const auto shown = [](const std::vector<Json>& lines) {
    return cli::figures(lines)["figures"][0]["panels"][0]["curves"][0]["points"][0]["y"].get<double>();
  };
  EXPECT_EQ(shown({line_of("bloom", 1.5, 0.1), line_of("bloom", 1.5, 0.2)}), 0.2);
  Json paper = line_of("bloom", 1.5, 0.3);
  paper["size"] = "paper";
  EXPECT_EQ(shown({paper, line_of("bloom", 1.5, 0.2)}), 0.3);
}

TEST(Figures, LeaveOutWhatASeriesOfThatNameWasBefore) {
  const auto shown = [](const Json& line) {
    return cli::figures({line})["figures"][0]["panels"][0]["curves"][0]["points"].size();
  };
  Json line = line_of("bloom", 1.5, 0.1);
  EXPECT_EQ(shown(line), 1u);
  line["params"] = {{"bits_per_key", "1"}};
  EXPECT_EQ(shown(line), 0u) << "at 1.5 MiB there are other bits per key";
  line = line_of("bloom", 1.5, 0.1);
  line["filter"] = "xor";
  line["params"] = {{"bits_per_key", "1"}};
  EXPECT_EQ(shown(line), 0u);
}

}  // namespace
}  // namespace naysay
