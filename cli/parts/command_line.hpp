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

#include <functional>
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

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}
  // names: "--keys", "-o,--output", or without hyphens for an argument that is given by position. The value may be a
  // string, an unsigned or 64-bit number, a double, or a vector of strings or doubles; it must outlive the parsing.
  template <class Value>
  Option option(const char* names, Value& value, const char* help);
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
  // Runs the command that is named, or prints help. Throws a Failure if the line makes no sense.
  void run(int argc, char** argv);

  CommandText text() const;                   // of naysay itself
  std::vector<CommandText> commands() const;  // in the order of the help

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace naysay::cli
