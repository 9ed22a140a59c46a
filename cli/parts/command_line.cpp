// SPDX-License-Identifier: Apache-2.0
#include "parts/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <vector>

#include "parts/failure.hpp"

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
template Option Command::option(const char*, unsigned&, const char*);
template Option Command::option(const char*, std::uint64_t&, const char*);
template Option Command::option(const char*, double&, const char*);
template Option Command::option(const char*, std::vector<std::string>&, const char*);
template Option Command::option(const char*, std::vector<double>&, const char*);

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

void CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help and --version come as exceptions, too
    app_->exit(help);
  } catch (const CLI::ParseError& e) {
    throw Failure{std::string(e.what()) + "; see naysay --help"};
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
