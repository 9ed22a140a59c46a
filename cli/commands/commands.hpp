// SPDX-License-Identifier: Apache-2.0
// Commands: each file of this folder that is named after a command adds it here, with its options, its help and an
// example that works. main.cpp lists them.
//
// How a command ends: it sets `exit_code`, which is 0 unless it says otherwise, or it throws a Failure, which main
// prints as one sentence and turns into exit code 2.
#pragma once

#include "parts/command_line.hpp"

namespace naysay::cli {

void add_build(CommandLine& line, int& exit_code);
void add_plan(CommandLine& line, int& exit_code);
void add_join(CommandLine& line, int& exit_code);
void add_query(CommandLine& line, int& exit_code);
void add_update(CommandLine& line, int& exit_code);
void add_observe(CommandLine& line, int& exit_code);
void add_inspect(CommandLine& line, int& exit_code);
void add_verify(CommandLine& line, int& exit_code);
void add_delta(CommandLine& line, int& exit_code);
void add_apply(CommandLine& line, int& exit_code);
void add_rollup(CommandLine& line, int& exit_code);
void add_publish(CommandLine& line, int& exit_code);
void add_fetch(CommandLine& line, int& exit_code);
void add_filters(CommandLine& line, int& exit_code);
void add_generate(CommandLine& line, int& exit_code);
void add_compare(CommandLine& line, int& exit_code);
void add_bench(CommandLine& line, int& exit_code);
void add_redis(CommandLine& line, int& exit_code);
void add_report(CommandLine& line, int& exit_code);
void add_demo(CommandLine& line, int& exit_code);
void add_manual(CommandLine& line, int& exit_code);

}  // namespace naysay::cli
