// SPDX-License-Identifier: Apache-2.0
// Bytes as a command line with a few small files, and as a file of results, for the tool as users run it: main.cpp under
// another name, in a folder of its own. It ends with 0, 1 or 2; an error is a sentence.
//
// The bytes are pieces with a NUL between them: the arguments, with tabs between them; the file k (keys); the file n
// (negatives); the number of the golden file that f.nsy is, and a byte of it to change.
//
//   build<TAB>--keys<TAB>k<TAB>-o<TAB>o.nsy<NUL>one<LF>two<LF>
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/bodies.hpp"

int naysay_main(int argc, char** argv);

namespace naysay::fuzz {

// The folder of this process, with the standard streams turned away. For a process that does nothing else.
class ToolFolder {
 public:
  static ToolFolder& only() {
    static ToolFolder folder;
    return folder;
  }

  // Runs the tool there. Returns what it wrote to the standard error.
  std::string run(const std::vector<std::string>& arguments) {
    std::vector<std::string> own = {"naysay"};
    own.insert(own.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& a : own) argv.push_back(a.data());
    argv.push_back(nullptr);
    const int captured = ::memfd_create("stderr", MFD_CLOEXEC);
    require(captured >= 0);
    const int before = ::fcntl(2, F_DUPFD_CLOEXEC, 100);
    ::dup2(captured, 2);
    const int code = naysay_main(static_cast<int>(own.size()), argv.data());
    std::fflush(stdout);
    ::dup2(before, 2);
    ::close(before);
    std::string text(static_cast<std::size_t>(::lseek(captured, 0, SEEK_END)), '\0');
    require(::pread(captured, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    ::close(captured);
    require(code >= 0 && code <= 2);
    // An error says who and what, in words of ours.
    require(code != 2 || (text.starts_with("naysay: ") && text.ends_with("\n") && text.size() > 12));
    require(text.find("exception") == std::string::npos);
    return text;
  }

  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(".")) std::filesystem::remove_all(entry.path());
  }
  static void write(const char* name, std::string_view bytes) {
    std::ofstream(name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  // Removes the folder; for a process that ends without destructors.
  void leave() const { std::filesystem::remove_all(folder_); }
  const std::vector<std::string>& golden() const { return golden_; }

 private:
  ToolFolder() {
    const std::filesystem::path golden = NAYSAY_SOURCE_DIR "/tests/golden";
    for (const auto& entry : std::filesystem::directory_iterator(golden)) {
      std::ifstream in(entry.path(), std::ios::binary);
      golden_.emplace_back((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    std::sort(golden_.begin(), golden_.end());
    std::string pattern =
        (std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") + std::string("/naysay-fuzz-XXXXXX");
    require(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    require(::chdir(folder_.c_str()) == 0);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
    ::close(nothing);
  }
  ~ToolFolder() { leave(); }

  std::string folder_;
  std::vector<std::string> golden_;
};

inline std::vector<std::string> pieces_of(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == text.npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// Not outside of the folder, not for hours: no other paths, no large numbers, no command that measures.
inline bool harmless(const std::vector<std::string>& arguments) {
  for (const std::string& a : arguments) {
    if (a.find('/') != a.npos || a.find("..") != a.npos || a.find('\n') != a.npos || a.size() > 64) return false;
    for (const char* slow : {"compare", "bench", "demo"})
      if (a == slow) return false;
    unsigned digits = 0;
    bool fraction = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool digit = a[i] >= '0' && a[i] <= '9';
      fraction = digit ? fraction : a[i] == '.';
      digits = digit ? digits + 1 : 0;
      if (digits > 3 && !fraction) return false;
      if (digit && i > 0 && a[i - 1] == '-') return false;
      if (digit && i + 1 < a.size() && std::isalpha(static_cast<unsigned char>(a[i + 1]))) return false;
    }
  }
  return true;
}

inline void command_line(std::span<const std::uint8_t> data) {
  ToolFolder& folder = ToolFolder::only();
  auto pieces = pieces_of({reinterpret_cast<const char*>(data.data()), data.size()}, '\0');
  pieces.resize(std::max<std::size_t>(pieces.size(), 4));
  const auto arguments = pieces_of(pieces[0], '\t');
  if (arguments.size() > 20 || !harmless(arguments)) return;
  folder.clear();
  ToolFolder::write("k", pieces[1]);
  ToolFolder::write("n", pieces[2]);
  std::string filter =
      folder.golden()[pieces[3].empty() ? 0 : static_cast<unsigned char>(pieces[3][0]) % folder.golden().size()];
  if (pieces[3].size() > 2) filter[static_cast<unsigned char>(pieces[3][1]) % filter.size()] ^= pieces[3][2];
  ToolFolder::write("f.nsy", filter);
  (void)folder.run(arguments);
}

inline void report(std::span<const std::uint8_t> data) {
  ToolFolder& folder = ToolFolder::only();
  folder.clear();
  ToolFolder::write("r.jsonl", {reinterpret_cast<const char*>(data.data()), data.size()});
  (void)folder.run({"report", "r.jsonl", "-o", "r.md"});
}

}  // namespace naysay::fuzz
