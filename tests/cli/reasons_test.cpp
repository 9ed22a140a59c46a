// SPDX-License-Identifier: Apache-2.0
// A reason for a deviation is tested or guessed, and says which.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "experiments/claim.hpp"
#include "experiments/experiment.hpp"

namespace naysay {
namespace {

// The experiment that a reason names: the word after "naysay bench".
std::string named_in(std::string_view why) {
  constexpr std::string_view kCommand = "naysay bench ";
  const std::size_t at = why.find(kCommand);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = why.substr(at + kCommand.size());
  return std::string(rest.substr(0, rest.find_first_of(" ,.:;)")));
}

TEST(Reasons, AreTestedByAnExperimentOrMarkedAsAGuess) {
  for (const cli::Experiment& e : cli::experiments())
    for (const cli::Panel& p : e.panels)
      for (const cli::Published& published : p.published) {
        const std::string_view why = published.why;
        if (why.empty()) continue;
        const std::string experiment = named_in(why);
        EXPECT_TRUE(why.starts_with(cli::kGuess) || cli::find_experiment(experiment) != nullptr)
            << e.name << " " << p.id << ": \"" << why << "\" neither begins with \"" << cli::kGuess
            << "\" nor names an experiment that tests it";
        EXPECT_TRUE(experiment.empty() || cli::find_experiment(experiment) != nullptr)
            << e.name << " " << p.id << " names " << experiment << ", and there is no such experiment";
      }
}

// "naysay bench NAME, PANEL": both must be there.
TEST(Reasons, OfClaimsAreTestedByAPanelThatThereIs) {
  int tested = 0;
  for (const cli::Claim& c : cli::claims()) {
    const std::string_view command = c.tested;
    if (command.empty()) continue;
    ++tested;
    EXPECT_STRNE(c.why, "") << c.text << ": what is tested?";
    const cli::Experiment* e = cli::find_experiment(named_in(command));
    ASSERT_NE(e, nullptr) << command;
    const std::size_t comma = command.find(", ");
    ASSERT_NE(comma, std::string_view::npos) << command << " names no panel";
    EXPECT_TRUE(std::any_of(e->panels.begin(), e->panels.end(), [&](const cli::Panel& p) {
      return command.substr(comma + 2) == p.id;
    })) << command;
  }
  EXPECT_GE(tested, 5);
}

// What is called "as in the paper" is what the paper describes, not what we would choose.
TEST(Reasons, KnowTheBaselinesThatThePapersDescribe) {
  const auto params_of = [](const char* experiment, std::string_view series) {
    std::string text;
    for (const cli::Series& s : cli::find_experiment(experiment)->panels[0].series)
      if (s.name == series) {
        for (const Param& p : s.params) text += p.name + "=" + p.value + " ";
        text += s.inserted ? "inserted " : "";
        text += s.texts ? "strings" : "";
      }
    return text;
  };
  EXPECT_EQ(params_of("sscf-fig11", "SSCF as in the paper"),
            "plan=paper alpha=0.1 encode=5 % extra=0 query=leaning_round ");
  EXPECT_EQ(params_of("sscf-fig11", "SF as in the paper"), "known=0.05 rates=equal inserted ");
  EXPECT_EQ(params_of("sscf-fig11", "WCBF as in the paper"), "list=outside listed=0.005 % ");
  EXPECT_EQ(params_of("sscf-fig11", "CBF as in the paper"), "k=ceil ");
  EXPECT_EQ(params_of("sscf-fig14", "ada-SSCF as in the paper"),
            "plan=paper alpha=0.1 encode=5 % extra=0 query=leaning_round bits_per_key=40 ");
  EXPECT_EQ(params_of("habf-fig10", "HABF as in the paper"), "hash_family=independent texts=true repeats=true strings");
  EXPECT_EQ(params_of("habf-fig10", "f-HABF as in the paper"), "cell_bits=4 repeats=true ");
  EXPECT_EQ(params_of("habf-fig10", "WBF as in the paper"), "list=outside listed=0.1 % ");
}

}  // namespace
}  // namespace naysay
