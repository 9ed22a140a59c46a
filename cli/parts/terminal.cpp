// SPDX-License-Identifier: Apache-2.0
#include "parts/terminal.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace naysay::cli {

namespace {

// The bytes of the UTF-8 character that the text begins with; 0: it begins with none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (size == 3 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0))) return 0;
  if (size == 4 && ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90))) return 0;
  return size;
}

bool is_control(std::string_view c) {
  const auto first = static_cast<unsigned char>(c[0]);
  if (c.size() == 1) return first < 0x20 || first == 0x7f;
  return c.size() == 2 && first == 0xc2 && static_cast<unsigned char>(c[1]) < 0xa0;  // U+0080 to U+009F
}

}  // namespace

std::size_t columns_of(int fd) {
  if (::isatty(fd) != 1) return kAnyWidth;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::size_t output_columns() { return columns_of(STDOUT_FILENO); }

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(character(text), 1);
    const std::string_view c = text.substr(0, size);
    if (character(text) != 0 && !is_control(c))
      out += c;
    else if (c == "\n")
      out += "\\n";
    else if (c == "\t")
      out += "\\t";
    else
      for (const char byte : c) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    text.remove_prefix(size);
  }
  return out;
}

std::size_t columns_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t columns) {
  constexpr std::string_view kDots = "...";
  if (columns_in(text) <= columns) return std::string(text);
  if (columns <= kDots.size()) return std::string(kDots.substr(0, columns));
  // Where the character number n begins.
  const auto at = [&](std::size_t n) {
    std::size_t i = 0;
    for (; i < text.size() && n > 0; --n) i += std::max<std::size_t>(character(text.substr(i)), 1);
    return i;
  };
  const std::size_t left = (columns - kDots.size()) / 2, right = columns - kDots.size() - left;
  std::string out(text.substr(0, at(left)));
  out += kDots;
  out += text.substr(at(columns_in(text) - right));
  return out;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  bool begun = false;  // the line has a word
  const auto new_line = [&] {
    out += '\n';
    out.append(indent, ' ');
    used = indent;
    begun = false;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      new_line();
      ++at;
      continue;
    }
    const std::size_t spaces = std::min(text.find_first_not_of(' ', at), text.size()) - at;
    const std::size_t word = at + spaces, end = std::min(text.find_first_of(" \n", word), text.size());
    const std::size_t size = columns_in(text.substr(word, end - word));
    if (begun && used + spaces + size > columns) {
      new_line();
    } else {
      out.append(spaces, ' ');
      used += spaces;
    }
    out += text.substr(word, end - word);
    used += size;
    begun = begun || size > 0;
    at = end;
  }
  return out;
}

void note(std::string_view sentence) { fmt::print(stderr, "naysay: {}\n", escaped(sentence)); }

void print_text(std::string_view text) { fmt::print("{}\n", wrapped(text, output_columns())); }

void say(std::string_view line) { fmt::print("{}\n", escaped(line)); }

}  // namespace naysay::cli
