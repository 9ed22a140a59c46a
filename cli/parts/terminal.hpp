// SPDX-License-Identifier: Apache-2.0
// Terminal: how wide the place is that the tool prints to, and text that fits there and does no harm.
//
//   escaped("a\x1b[2Jb")      "a\x1b[2Jb" in visible characters: what a file or a key holds cannot steer a terminal
//   wrapped(text, 40)         the same words in lines of at most 40 columns
//
// The tool prints no colour. Its only control sequence removes the progress line (progress.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace naysay::cli {

inline constexpr std::size_t kAnyWidth = std::size_t{1} << 30;  // of a file or a pipe: lines are not broken

// The columns of what a file descriptor writes to: of the terminal, 80 if it does not say; kAnyWidth if it is none.
std::size_t columns_of(int fd);
// Of the standard output.
std::size_t output_columns();

// Control characters, and bytes that are not UTF-8, as \n, \t or \xNN.
std::string escaped(std::string_view text);

// The columns that a text needs: one for each character.
std::size_t columns_in(std::string_view text);
// The text if it has at most this many columns, else its beginning, "...", and its end.
std::string cut(std::string_view text, std::size_t columns);
// Broken at spaces; a word longer than a line stays whole. Lines after the first begin with `indent` spaces. Line breaks
// of the text stay.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

// "naysay: SENTENCE" on the standard error, escaped: for what the user should know although the command succeeds.
void note(std::string_view sentence);
// A paragraph on the standard output, broken to its width.
void print_text(std::string_view text);
// A line of text on the standard output, escaped.
void say(std::string_view line);

}  // namespace naysay::cli
