// naysay: membership filters on a user's own keys. One subcommand per file; see commands.hpp.
#include <fmt/core.h>

#include "commands.hpp"
#include "failure.hpp"

namespace {

constexpr int kError = 2;  // as grep: 0 yes, 1 no, 2 error

int complain(const std::string& message) {
  fmt::print(stderr, "naysay: {}\n", message);
  return kError;
}

}  // namespace

int main(int argc, char** argv) {
  namespace cli = naysay::cli;
  CLI::App app(
      "naysay: filters that say \"no\" with certainty or \"maybe\", and can be told which \"maybe\" would be costly.",
      "naysay");
  app.set_version_flag("--version", "naysay " NAYSAY_VERSION, "print the version and end");
  app.require_subcommand(1);
  app.footer(
      "A filter is built from keys, one a line (gzip and zstd files too, - is the standard input), and if you have "
      "them\n"
      "from known negatives with costs, key<TAB>cost a line. See naysay COMMAND --help, and begin with: naysay demo");
  if (argc == 1) return complain("no command is given; see naysay --help, or begin with naysay demo");
  int exit_code = 0;
  cli::add_build(app, exit_code);
  cli::add_query(app, exit_code);
  cli::add_update(app, exit_code);
  cli::add_inspect(app, exit_code);
  cli::add_verify(app, exit_code);
  cli::add_filters(app, exit_code);
  cli::add_generate(app, exit_code);
  cli::add_compare(app, exit_code);
  cli::add_bench(app, exit_code);
  cli::add_report(app, exit_code);
  cli::add_demo(app, exit_code);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) return complain("standard output: cannot write");
    return exit_code;
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return complain(std::string(e.what()) + "; see naysay --help");
  } catch (const cli::Failure& e) {
    return complain(e.message);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory for this");
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}
