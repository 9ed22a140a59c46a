// SPDX-License-Identifier: Apache-2.0
// Results: a file of measurements, one JSON line each, that only ever grows.
//
//   {"experiment": "habf-fig10", "panel": "a", "series": "habf", "x": 1.5, ..., "values": {...}, "machine": {...}}\n
//   {"experiment": ...                                               <- a torn last line is dropped when it is opened
//
// What was to be measured (the fields up to "seed") and by which version is a line's identity: a line that is there is
// not measured again, so an interrupted run goes on where it was.
//
// Promises   a line is on the disk, whole, before the next measurement begins; two runs never write to one file at the same time.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiments/kinds/kinds.hpp"

namespace naysay::cli {

// The fields that say what is measured, in order.
nlohmann::ordered_json describe(const Job& job, const JobPlan& plan, const std::string& source);
// Of a line, or of what describe() gives: equal if the same thing was measured.
std::string identity(const nlohmann::ordered_json& line);
// The same, and by which version of this program.
std::string identity_and_version(const nlohmann::ordered_json& line);

// CPU, compiler, version, commit.
nlohmann::ordered_json machine();

// All whole lines of a file. Throws a Failure that names the line if one is no measurement; an unfinished last line is
// no error. `whole_bytes`: where the last whole line ends.
std::vector<nlohmann::ordered_json> read_results(const std::string& path, std::uint64_t* whole_bytes = nullptr);

class Results {
 public:
  // An empty path: nothing is kept.
  explicit Results(const std::string& path);
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results();

  bool has(const nlohmann::ordered_json& described) const { return known_.contains(identity_and_version(described)); }
  void add(const nlohmann::ordered_json& line);
  const std::vector<nlohmann::ordered_json>& lines() const noexcept { return lines_; }

 private:
  std::string path_;
  int fd_ = -1;
  std::vector<nlohmann::ordered_json> lines_;
  std::set<std::string> known_;
};

}  // namespace naysay::cli
