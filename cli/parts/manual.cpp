// SPDX-License-Identifier: Apache-2.0
#include "parts/manual.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "naysay/version.hpp"

namespace naysay::cli {

namespace {

// ---- manual pages: roff --------------------------------------------------------------------------------------------

// Text that roff leaves as it is: no line begins with a control character, and a hyphen stays one that can be copied.
std::string plain(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_start = c == '\n';
  }
  return out;
}

// Lines that must not be filled: examples.
std::string as_it_is(std::string_view text) { return fmt::format(".nf\n{}\n.fi\n", plain(text)); }

std::string head(std::string_view page, std::string_view about) {
  std::string title(page);
  std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return fmt::format(".TH {} 1 \"\" \"naysay {}\" \"naysay\"\n.SH NAME\n{} \\- {}\n", title, NAYSAY_VERSION,
                     plain(page), plain(about));
}

std::string option_entry(const OptionText& o) {
  std::string names;
  for (const std::string& name : o.names) names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", plain(name));
  if (!o.by_position && !o.value.empty()) names += fmt::format(" \\fI{}\\fR", plain(o.value));
  std::string help = o.help;
  if (o.required) help += help.empty() ? "Required." : "; required";
  if (o.repeated && !o.by_position && help.find("repeated") == std::string::npos) help += "; may be repeated";
  if (!o.standard.empty()) help += fmt::format("; default {}", o.standard);
  return fmt::format(".TP\n{}\n{}\n", names, plain(help));
}

std::string synopsis(const CommandText& c) {
  std::string line = fmt::format(".B naysay {}\n", plain(c.name));
  const auto add = [&](const OptionText& o) {
    std::string item = o.by_position ? fmt::format("\\fI{}\\fR", plain(o.names[0]))
                                     : fmt::format("\\fB{}\\fR \\fI{}\\fR", plain(o.names.back()), plain(o.value));
    line += item + (o.repeated && o.by_position ? " ..." : "") + "\n";
  };
  for (const OptionText& o : c.options)
    if (!o.by_position && o.required) add(o);
  line += "[\\fIoptions\\fR]\n";
  for (const OptionText& o : c.options)
    if (o.by_position) add(o);
  return line;
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n0 for yes or success, 1 for no (a key is absent, a check found something), 2 for an error.\n";

// ---- completion ----------------------------------------------------------------------------------------------------

bool takes_a_value(const OptionText& o) { return !o.value.empty(); }
// FILE, F.nsy, FOLDER, DIR: what the help writes where a path is wanted.
bool takes_a_path(const OptionText& o) {
  for (const std::string_view path : {"FILE", "F.", "FOLDER", "DIR"})
    if (o.value.find(path) != std::string::npos) return true;
  return false;
}

std::vector<std::string> words_after(const OptionText& o, std::span<const std::string> filters) {
  std::vector<std::string> words;
  const bool one = o.names.back() == "--filter", many = o.names.back() == "--filters";
  if ((one || many) && !takes_a_path(o)) {
    words = {one ? "auto" : "all"};
    words.insert(words.end(), filters.begin(), filters.end());
  }
  if (o.value.find('|') == std::string::npos) return words;
  std::stringstream parts(o.value);
  for (std::string word; std::getline(parts, word, '|');) words.push_back(word);
  return words;
}

// Within single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return fmt::format("'{}'", out);
}

std::string joined(std::span<const std::string> words) { return fmt::format("{}", fmt::join(words, " ")); }

}  // namespace

std::string main_page(const CommandText& naysay, std::span<const CommandText> commands) {
  std::string about = naysay.about;
  if (about.starts_with("naysay: ")) about.erase(0, 8);
  std::string page = head("naysay", about);
  page += ".SH SYNOPSIS\n.B naysay\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n" + plain(naysay.footer) +
          "\n.SH COMMANDS\n";
  for (const CommandText& c : commands)
    page += fmt::format(".TP\n\\fBnaysay\\-{}\\fR(1)\n{}\n", plain(c.name), plain(c.about));
  page += ".SH OPTIONS\n";
  for (const OptionText& o : naysay.options) page += option_entry(o);
  return page += kExitStatus;
}

