// SPDX-License-Identifier: Apache-2.0
#include "parts/filter_files.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "naysay/core/files.hpp"
#include "parts/failure.hpp"
#include "parts/output.hpp"

namespace naysay::cli {

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

AnyFilter open_filter(const std::string& path) {
  if (path != "-") return need(naysay::open(path));
  std::vector<std::byte> bytes;
  for (std::size_t used = 0;;) {
    bytes.resize(used + (std::size_t{1} << 16));
    const ssize_t n = ::read(STDIN_FILENO, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Failure{fmt::format("standard input: cannot read: {}", std::strerror(errno))};
    used += static_cast<std::size_t>(n);
    bytes.resize(used);
    if (n == 0) break;
  }
  auto filter = AnyFilter::load(bytes);
  if (!filter) throw Failure{"standard input: " + filter.error().message};
  return std::move(*filter);
}

void need_text_filter(const AnyFilter& filter, const std::string& path) {
  if (filter.key_kind() == KeyKind::integer)
    throw Failure{
        fmt::format("{}: it was built from integers, and the keys of a file are text; 7 and \"7\" are different "
                    "keys, so use it from a program that gives integers",
                    input_name(path))};
}

void need_filter_output(const char* option, const std::string& path) {
  if (path != "-") {
    need(files::can_create(path));
  } else if (::isatty(STDOUT_FILENO) == 1) {
    throw Failure{
        fmt::format("{} is -, but the standard output is a terminal; a filter is no text, so give a file or a "
                    "pipe",
                    option)};
  }
}

void save_filter(const AnyFilter& filter, const std::string& path) {
  if (path != "-") return (void)need(filter.save(path));
  write_standard_output(filter.to_bytes());
}

std::string output_name(const std::string& path) { return path == "-" ? "standard output" : path; }

void write_standard_output(std::span<const std::byte> bytes) {
  Output out("-");
  out.write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  out.finish();
}

std::FILE* talk_to(const std::string& path) { return path == "-" ? stderr : stdout; }

}  // namespace naysay::cli
