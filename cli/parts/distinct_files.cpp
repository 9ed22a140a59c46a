// SPDX-License-Identifier: Apache-2.0
#include "parts/distinct_files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

struct Identity {
  dev_t device;
  ino_t inode;
  std::string name;  // empty for a file that exists
  friend bool operator==(const Identity&, const Identity&) = default;
};

// None for what a rename does not replace and reading does not wear out: a pipe, a terminal, a device.
std::optional<Identity> identity_of(const std::string& path, int standard) {
  struct stat info {};
  if (path == "-") {
    if (::fstat(standard, &info) != 0 || !S_ISREG(info.st_mode)) return {};
    return Identity{info.st_dev, info.st_ino, ""};
  }
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return {};
    return Identity{info.st_dev, info.st_ino, ""};
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::stat(folder.c_str(), &info) != 0) return {};
  return Identity{info.st_dev, info.st_ino, slash == std::string::npos ? path : path.substr(slash + 1)};
}

std::string named(const Input& file, const char* standard) {
  return file.path == "-" ? fmt::format("the {}", standard) : file.option;
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  const auto first = identity_of(a, -1), second = identity_of(b, -1);
  return a == b || (first && second && *first == *second);
}

void need_distinct(const std::vector<Input>& written, const std::vector<Input>& read) {
  std::vector<std::pair<const Input*, Identity>> outputs;
  for (const Input& file : written) {
    if (file.path.empty()) continue;
    const auto identity = identity_of(file.path, STDOUT_FILENO);
    if (!identity) continue;
    for (const auto& [other, theirs] : outputs)
      if (theirs == *identity)
        throw Failure{fmt::format("{}: {} and {} are the same file; give each its own", file.path,
                                  named(*other, "standard output"), named(file, "standard output"))};
    outputs.emplace_back(&file, *identity);
  }
  for (const Input& file : read) {
    if (file.path.empty()) continue;
    const auto identity = identity_of(file.path, STDIN_FILENO);
    if (!identity) continue;
    for (const auto& [output, theirs] : outputs)
      if (theirs == *identity)
        throw Failure{fmt::format("{}: {} is the same file as {}, which would be lost; give another name",
                                  output->path == "-" ? file.path : output->path, named(*output, "standard output"),
                                  named(file, "standard input"))};
  }
}

}  // namespace naysay::cli