std::string command_page(const CommandText& c) {
  std::string page = head("naysay-" + c.name, c.about);
  page += ".SH SYNOPSIS\n" + synopsis(c) + ".SH DESCRIPTION\n" + plain(c.about) + ".\n.SH OPTIONS\n";
  for (const OptionText& o : c.options) page += option_entry(o);
  if (!c.footer.empty()) page += ".SH NOTES\n" + as_it_is(c.footer);
  page += kExitStatus;
  return page += ".SH SEE ALSO\n.BR naysay (1)\n";
}

std::string bash_completion(std::span<const CommandText> commands, std::span<const std::string> filters) {
  std::vector<std::string> names;
  for (const CommandText& c : commands) names.push_back(c.name);
  std::string script =
      "# bash completion for naysay; made by naysay manual\n"
      "_naysay() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n" +
      fmt::format("    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$current\")\n", joined(names)) +
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const CommandText& c : commands) {
    std::vector<std::string> options, unknown;  // unknown: a number, say, for which nothing can be offered
    std::string values;
    for (const OptionText& o : c.options) {
      if (o.by_position) continue;
      for (const std::string& name : o.names)
        if (name.starts_with("--")) options.push_back(name);
      if (!takes_a_value(o)) continue;
      const std::vector<std::string> words = words_after(o, filters);
      if (!words.empty())
        values += fmt::format("        {}) words='{}' ;;\n", fmt::join(o.names, "|"), joined(words));
      else if (!takes_a_path(o))
        unknown.insert(unknown.end(), o.names.begin(), o.names.end());
    }
    if (!unknown.empty()) values += fmt::format("        {}) return ;;\n", fmt::join(unknown, "|"));
    script += fmt::format("    {})\n", c.name);
    if (!values.empty()) script += "      case $previous in\n" + values + "      esac\n";
    script +=
        fmt::format("      [ -n \"$words\" ] || case $current in -*) words='{}' ;; esac\n      ;;\n", joined(options));
  }
  return script +
         "  esac\n"
         "  if [ -n \"$words\" ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _naysay naysay\n";
}

std::string zsh_completion(std::span<const CommandText> commands, std::span<const std::string> filters) {
  // In the specifications of _arguments, brackets and colons have a meaning.
  const auto escaped = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  std::string script =
      "#compdef naysay\n"
      "# made by naysay manual\n"
      "_naysay() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const CommandText& c : commands)
    script += fmt::format("      {}\n", shell_quoted(fmt::format("{}:{}", c.name, escaped(c.about))));
  script +=
      "    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  (( CURRENT-- ))\n"
      "  shift words\n"
      "  case $command in\n";
  for (const CommandText& c : commands) {
    script += fmt::format("    {})\n      _arguments", c.name);
    for (const OptionText& o : c.options) {
      if (o.by_position) {
        script += " \\\n        " + shell_quoted(fmt::format("*:{}:_files", escaped(o.names[0])));
        continue;
      }
      const std::vector<std::string> words = words_after(o, filters);
      std::string after;
      if (takes_a_value(o))
        after = fmt::format(":{}:{}", escaped(o.value),
                            words.empty() ? (takes_a_path(o) ? "_files" : " ") : fmt::format("({})", joined(words)));
      for (const std::string& name : o.names)
        script += " \\\n        " +
                  shell_quoted(fmt::format("{}{}[{}]{}", o.repeated ? "*" : "", name, escaped(o.help), after));
    }
    script += "\n      ;;\n";
  }
  return script + "  esac\n}\n_naysay \"$@\"\n";
}

std::string fish_completion(std::span<const CommandText> commands, std::span<const std::string> filters) {
  const auto fish_quoted = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
    return fmt::format("'{}'", out);
  };
  std::string script = "# fish completion for naysay; made by naysay manual\n";
  for (const CommandText& c : commands)
    script += fmt::format("complete -c naysay -n __fish_use_subcommand -f -a {} -d {}\n", c.name, fish_quoted(c.about));
  for (const CommandText& c : commands)
    for (const OptionText& o : c.options) {
      if (o.by_position) continue;
      script += fmt::format("complete -c naysay -n '__fish_seen_subcommand_from {}'", c.name);
      for (const std::string& name : o.names)
        script +=
            name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
      const std::vector<std::string> words = words_after(o, filters);
      if (!words.empty())
        script += fmt::format(" -x -a {}", fish_quoted(joined(words)));
      else if (takes_a_value(o))
        script += takes_a_path(o) ? " -r" : " -x";
      script += fmt::format(" -d {}\n", fish_quoted(o.help));
    }
  return script;
}

}  // namespace naysay::cli
