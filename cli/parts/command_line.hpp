// SPDX-License-Identifier: Apache-2.0
// CommandLine: what the user typed, as commands with options. Only command_line.cpp knows the library that parses it
// (CLI11), which would be most of the compile time of every file that included it.
//
//   Command c = line.command("inspect", "say what is in a filter's file");
//   c.option("filter", o->filter, "a file that naysay build wrote").required().type_name("F.nsy");
//   c.flag("--json", o->json, "as JSON");
//   c.footer("Example:\n  naysay inspect set.nsy");
//   c.runs([o] { run(*o); });
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace naysay::cli {

// An option of a command; what it returns is itself, so that these can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  Option& type_name(const char* name);  // what the help writes for the value: FILE, N
  Option& shows_default();              // the help shows the default
  Option& commas();                     // a list with commas between its items
  Option& repeated();                   // a list of one item each time that the option is given
  bool given() const;

 private:
  CLI::Option* option_;
};

// The numbers that an option takes.
template <class Number>
struct NumberRange {
  Number low, high;
  bool above = false;  // the lowest is above `low`

  bool has(Number n) const noexcept { return (above ? n > low : n >= low) && n <= high; }
};
inline constexpr NumberRange<std::uint64_t> kAnyNumber = {0, std::numeric_limits<std::uint64_t>::max()};

// The number in a text. Throws a Failure that names the option, the text and the range if there is none, or none in the
// range: "--capacity is '-1'; it must be a whole number from 0 to 281474976710656".
template <class Number>
Number need_number(const std::string& option, const std::string& text, const NumberRange<Number>& range);

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}
  // names: "--keys", "-o,--output", or without hyphens for an argument that is given by position. The value may be a
  // string, a vector of strings, or a number, which is then held to what its type has; it must outlive the parsing.
  template <class Value>
  Option option(const char* names, Value& value, const char* help);
  // A number within a range: unsigned, 64-bit, or a double; or a list of doubles, each within it. Another one is refused
  // with a sentence that has the range.
  Option number(const char* names, unsigned& value, NumberRange<unsigned> range, const char* help);
  Option number(const char* names, std::uint64_t& value, NumberRange<std::uint64_t> range, const char* help);
  Option number(const char* names, double& value, NumberRange<double> range, const char* help);
  Option numbers(const char* names, std::vector<double>& values, NumberRange<double> range, const char* help);
  void flag(const char* names, bool& value, const char* help);
  void takes_anything(std::vector<std::string>& rest);  // whatever stands after it
  void footer(const char* text);
  void runs(std::function<void()> action);

 private:
  CLI::App* app_;
};

// The texts of the help, for who writes them in another form: manual pages, completion.
struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of an argument by position the name alone
  std::string value;               // FILE, N, quick|paper; empty for a flag
  std::string help;
  std::string standard;  // the default, if the help shows one
  bool by_position = false, required = false, repeated = false;
};
struct CommandText {
  std::string name, about, footer;  // the footer holds the example
  std::vector<OptionText> options;
};

class CommandLine {
 public:
  CommandLine(const char* about, const char* version, const char* footer);
  ~CommandLine();
  Command command(const char* name, const char* help);
  // Runs the command that is named, or prints help. Throws a Failure if the line makes no sense: it names what is near
  // to a command or an option that does not exist, and the help to read.
  void run(int argc, char** argv);

  CommandText text() const;                   // of naysay itself
  std::vector<CommandText> commands() const;  // in the order of the help

 private:
  void need_command(int argc, char** argv) const;

  std::unique_ptr<CLI::App> app_;
};

}  // namespace naysay::cli
