// SPDX-License-Identifier: Apache-2.0
#include "parts/command_line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <type_traits>

#include "naysay/core/archive.hpp"
#include "parts/failure.hpp"
#include "parts/nearest.hpp"

namespace naysay::cli {

Option& Option::required() { return option_->required(), *this; }
Option& Option::type_name(const char* name) { return option_->type_name(name), *this; }
Option& Option::shows_default() { return option_->capture_default_str(), *this; }
Option& Option::commas() { return option_->delimiter(','), *this; }
Option& Option::repeated() { return option_->expected(1)->take_all(), *this; }
bool Option::given() const { return option_->count() > 0; }

template <class Value>
Option Command::option(const char* names, Value& value, const char* help) {
  return Option(app_->add_option(names, value, help));
}
template Option Command::option(const char*, std::string&, const char*);
template Option Command::option(const char*, std::vector<std::string>&, const char*);
template <>
Option Command::option(const char* names, unsigned& value, const char* help) {
  return number(names, value, {0, std::numeric_limits<unsigned>::max()}, help);
}
template <>
Option Command::option(const char* names, std::uint64_t& value, const char* help) {
  return number(names, value, kAnyNumber, help);
}
template <>
Option Command::option(const char* names, double& value, const char* help) {
  return number(names, value, {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()}, help);
}

template <class Number>
Number need_number(const std::string& option, const std::string& text, const NumberRange<Number>& range) {
  constexpr const char* kKind = std::is_integral_v<Number> ? "whole number" : "number";
  Number value{};
  std::string unused;
  if (from_text(text, value, unused) && range.has(value)) return value;
  const std::string right = range.above ? fmt::format("above {} and at most {}", range.low, range.high)
                                        : fmt::format("from {} to {}", range.low, range.high);
  throw Failure{fmt::format("{} is '{}'; it must be a {} {}", option, text, kKind, right)};
}
template unsigned need_number(const std::string&, const std::string&, const NumberRange<unsigned>&);
template std::uint64_t need_number(const std::string&, const std::string&, const NumberRange<std::uint64_t>&);
template double need_number(const std::string&, const std::string&, const NumberRange<double>&);

namespace {

// "-o,--output" -> "--output"
std::string long_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

template <class Number>
Option number_option(CLI::App& app, const char* names, Number& value, const NumberRange<Number>& range,
                     const char* help) {
  CLI::Option* option = app.add_option_function<std::string>(
      names,
      [&value, range, name = long_name(names)](const std::string& text) { value = need_number(name, text, range); },
      help);
  option->default_function([&value] { return fmt::format("{}", value); });
  return Option(option);
}

}  // namespace

Option Command::number(const char* names, unsigned& value, NumberRange<unsigned> range, const char* help) {
  return number_option(*app_, names, value, range, help);
}
Option Command::number(const char* names, std::uint64_t& value, NumberRange<std::uint64_t> range, const char* help) {
  return number_option(*app_, names, value, range, help);
}
Option Command::number(const char* names, double& value, NumberRange<double> range, const char* help) {
  return number_option(*app_, names, value, range, help);
}
Option Command::numbers(const char* names, std::vector<double>& values, NumberRange<double> range, const char* help) {
  return Option(app_->add_option_function<std::vector<std::string>>(
      names,
      [&values, range, name = long_name(names)](const std::vector<std::string>& texts) {
        values.clear();
        for (const std::string& text : texts) values.push_back(need_number(name, text, range));
      },
      help));
}

void Command::flag(const char* names, bool& value, const char* help) { app_->add_flag(names, value, help); }
void Command::takes_anything(std::vector<std::string>& rest) {
  app_->prefix_command();
  app_->add_option("arguments", rest, "");
}
void Command::footer(const char* text) { app_->footer(text); }
void Command::runs(std::function<void()> action) { app_->callback(std::move(action)); }

CommandLine::CommandLine(const char* about, const char* version, const char* footer)
    : app_(std::make_unique<CLI::App>(about, "naysay")) {
  app_->set_version_flag("--version", version, "print the version and end");
  app_->require_subcommand(1);
  app_->footer(footer);
}
CommandLine::~CommandLine() = default;

Command CommandLine::command(const char* name, const char* help) { return Command(app_->add_subcommand(name, help)); }

namespace {

// The options of a command that begin with these hyphens, for comparing with what was typed.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

void CommandLine::need_command(int argc, char** argv) const {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  throw Failure{fmt::format("no command '{}'{}", argv[1], or_nearest(argv[1], names, "see naysay --help"))};
}

void CommandLine::run(int argc, char** argv) {
  need_command(argc, argv);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help and --version come as exceptions, too
    app_->exit(help);
  } catch (const CLI::ParseError& e) {
    const auto given = app_->get_subcommands();  // those of this line
    const CLI::App& command = given.empty() ? *app_ : *given[0];
    const std::string help = given.empty() ? "naysay --help" : "naysay " + command.get_name() + " --help";
    // An option that was mistyped explains more than the one that is missing for it.
    for (const std::string& extra : app_->remaining(true)) {
      if (extra.size() < 2 || extra[0] != '-') continue;
      const std::string name = extra.substr(0, extra.find('='));
      throw Failure{fmt::format("no option '{}'{}", name, or_nearest(name, option_names(command), "see " + help))};
    }
    throw Failure{fmt::format("{}; see {}", e.what(), help)};
  }
}

namespace {

CommandText text_of(const CLI::App& app) {
  CommandText c{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* o : app.get_options()) {
    OptionText t;
    for (const std::string& name : o->get_snames()) t.names.push_back("-" + name);
    for (const std::string& name : o->get_lnames()) t.names.push_back("--" + name);
    t.by_position = t.names.empty();
    if (t.by_position) t.names.push_back(o->get_name());
    if (o->get_expected_max() > 0) t.value = o->get_type_name();
    t.help = o->get_description();
    t.standard = o->get_default_str();
    t.required = o->get_required();
    t.repeated = o->get_expected_max() > 1 || o->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    c.options.push_back(std::move(t));
  }
  return c;
}

}  // namespace

CommandText CommandLine::text() const { return text_of(*app_); }

std::vector<CommandText> CommandLine::commands() const {
  std::vector<CommandText> all;
  for (const CLI::App* app : static_cast<const CLI::App&>(*app_).get_subcommands(nullptr)) all.push_back(text_of(*app));
  return all;
}

}  // namespace naysay::cli
