// SPDX-License-Identifier: Apache-2.0
#include "parts/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

namespace naysay::cli {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// "200000 100000" is two cores, "max 100000" is no quota.
double of_quota_and_period(const std::string& text) {
  std::istringstream in(text);
  double quota = 0, period = 0;
  return in >> quota >> period && quota > 0 && period > 0 ? quota / period : kNone;
}

// The lowest quota of a group and of those above it.
template <class Quota>
double lowest_above(const std::filesystem::path& mount, std::string_view group, Quota&& quota) {
  double lowest = kNone;
  std::filesystem::path below = std::filesystem::path(group).relative_path();
  for (;;) {
    lowest = std::min(lowest, quota(mount / below));
    if (below.empty()) return lowest;
    below = below.parent_path();
  }
}

unsigned cores_of_mask() {
  for (std::size_t count = 1024; count <= std::size_t{1} << 20; count *= 4) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    const bool known = ::sched_getaffinity(0, bytes, set) == 0;
    const int cores = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (cores > 0) return static_cast<unsigned>(cores);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

double quota_in_cores(std::string_view groups, const std::filesystem::path& root) {
  double lowest = kNone;
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {  // "0::/user.slice", or "4:cpu,cpuacct:/docker/1f2e"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      lowest = std::min(lowest, lowest_above(root, group, [](const std::filesystem::path& folder) {
                          return of_quota_and_period(text_of(folder / "cpu.max"));
                        }));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      for (const std::string& mount : {std::string("cpu"), controllers})
        lowest = std::min(lowest, lowest_above(root / mount, group, [](const std::filesystem::path& folder) {
                            return of_quota_and_period(text_of(folder / "cpu.cfs_quota_us") + " " +
                                                       text_of(folder / "cpu.cfs_period_us"));
                          }));
    }
  }
  return lowest;
}

unsigned usable_cores() {
  static const unsigned cores = [] {
    const double quota = std::ceil(quota_in_cores(text_of("/proc/self/cgroup")));
    return static_cast<unsigned>(std::clamp<double>(quota, 1, cores_of_mask()));
  }();
  return cores;
}

}  // namespace naysay::cli
