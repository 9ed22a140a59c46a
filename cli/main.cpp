// SPDX-License-Identifier: Apache-2.0
// naysay: membership filters on a user's own keys. One subcommand per file; see commands.hpp.
#include <cstdio>

#include "commands/commands.hpp"
#include "naysay/version.hpp"
#include "parts/failure.hpp"
#include "parts/signals.hpp"
#include "parts/terminal.hpp"

namespace cli = naysay::cli;

namespace {

constexpr int kError = 2;  // as grep: 0 yes, 1 no, 2 error

int complain(const std::string& message) {
  cli::note(message);
  return kError;
}

}  // namespace

int main(int argc, char** argv) {
  cli::remove_temporaries_on_signals();
  cli::CommandLine line(
      "naysay: filters that say \"no\" with certainty or \"maybe\", and can learn which \"maybe\" would be costly.",
      "naysay " NAYSAY_VERSION,
      "A filter is built from keys, one per line (gzip and zstd files too; - is the standard input), and if you have\n"
      "them from known negatives with costs, one key<TAB>cost per line. See naysay COMMAND --help.\n"
      "Begin with: naysay demo");
  if (argc == 1) return complain("no command is given; see naysay --help, or begin with naysay demo");
  int exit_code = 0;
  cli::add_build(line, exit_code);
  cli::add_plan(line, exit_code);
  cli::add_join(line, exit_code);
  cli::add_query(line, exit_code);
  cli::add_update(line, exit_code);
  cli::add_observe(line, exit_code);
  cli::add_inspect(line, exit_code);
  cli::add_verify(line, exit_code);
  cli::add_delta(line, exit_code);
  cli::add_apply(line, exit_code);
  cli::add_rollup(line, exit_code);
  cli::add_publish(line, exit_code);
  cli::add_fetch(line, exit_code);
  cli::add_filters(line, exit_code);
  cli::add_generate(line, exit_code);
  cli::add_compare(line, exit_code);
  cli::add_bench(line, exit_code);
  cli::add_redis(line, exit_code);
  cli::add_report(line, exit_code);
  cli::add_demo(line, exit_code);
  cli::add_manual(line, exit_code);
  try {
    line.run(argc, argv);
    if (std::fflush(stdout) != 0) return complain("standard output: cannot write");
    return exit_code;
  } catch (const cli::Failure& e) {
    return complain(e.message);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory for this");
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}
