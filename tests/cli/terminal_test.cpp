// SPDX-License-Identifier: Apache-2.0
// Manners on a terminal: the tool runs on a pseudo-terminal of a chosen width.
#include "parts/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>

#include <csignal>

#include "parts/progress.hpp"
#include "parts/table.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using namespace std::string_literals;

TEST(Escaped, ShowsControlBytesAndWhatIsNotUtf8) {
  EXPECT_EQ(cli::escaped("plain text"), "plain text");
  EXPECT_EQ(cli::escaped("a\x1b[2Jb\r\n\t\x7f"), "a\\x1b[2Jb\\x0d\\n\\t\\x7f");
  EXPECT_EQ(cli::escaped("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(cli::escaped("\xff \xc3( \xe2\x82 \xc0\x80 \xed\xa0\x80"),
            "\\xff \\xc3( \\xe2\\x82 \\xc0\\x80 \\xed\\xa0\\x80");
  EXPECT_EQ(cli::escaped("\xc2\x9b"
                         "2J"),
            "\\xc2\\x9b2J")
      << "a control sequence of one character";
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(cli::wrapped("one two three", 20), "one two three");
  EXPECT_EQ(cli::wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(cli::wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(cli::wrapped("one twotwotwo three", 7), "one\ntwotwotwo\nthree");
  EXPECT_EQ(cli::wrapped("one\ntwo three", 100), "one\ntwo three");
  EXPECT_EQ(cli::wrapped("", 10), "");
}

TEST(CutText, KeepsItsBothEnds) {
  EXPECT_EQ(cli::cut("short", 10), "short");
  EXPECT_EQ(cli::cut("reading a very long name.txt", 15), "readin...me.txt");
  EXPECT_EQ(cli::cut("abcdef", 2), "..");
  EXPECT_EQ(cli::cut("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 5), "\xc3\xbc...\xc3\xbc") << "by characters";
}

TEST(ProgressLine, FitsAnyWidth) {
  const std::string stage = "reading " + std::string(200, 'x') + ".txt";
  for (std::size_t columns = 0; columns < 200; ++columns) {
    const std::string line = cli::ProgressBar::text(stage, 42, 100, columns),
                      amount = cli::ProgressBar::text(stage, 42'000'000, 0, columns);
    EXPECT_LE(line.size(), columns == 0 ? 0 : columns - 1);
    EXPECT_LE(amount.size(), columns == 0 ? 0 : columns - 1);
    if (columns > 20) EXPECT_TRUE(line.ends_with(" 42 %")) << line;
    if (columns > 60) EXPECT_NE(line.find("[##########..............]"), line.npos) << line;
  }
  EXPECT_EQ(cli::ProgressBar::text("reading keys.txt", 42, 100, 80),
            "reading keys.txt [##########..............]  42 %");
  EXPECT_EQ(cli::ProgressBar::text("reading a\x1b[2J", 1, 0, 80), "reading a\\x1b[2J 0 MB");
  EXPECT_EQ(cli::ProgressBar::text("x", ~std::uint64_t{0} - 1, ~std::uint64_t{0}, 80).substr(0, 5), "x [##");
}

TEST(TableParts, HaveTheFirstColumnAndWholeOtherColumns) {
  using cli::Table;
  Table table({{"name", Table::Align::left}, {"first"}, {"second"}, {"third"}});
  table.add({"a", "1", "22", "333"});
  table.add({"bb", "why it has no numbers at all"});
  const std::string wide =
      "name  first  second  third\na         1      22    333\nbb    why it has no numbers at all\n";
  EXPECT_EQ(table.text(cli::kAnyWidth), wide);
  EXPECT_EQ(table.text(34), wide);
  EXPECT_EQ(table.text(26),
            "name  first  second  third\na         1      22    333\nbb    why it has no\n      numbers at all\n");
  EXPECT_EQ(
      table.text(20),
      "name  first  second\na         1      22\nbb    why it has no numbers at all\n\nname  third\na       333\n")
      << "14 columns are too few for a sentence";
  Table text({{"name", Table::Align::left}, {"number"}, {"about", Table::Align::left}});
  text.add({"a", "1", "a sentence of several words"});
  EXPECT_EQ(text.text(30), "name  number\na          1\n\nname  about\na     a sentence of several\n      words\n");
}

// ---- the tool on a terminal --------------------------------------------------------------------------------------------

class TerminalTool : public Tool {
 protected:
  // What a command writes to a terminal of this width. `then` is called once `word` is seen.
  std::string on_terminal(const std::string& command, unsigned short columns, const std::string& word = "",
                          const std::function<void(int terminal)>& then = {}) const {
    const std::filesystem::path binary = NAYSAY_BINARY;
    const std::string line =
        "cd '" + path("") + "' && PATH='" + binary.parent_path().string() + "':\"$PATH\" && exec " + command;
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    termios plain{};
    ::cfmakeraw(&plain);
    plain.c_lflag |= ISIG;
    plain.c_cc[VINTR] = 3;
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, &plain, &size);
    if (child == 0) {
      ::setenv("TERM", "xterm", 1);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    EXPECT_GT(child, 0);
    std::string seen;
    bool told = false;
    char buffer[4096];
    for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);) {
      if (n > 0) seen.append(buffer, static_cast<std::size_t>(n));
      if (!told && then && seen.find(word) != seen.npos) {
        told = true;
        then(terminal);
      }
    }
    ::close(terminal);
    EXPECT_EQ(::waitpid(child, &status_, 0), child);
    return seen;
  }
  static std::size_t widest(const std::string& text) {
    std::size_t most = 0;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) most = std::max(most, line.size());
    return most;
  }

  mutable int status_ = 0;
};

TEST_F(TerminalTool, GetsTablesThatFitIt) {
  must("naysay generate urls --count 500 -o keys && naysay generate urls --count 1500 --first 500 -o negatives");
  const std::string compare =
      "naysay compare --keys keys --negatives negatives --bits-per-key 10 --filters bloom,taught-ribbon";
  for (const std::string& command : {compare, "naysay filters"s, "naysay bench --list"s}) {
    for (const unsigned short columns : std::vector<unsigned short>{80, 120}) {
      const std::string text = on_terminal(command + " 2>/dev/null", columns);
      EXPECT_EQ(WEXITSTATUS(status_), 0) << text;
      EXPECT_LE(widest(text), columns) << text;
      EXPECT_EQ(text.find('\x1b'), text.npos) << "no colour";
    }
    // In a file, lines stay whole.
    const std::string piped = must(command);
    EXPECT_GT(widest(piped), 80u);
  }
  const std::string wide = on_terminal(compare + " 2>/dev/null", 250);
  EXPECT_NE(wide.find("filter  "), wide.npos);
  EXPECT_EQ(wide.find("\nbloom "), wide.rfind("\nbloom ")) << "one part: " << wide;
  EXPECT_NE(on_terminal(compare + " 2>/dev/null", 80).find("\n\nfilter "), std::string::npos) << "several parts";
}

TEST_F(TerminalTool, GetsProgressLinesThatFitIt) {
  const std::string name(120, 'k');
  must("naysay generate integers --count 100000 -o " + name);
  const std::string text =
      on_terminal("naysay build --keys " + name + " --filter bloom --bits-per-key 9 -o set.nsy >out", 60);
  ASSERT_NE(text.find("reading kkk"), text.npos) << text;
  for (std::size_t at = 0, end; (at = text.find("\r\x1b[K", at)) != text.npos; at = end) {
    end = std::min(text.find("\r\x1b[K", at + 1), text.size());
    EXPECT_LT(end - at - 4, 60u) << text.substr(at, end - at);
  }
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
  EXPECT_EQ(on_terminal("env TERM=dumb naysay build --keys " + name + " --filter bloom --bits-per-key 9 -o s >out", 60),
            "");
}

TEST_F(TerminalTool, IsLeftWithoutAProgressLineByCtrlC) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int pipe = ::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC);  // so that neither end waits
  ASSERT_GT(pipe, 0);
  ASSERT_EQ(::write(pipe, "a\nb\n", 4), 4);
  const std::string text =
      on_terminal("naysay build --keys pipe --filter bloom --bits-per-key 9 -o set.nsy >out", 80, "reading pipe",
                  [](int terminal) { EXPECT_EQ(::write(terminal, "\x03", 1), 1); });
  ::close(pipe);
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
  EXPECT_TRUE(WIFSIGNALED(status_) ? WTERMSIG(status_) == SIGINT : WEXITSTATUS(status_) == 130) << status_;
  EXPECT_FALSE(exists("set.nsy"));
}

TEST_F(TerminalTool, GetsNoFilter) {
  write("keys", "a\n");
  const std::string text = on_terminal("naysay build --keys keys --filter bloom --bits-per-key 9 -o -", 200);
  EXPECT_EQ(WEXITSTATUS(status_), 2);
  EXPECT_TRUE(sample::says(text, {"--output", "-", "terminal"}));
}

TEST_F(TerminalTool, IsNotSteeredByWhatAFileHolds) {
  write("keys", "a\n");
  write("bad", "x\t\x1b[2J\n");
  const Ran ran = shell("naysay build --keys keys --negatives bad --filter bloom --bits-per-key 9 -o set.nsy");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "naysay: bad:1: cost is '\\x1b[2J'; it must be a number of 0 or more\n");
  const Ran option =
      shell("naysay build --keys keys --bits-per-key \"$(printf '9\\nnaysay: all is well')\" -o set.nsy");
  EXPECT_EQ(std::count(option.err.begin(), option.err.end(), '\n'), 1) << option.err;
}

}  // namespace
}  // namespace naysay
