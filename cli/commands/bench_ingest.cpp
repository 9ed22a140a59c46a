// SPDX-License-Identifier: Apache-2.0
// naysay bench ingest: how fast files of keys and of negatives become digests, next to `wc -l` of the same file.
//
// Made-up URLs are written to a temporary file, without costs and with them, and read once so that they are in the page
// cache. A round reads the file with 1, 2, 4, ... threads, up to the cores that this process may use, and runs `wc -l`
// on it. What counts is the median of five rounds; ratios are those within a round.
#include "commands/bench_ingest.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "naysay/workload/generate.hpp"
#include "naysay/workload/keys.hpp"
#include "parts/cores.hpp"
#include "parts/failure.hpp"
#include "parts/output.hpp"
#include "parts/progress.hpp"
#include "parts/samples.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"
#include "parts/timing.hpp"

extern char** environ;

namespace naysay::cli {

namespace {

// A folder that goes away.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "naysay-ingest-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw Failure{fmt::format("{}: cannot make a temporary folder", pattern)};
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Seconds that `wc -l` needs for the file; none if there is no wc.
std::optional<double> seconds_of_wc(const std::string& path) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string words[] = {"wc", "-l", path};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  int status = 0;
  bool ran = false;
  const double ns = ns_each(1, [&] {
    pid_t child = 0;
    ran = ::posix_spawnp(&child, "wc", &actions, nullptr, arguments, environ) == 0 &&
          ::waitpid(child, &status, 0) == child;
  });
  ::posix_spawn_file_actions_destroy(&actions);
  if (!ran || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  return ns / 1e9;
}

void write_lines(const std::string& path, std::uint64_t count, bool costed, std::uint64_t seed) {
  Output out(path);
  std::string line;
  for (std::uint64_t i = 0; i < count; ++i) {
    generate_key(KeyShape::urls, i, seed, line);
    if (costed) line += fmt::format("\t{}", 1 + mix64(i) % 1000);
    line += '\n';
    out.write(line);
  }
  out.finish();
}

}  // namespace

void bench_ingest(const std::string& size, std::uint64_t seed, const std::string& out) {
  const std::uint64_t lines = size == "tiny" ? 20'000 : size == "paper" ? 50'000'000 : 2'000'000;
  const unsigned cores = usable_cores();
  std::vector<unsigned> threads;
  for (unsigned t = 1; t < cores; t *= 2) threads.push_back(t);
  threads.push_back(cores);
  const TemporaryFolder folder;
  ProgressBar bar;
  Table table({{"file", Table::Align::left},
               {"read by", Table::Align::left},
               {"million lines/s"},
               {"MB/s"},
               {"of one thread"},
               {"of wc -l"}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  bool has_wc = true;
  for (const bool costed : {false, true}) {
    const KeyFile file{folder.file(costed ? "negatives" : "keys")};
    bar.show("writing " + file.path, 0, 0);
    write_lines(file.path, lines, costed, seed);
    const auto bytes = static_cast<double>(std::filesystem::file_size(file.path));
    const auto read = [&](unsigned t) {
      return ns_each(1,
                     [&] {
                       const std::uint64_t count =
                           costed ? need(read_negatives({&file, 1}, {}, {.threads = t})).digests.size()
                                  : need(read_keys({&file, 1}, {}, {.threads = t})).size();
                       if (count != lines) throw Failure{fmt::format("{} of {} lines were read", count, lines)};
                     }) /
             1e9;
    };
    (void)read(1);
    std::vector<Samples> seconds(threads.size());
    Samples wc;
    for (int round = 0; round < kRounds; ++round) {
      bar.show(fmt::format("reading {}", costed ? "negatives" : "keys"), static_cast<std::uint64_t>(round), kRounds);
      for (std::size_t i = 0; i < threads.size(); ++i) seconds[i].add(read(threads[i]));
      if (const auto s = has_wc ? seconds_of_wc(file.path) : std::nullopt)
        wc.add(*s);
      else
        has_wc = false;
    }
    const auto row = [&](const std::string& who, unsigned t, const Samples& s) {
      const double speedup = 1 / median_ratio(s, seconds[0]), of_wc = 1 / median_ratio(s, wc);
      const double per_second = static_cast<double>(lines) / s.median();
      table.add({costed ? "negatives" : "keys", who, number(per_second / 1e6), number(bytes / s.median() / 1e6),
                 number(speedup), has_wc ? number(of_wc) : "-"});
      nlohmann::ordered_json j = {{"file", costed ? "negatives" : "keys"},
                                  {"reader", t > 0 ? "naysay" : "wc -l"},
                                  {"threads", t},
                                  {"lines", lines},
                                  {"bytes", bytes},
                                  {"seconds", s.json()},
                                  {"lines_per_second", per_second},
                                  {"bytes_per_second", bytes / s.median()},
                                  {"of_one_thread", speedup}};
      if (has_wc) j["of_wc"] = of_wc;
      rows.push_back(std::move(j));
    };
    for (std::size_t i = 0; i < threads.size(); ++i)
      row(fmt::format("{} thread{}", threads[i], threads[i] == 1 ? "" : "s"), threads[i], seconds[i]);
    if (has_wc) row("wc -l", 0, wc);
  }
  bar.clear();
  if (out != "-") fmt::print("{}", table.text());
  if (!has_wc) note("there is no wc, or it fails; its rows are left out");
  if (out.empty()) return;
  const std::string line =
      nlohmann::ordered_json{{"experiment", "ingest"}, {"size", size}, {"cores", cores}, {"rows", rows}}.dump() + "\n";
  if (out == "-") {
    fmt::print("{}", line);
    return;
  }
  std::ofstream to(out, std::ios::app);
  to << line;
  if (!to.flush()) throw Failure{fmt::format("{}: cannot write", out)};
}

}  // namespace naysay::cli
