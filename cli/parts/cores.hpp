// SPDX-License-Identifier: Apache-2.0
// Cores: how many this process may use, which is often fewer than the machine has.
//
//   taskset, cpusets, Slurm   the affinity mask of the process
//   containers, systemd       a quota of its control group, or of one above it: cpu.max, or cpu.cfs_quota_us of version 1
#pragma once

#include <filesystem>
#include <string_view>

namespace naysay::cli {

// At least 1.
unsigned usable_cores();

// The quota in cores of the control groups that `groups` names, the text of /proc/self/cgroup; infinite if there is
// none. `root` is where they are mounted.
double quota_in_cores(std::string_view groups, const std::filesystem::path& root = "/sys/fs/cgroup");

}  // namespace naysay::cli
