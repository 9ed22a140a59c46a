// SPDX-License-Identifier: Apache-2.0
// Adaptive filters from the shell and in the experiments: those that keep their keys next to them, in memory or in a file.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "experiments/claim.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Json = nlohmann::ordered_json;

class AdaptiveTool : public Tool {
 protected:
  void SetUp() override {
    Tool::SetUp();
    must("naysay generate urls --count 3000 -o keys && naysay generate urls --count 60000 --first 5000 -o negatives");
  }
  std::uint64_t accepted(const std::string& file, const std::string& of) const {
    const std::string lines = must("naysay query " + file + " " + of);
    return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
};

TEST_F(AdaptiveTool, TakesReportsToAnAdaptiveCuckooFilterWithoutLosingAKey) {
  must(
      "naysay build --keys keys --filter adaptive-cuckoo --bits-per-key 9 -o set.nsy && head -n 6000 negatives > some");
  must("naysay query set.nsy some > reported; head -n 100 keys >> reported");
  const std::uint64_t before = accepted("set.nsy", "some");
  ASSERT_GT(before, 80u);
  const std::string said = must("naysay update set.nsy --adapt reported");
  EXPECT_TRUE(sample::says(said, {"refused", "not refused", "they are keys", "report those again"}));
  EXPECT_EQ(said.find("would be denied"), std::string::npos) << "it knows its keys";
  EXPECT_LT(accepted("set.nsy", "some") * 4, before);
  EXPECT_EQ(accepted("set.nsy", "keys"), 3000u);
  EXPECT_TRUE(sample::says(must("naysay inspect set.nsy"), {"index", "no query reads"}));
  refuses("naysay build --keys keys --filter adaptive-cuckoo --bits-per-key 9 -o a.nsy --without-index b.nsy",
          {"--without-index", "adaptive-cuckoo", "cuckoo"});
}

TEST_F(AdaptiveTool, SaysWhatAVariableHashFilterNeedsToAdapt) {
  must("naysay build --keys keys --filter variable-hash --bits-per-key 8 --slots set.slots -o set.nsy");
  must("naysay query set.nsy negatives > reported");
  refuses("naysay update set.nsy --adapt reported", {"set.nsy", "--slots", "naysay build"});
  refuses("naysay observe reported --adapt set.nsy", {"variable-hash", "file of its keys", "--slots"});
  must("naysay update set.nsy --adapt reported --slots set.slots");
  EXPECT_LT(accepted("set.nsy", "reported") * 10, accepted("set.nsy", "negatives") + 500);
  EXPECT_EQ(accepted("set.nsy", "keys"), 3000u);
}

TEST_F(AdaptiveTool, IsListedAsAdaptive) {
  std::map<std::string, bool> adaptive;
  for (const Json& f : Json::parse(must("naysay filters --json"))) adaptive[f["name"]] = f["adaptive"];
  EXPECT_TRUE(adaptive["variable-hash"] && adaptive["adaptive-cuckoo"] && adaptive["guarded"]);
  EXPECT_FALSE(adaptive["cuckoo"]);
}

TEST_F(AdaptiveTool, IsNeverAdvisedForBitsThatAreNotAllItUses) {
  must("head -n 3000 negatives > some");
  for (const char* seed : {"1", "2", "3"}) {  // by chance either accepts fewer
    const std::string said =
        must("naysay compare --keys keys --negatives some --bits-per-key 12 --filters cuckoo,adaptive-cuckoo --seed " +
             std::string(seed));
    EXPECT_TRUE(sample::says(said, {"Use cuckoo"}));
    EXPECT_EQ(said.find("use adaptive-cuckoo"), std::string::npos) << said;
  }
}

// ---- stacked-fig7 ---------------------------------------------------------------------------------------------------

TEST_F(AdaptiveTool, ReadsFromTheDiskForEveryErrorOfALife) {
  must("naysay bench stacked-fig7 --size tiny --out r.jsonl");
  std::set<std::string> lived;
  std::istringstream lines(read("r.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text);
    const Json& v = line["values"];
    if (line["panel"] == "a") {
      EXPECT_TRUE(v["direct"].is_boolean()) << "whether the page cache was passed by";
      EXPECT_GT(v["read_ns"], 0);
      EXPECT_GT(v["reads"], 0);
      lived.insert(line["series"].get<std::string>());
    } else if (line["panel"] == "b") {
      EXPECT_FALSE(v.contains("direct"));
      EXPECT_EQ(v["read_ns"], 1e7);
    } else {
      EXPECT_LE(v["absorbed_per_key"], v["reported_per_key"]);
      EXPECT_GT(v["absorbed_per_key"], 0) << line;
    }
    if (line["filter"] == "adaptive-cuckoo") EXPECT_GT(v["index_bits_per_key"], 64) << "counted apart";
  }
  for (const char* name : {"bloom", "adaptive-stacked", "variable-hash", "adaptive-cuckoo", "guarded"})
    EXPECT_TRUE(lived.contains(name)) << name;
  for (const cli::Panel& p : cli::find_experiment("stacked-fig7")->panels)
    EXPECT_EQ(std::string_view(p.title).find("computed") != std::string_view::npos, p.setup.read_us > 0) << p.title;
}

const cli::Claim& claim_with(std::string_view words) {
  for (const cli::Claim& c : cli::claims())
    if (std::string_view(c.text).find(words) != std::string_view::npos) return c;
  ADD_FAILURE() << "no claim says: " << words;
  return cli::claims()[0];
}

Json row(const char* panel, const char* series, Json x) {
  return {{"experiment", "stacked-fig7"},
          {"panel", panel},
          {"series", series},
          {"x", std::move(x)},
          {"size", "quick"},
          {"filter", series},
          {"params", Json::object()},
          {"workload", {{"keys", 1e6}, {"negatives", 1e6}, {"zipf", 0.0}}}};
}
cli::Verdict verdict(const cli::Claim& c, const std::vector<Json>& rows) {
  std::vector<const Json*> lines;
  for (const Json& r : rows) lines.push_back(&r);
  return cli::judge(c, lines).verdict;
}

TEST(AdaptiveClaims, OfAbsorbingAreJudgedFromRows) {
  const cli::Claim& c = claim_with("k times as many reported negatives");
  const auto rows = [](double hash, double stack) {
    Json a = row("c", "variable-hash", 10), b = row("c", "adaptive-stacked", 10);
    a["values"] = {{"absorbed_per_key", hash}, {"absorbed_per_halving", hash / 8}};
    b["values"] = {{"absorbed_per_key", stack}, {"absorbed_per_halving", stack / 7}};
    return std::vector<Json>{a, b};
  };
  EXPECT_EQ(verdict(c, rows(2, 0.1)), cli::Verdict::confirmed);
  EXPECT_EQ(verdict(c, rows(2, 0.5)), cli::Verdict::contradicted) << "4 times as many, and k is 8";
  EXPECT_EQ(verdict(c, {}), cli::Verdict::out_of_reach);
}

TEST(AdaptiveClaims, OfAColdStartAreJudgedFromRows) {
  const auto rows = [](double hash, double stack) {
    std::vector<Json> out;
    for (const auto& [name, first] : {std::pair("bloom", 0.01), {"variable-hash", hash}, {"adaptive-stacked", stack}}) {
      Json line = row("b", name, nullptr);
      line["curve"] = {{{"x", 0}, {"seconds", 0.1}, {"wfpr", nullptr}},
                       {{"x", 1e5}, {"seconds", 1}, {"wfpr", first}},
                       {{"x", 2e5}, {"seconds", 2}, {"wfpr", first / 2}}};
      out.push_back(line);
    }
    return out;
  };
  const cli::Claim &none = claim_with("has no cold start"), &one = claim_with("has a cold start");
  EXPECT_EQ(verdict(none, rows(0.003, 0.02)), cli::Verdict::confirmed);
  EXPECT_EQ(verdict(none, rows(0.03, 0.02)), cli::Verdict::contradicted);
  EXPECT_EQ(verdict(one, rows(0.003, 0.02)), cli::Verdict::confirmed);
  EXPECT_EQ(verdict(one, rows(0.003, 0.002)), cli::Verdict::contradicted);
  EXPECT_EQ(verdict(claim_with("lower the errors of a variable hash"), rows(0.003, 0.02)), cli::Verdict::confirmed);
}

}  // namespace
}  // namespace naysay
