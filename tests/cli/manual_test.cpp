// SPDX-License-Identifier: Apache-2.0
// The manual pages and the completion scripts say what --help says.
#include <regex>
#include <set>

#include "cli/tool.hpp"

namespace naysay {
namespace {

class Manual : public Tool {
 protected:
  // The commands that naysay --help lists.
  std::vector<std::string> commands() const {
    const std::string help = must("naysay --help");
    std::vector<std::string> names;
    const std::size_t start = help.find("Subcommands:\n");
    EXPECT_NE(start, std::string::npos) << help;
    static const std::regex line("\n  ([a-z]+) ");
    const std::string list = help.substr(start, help.find("\n\n", start) - start);
    for (std::sregex_iterator i(list.begin(), list.end(), line), end; i != end; ++i) names.push_back((*i)[1]);
    EXPECT_GE(names.size(), 13u);
    return names;
  }
  // The options that naysay COMMAND --help lists; its first column, because sentences mention other commands' options.
  std::set<std::string> options(const std::string& command) const {
    const std::string help = must("naysay " + command + " --help");
    std::set<std::string> names;
    static const std::regex entry("\n  (?:-[a-zA-Z0-9],)?(--[a-z][a-z-]*)");
    for (std::sregex_iterator i(help.begin(), help.end(), entry), end; i != end; ++i) names.insert((*i)[1]);
    EXPECT_TRUE(names.contains("--help")) << command;
    return names;
  }
  static std::string in_roff(const std::string& text) { return std::regex_replace(text, std::regex("-"), "\\-"); }
};

TEST_F(Manual, HasAPageForEveryCommandWithEveryOptionOfItsHelp) {
  must("naysay manual --all all");
  const std::string main = read("all/man/man1/naysay.1");
  for (const std::string& command : commands()) {
    EXPECT_NE(main.find("naysay\\-" + command + "\\fR(1)"), std::string::npos) << command;
    const std::string page = read("all/man/man1/naysay-" + command + ".1");
    EXPECT_EQ(page, must("naysay manual " + command));
    for (const std::string& option : options(command))
      EXPECT_NE(page.find("\\fB" + in_roff(option) + "\\fR"), std::string::npos) << command << " " << option;
  }
}

TEST_F(Manual, PagesAreReadByManWithoutAWarning) {
  must("naysay manual --all all");
  const Ran ran = shell("for page in all/man/man1/*.1; do groff -man -ww -z -Tutf8 \"$page\" || exit 1; done");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  const std::string page = must("groff -man -Tascii -P-cbou all/man/man1/naysay-build.1");
  EXPECT_TRUE(sample::says(page, {"naysay build", "--bits-per-key", "--param NAME=VALUE", "naysay generate urls"}));
}

TEST_F(Manual, CompletesCommandsOptionsFiltersAndWordsInBash) {
  write("complete.bash",
        "eval \"$(naysay manual --completion bash)\"\n"
        "COMP_WORDS=(\"$@\")\n"
        "COMP_CWORD=$(($# - 1))\n"
        "_naysay\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const auto completed = [&](const std::string& words) {
    std::istringstream lines(must("bash complete.bash " + words));
    std::set<std::string> found;
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) found.insert(line);
    return found;
  };
  using Words = std::set<std::string>;
  const std::vector<std::string> all = commands();
  Words expected(all.begin(), all.end());
  expected.insert({"--help", "--version"});
  EXPECT_EQ(completed("naysay ''"), expected);
  EXPECT_EQ(completed("naysay que"), (Words{"query"}));
  for (const std::string& command : all) EXPECT_EQ(completed("naysay " + command + " --"), options(command)) << command;
  EXPECT_EQ(completed("naysay build --filter taught"), (Words{"taught-ribbon"}));
  EXPECT_EQ(completed("naysay build --filter au"), (Words{"auto"}));
  EXPECT_EQ(completed("naysay bench --size ''"), (Words{"tiny", "quick", "paper"}));
  EXPECT_EQ(completed("naysay build --keys comp"), (Words{"complete.bash"}));
  EXPECT_EQ(completed("naysay build --seed ''"), (Words{})) << "a number";
}

TEST_F(Manual, ScriptsAreReadByTheirShells) {
  must("naysay manual --all all");
  must("bash -n all/bash-completion/completions/naysay");
  must("zsh -n all/zsh/vendor-completions/_naysay");
  must("fish --no-execute all/fish/vendor_completions.d/naysay.fish");
  const std::string completed = must(
      "fish --no-config -c 'source all/fish/vendor_completions.d/naysay.fish; complete -C \"naysay build --bits\"'");
  EXPECT_TRUE(sample::says(completed, {"--bits-per-key"}));
}

TEST_F(Manual, RefusesCommandsAndShellsThatDoNotExist) {
  refuses("naysay manual bulid", {"bulid", "naysay --help"});
  refuses("naysay manual --completion tcsh", {"tcsh", "bash, zsh or fish"});
}

}  // namespace
}  // namespace naysay
