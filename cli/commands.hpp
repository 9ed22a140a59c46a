// Commands: each file of this folder that is named after a command adds it here, with its options, its help and an
// example that works. main.cpp lists them.
//
// How a command ends: it sets `exit_code`, which is 0 unless it says otherwise, or it throws a Failure, which main
// prints as one sentence and turns into exit code 2.
#pragma once

#include <CLI/CLI.hpp>

namespace naysay::cli {

void add_build(CLI::App& app, int& exit_code);
void add_query(CLI::App& app, int& exit_code);
void add_update(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_filters(CLI::App& app, int& exit_code);
void add_generate(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);

}  // namespace naysay::cli
