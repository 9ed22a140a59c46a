// SPDX-License-Identifier: Apache-2.0
// naysay manual: manual pages and completion scripts, from the same texts as --help. Packages install what it writes.
#include "parts/manual.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/failure.hpp"
#include "parts/nearest.hpp"
#include "parts/output.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string page, completion, all;
};

void write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw Failure{fmt::format("{}: cannot be made: {}", path.parent_path().string(), error.message())};
  Output out(path.string());
  out.write(text);
  out.finish();
}

std::string page_of(const CommandLine& line, const std::string& name) {
  const std::vector<CommandText> commands = line.commands();
  if (name == "naysay") return main_page(line.text(), commands);
  for (const CommandText& c : commands)
    if (c.name == name) return command_page(c);
  std::vector<std::string> names;
  for (const CommandText& c : commands) names.push_back(c.name);
  throw Failure{fmt::format("no command '{}'{}", name, or_nearest(name, names, "see naysay --help"))};
}

std::string completion_of(const CommandLine& line, const std::string& shell) {
  std::vector<std::string> filters;
  for (const FilterType& t : filter_types()) filters.emplace_back(t.name);
  const std::vector<CommandText> commands = line.commands();
  if (shell == "bash") return bash_completion(commands, filters);
  if (shell == "zsh") return zsh_completion(commands, filters);
  if (shell == "fish") return fish_completion(commands, filters);
  throw Failure{fmt::format("--completion is '{}'; it must be bash, zsh or fish", shell)};
}

// The folders are those of a Debian system below /usr/share.
void write_all(const CommandLine& line, const std::filesystem::path& folder) {
  write(folder / "man/man1/naysay.1", page_of(line, "naysay"));
  for (const CommandText& c : line.commands())
    write(folder / "man/man1" / ("naysay-" + c.name + ".1"), command_page(c));
  write(folder / "bash-completion/completions/naysay", completion_of(line, "bash"));
  write(folder / "zsh/vendor-completions/_naysay", completion_of(line, "zsh"));
  write(folder / "fish/vendor_completions.d/naysay.fish", completion_of(line, "fish"));
}

}  // namespace

void add_manual(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("manual", "print a manual page, or the completion of a shell");
  c.option("page", o->page, "naysay, or a command").type_name("COMMAND");
  c.option("--completion", o->completion, "print completion for this shell instead").type_name("bash|zsh|fish");
  c.option("--all", o->all, "write all pages and scripts below this folder, as they lie in /usr/share")
      .type_name("FOLDER");
  c.footer(
      "Example:\n"
      "  naysay manual build | man -l -\n"
      "  eval \"$(naysay manual --completion bash)\"");
  c.runs([o, &line] {
    if (!o->all.empty())
      write_all(line, o->all);
    else
      fmt::print("{}", o->completion.empty() ? page_of(line, o->page.empty() ? "naysay" : o->page)
                                             : completion_of(line, o->completion));
  });
}

}  // namespace naysay::cli
