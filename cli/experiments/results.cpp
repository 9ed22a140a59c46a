// SPDX-License-Identifier: Apache-2.0
#include "experiments/results.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "commit.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/version.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIdentity[] = {"experiment", "panel",  "series",   "x",    "size",
                                     "filter",     "params", "workload", "seed", "threads"};

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

// Whether what follows in the file is how a line of ours begins.
bool begins_a_line(const std::string& path, std::uint64_t at) {
  constexpr std::string_view kBegin = "{\"experiment\":";
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(at));
  std::string rest(kBegin.size(), '\0');
  in.read(rest.data(), static_cast<std::streamsize>(rest.size()));
  return kBegin.starts_with(std::string_view(rest).substr(0, static_cast<std::size_t>(in.gcount())));
}

}  // namespace

Json machine() {
  static constexpr const char* kLevels[] = {"scalar", "avx2", "avx512"};
  static const std::string cpu = cpu_name();
  return {{"cpu", cpu},
          {"cores", std::thread::hardware_concurrency()},
          {"simd", kLevels[static_cast<int>(simd())]},
          {"compiler", __VERSION__},
          {"naysay", NAYSAY_VERSION},
          {"commit", kCommit}};
}

Json describe(const Job& job, const JobPlan& plan, const std::string& source) {
  const Setup& s = job.panel->setup;
  Json params = Json::object();
  for (const Param& p : plan.params) params[p.name] = p.value;
  Json workload = {{"data", kDataNames[static_cast<int>(s.data)]},
                   {"source", source},
                   {"keys", plan.wish.keys},
                   {"negatives", plan.wish.negatives},
                   {"told", s.given},
                   {"shuffles", s.shuffles}};
  if (plan.skew == kRealCosts)
    workload["costs"] = "of the file";
  else
    workload["zipf"] = plan.skew;
  if (plan.wish.siphash) workload["hash"] = "siphash";
  if (job.panel->kind == Kind::churn) workload["churn"] = s.churn;
  if (s.insertions != 1) workload["insertions"] = s.insertions;
  if (plan.present_share > 0) workload["present_share"] = plan.present_share;
  return {{"experiment", job.experiment->name},
          {"panel", job.panel->id},
          {"series", job.series->name},
          {"x", job.x ? Json(*job.x) : Json()},
          {"size", kSizeNames[static_cast<int>(plan.size)]},
          {"filter", job.series->filter},
          {"params", std::move(params)},
          {"workload", std::move(workload)},
          {"seed", plan.seed},
          {"threads", plan.threads},
          {"machine", machine()}};
}

std::string identity(const Json& line) {
  Json part = Json::array();
  for (const char* field : kIdentity) part.push_back(line.contains(field) ? line[field] : Json());
  return json_text(part);
}

std::string identity_and_version(const Json& line) {
  const Json& m = line.contains("machine") ? line["machine"] : Json::object();
  return identity(line) + m.value("naysay", "") + " " + m.value("commit", "");
}

