// SPDX-License-Identifier: Apache-2.0
// Part builds: what naysay plan, naysay build --part and naysay join do, for filters whose shards can be built apart.
//
//   summarised   keys and negatives of a file --> their facts in a plan, in one pass and without keeping them
//   build_part   the whole input, of which one range of digests is kept --> a part file
#pragma once

#include <string>
#include <vector>

#include "naysay/workload/keys.hpp"
#include "parts/budget.hpp"
#include "parts/hashing.hpp"
#include "parts/inputs.hpp"
#include "parts/part_file.hpp"
#include "parts/part_plan.hpp"
#include "parts/progress.hpp"

namespace naysay::cli {

// Options of naysay build that also make a plan.
struct PartOptions {
  std::vector<std::string> keys, negatives;  // files, folders and patterns
  std::string filter = "auto";
  Budget budget;
  Hashing hashing;
  std::vector<std::string> params;
  std::uint64_t seed = 0;
  unsigned threads = 0;
  double stranger_share = Workload{}.stranger_share;
  bool nul = false, exact = false;
};

// NAME=VALUE, as --param has it. Throws a Failure.
std::vector<Param> parse_params(const std::vector<std::string>& texts);

// A plan with these options and no keys. Throws a Failure if they make no sense, or if a filter with them cannot be
// built in parts.
PartPlan plan_of(const PartOptions& o, const Hasher& hasher);

// The files that are read. Throws a Failure if two of them are the standard input, or one is written.
struct PartFiles {
  std::vector<KeyFile> keys, negatives;
  static PartFiles of(const PartOptions& o, const std::string& output, const std::string& plan = {});
};

// All threads, and what may be unpacked before its turn.
ReadingOptions reading_options(const PartOptions& o, const Progress& progress);

// --exact, which is refused with a reason.
void add_exact_option(Command& command, PartOptions& o);

// Adds the keys and negatives of the files to the plan.
void summarise(PartPlan& plan, const PartFiles& files, const Hasher& hasher, const ReadingOptions& reading);

// Reads the input, checks that it is the plan's, and writes the part. Throws a Failure that names what differs.
void build_part(const PartOptions& o, const std::string& plan_path, const PartNumber& number, const std::string& output,
                bool json);

}  // namespace naysay::cli