namespace {

bool is_number(const Json& j) { return j.is_number(); }
bool is_string(const Json& j) { return j.is_string(); }
bool is_scalar(const Json& j) { return j.is_null() || j.is_number() || j.is_string() || j.is_boolean(); }
// Missing, or of that kind.
bool may_be(const Json& j, const char* field, bool (*kind)(const Json&)) {
  const auto found = j.find(field);
  return found == j.end() || kind(*found);
}
bool is_flat(const Json& j) { return j.is_object() && std::all_of(j.begin(), j.end(), is_scalar); }
bool is_value(const Json& j) { return is_scalar(j) || is_flat(j); }
bool is_values(const Json& j) { return j.is_object() && std::all_of(j.begin(), j.end(), is_value); }
bool is_point(const Json& j) { return is_values(j) && j.contains("x") && j["x"].is_number(); }
bool is_curve(const Json& j) { return j.is_array() && std::all_of(j.begin(), j.end(), is_point); }

// Every field that the figures read is there, or may be missing, and of the kind that add() writes.
bool is_measurement(const Json& j) {
  if (!j.is_object()) return false;
  for (const char* field : {"experiment", "panel", "series"})
    if (!j.contains(field) || !j[field].is_string()) return false;
  for (const char* field : {"size", "filter", "problem"})
    if (!may_be(j, field, is_string)) return false;
  if (!j.contains("x") || !(j["x"].is_number() || j["x"].is_null())) return false;
  if (!j.contains("workload") || !is_flat(j["workload"])) return false;
  const Json& w = j["workload"];
  for (const char* field : {"keys", "negatives", "zipf"})
    if (!may_be(w, field, is_number)) return false;
  if (!may_be(w, "source", is_string) || !may_be(j, "machine", is_flat)) return false;
  if (j.contains("machine")) {
    const Json& m = j["machine"];
    for (const char* field : {"cpu", "simd", "compiler", "naysay", "commit"})
      if (!m.contains(field) || !m[field].is_string()) return false;
    if (!m.contains("cores") || !m["cores"].is_number()) return false;
  }
  return may_be(j, "values", is_values) && may_be(j, "curve", is_curve);
}

}  // namespace

std::vector<Json> read_results(const std::string& path, std::uint64_t* whole_bytes) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  if (path != "-" && !file.is_open()) throw Failure{fmt::format("{}: cannot open: {}", path, std::strerror(errno))};
  std::stringstream buffer;
  buffer << in.rdbuf();
  const std::string text = buffer.str();
  std::vector<Json> lines;
  std::size_t at = 0;
  std::uint64_t number = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    ++number;
    const std::string_view line(text.data() + at, end - at);
    if (line.empty()) continue;
    Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!is_measurement(parsed))
      throw Failure{
          fmt::format("{}, line {}: this is no measurement; a line must be a JSON object that naysay bench "
                      "wrote",
                      path, number)};
    lines.push_back(std::move(parsed));
  }
  if (whole_bytes) *whole_bytes = at;
  return lines;
}

Results::Results(const std::string& path) : path_(path) {
  if (path.empty()) return;
  if (path == "-") {  // nothing was measured before
    fd_ = ::dup(STDOUT_FILENO);
    if (fd_ < 0) throw Failure{fmt::format("standard output: cannot open: {}", std::strerror(errno))};
    return;
  }
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) throw Failure{fmt::format("{}: cannot open: {}", path, std::strerror(errno))};
  const auto fail = [&](std::string message) {
    ::close(fd_);
    throw Failure{std::move(message)};
  };
  struct stat status = {};
  if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode))
    fail(fmt::format("{}: this is no regular file; results must be", path));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) fail(fmt::format("{}: another run is writing it; wait for its end", path));
  std::uint64_t whole = 0;
  try {
    lines_ = read_results(path, &whole);
  } catch (const Failure&) {
    ::close(fd_);
    throw;
  }
  // Only what a run that was ended had begun to write is dropped: the file may be somebody's only line of something else.
  if (whole != static_cast<std::uint64_t>(status.st_size) && !begins_a_line(path, whole))
    fail(fmt::format("{}: its last line is no measurement and has no end; results must be in a file of their own",
                     path));
  if (whole != static_cast<std::uint64_t>(status.st_size) && ::ftruncate(fd_, static_cast<off_t>(whole)) != 0)
    fail(fmt::format("{}: cannot drop its unfinished last line: {}", path, std::strerror(errno)));
  for (const Json& line : lines_) known_.insert(identity_and_version(line));
}

Results::~Results() {
  if (fd_ >= 0) ::close(fd_);
}

void Results::add(const Json& line) {
  lines_.push_back(line);
  known_.insert(identity_and_version(line));
  if (fd_ < 0) return;
  const std::string text = json_text(line) + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Failure{fmt::format("{}: cannot write: {}", path_, std::strerror(errno))};
    done += static_cast<std::size_t>(n);
  }
  (void)::fdatasync(fd_);
}

}  // namespace naysay::cli
