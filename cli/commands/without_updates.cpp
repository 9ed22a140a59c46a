// SPDX-License-Identifier: Apache-2.0
// The commands of updates in a tool that was built without them: they say what is missing.
#include <memory>
#include <vector>

#include "commands/bench_updates.hpp"
#include "commands/commands.hpp"
#include "naysay/core/files.hpp"
#include "parts/failure.hpp"
#include "parts/stacks.hpp"

namespace naysay::cli {

namespace {

constexpr const char* kWithout = "this naysay was built without updates; build it where OpenSSL (libssl-dev) is found";

void add(CommandLine& line, const char* name) {
  auto rest = std::make_shared<std::vector<std::string>>();
  Command c = line.command(name, "(this naysay was built without updates)");
  c.takes_anything(*rest);
  c.runs([rest] { throw Failure{kWithout}; });
}

}  // namespace

void add_delta(CommandLine& line, int&) { add(line, "delta"); }
void add_rollup(CommandLine& line, int&) { add(line, "rollup"); }
void add_apply(CommandLine& line, int&) { add(line, "apply"); }
void add_publish(CommandLine& line, int&) { add(line, "publish"); }
void add_fetch(CommandLine& line, int&) { add(line, "fetch"); }

bool is_stack(const std::string& path) {
  const auto file = files::map(path);
  constexpr std::string_view kBegin = "naysays\n";
  return file && file->bytes.size() >= kBegin.size() &&
         std::string_view(reinterpret_cast<const char*>(file->bytes.data()), kBegin.size()) == kBegin;
}
Ask ask_stack(const std::string&) { throw Failure{kWithout}; }
void inspect_stack(const std::string&, bool) { throw Failure{kWithout}; }
int verify_stack(const std::string&, std::span<const KeyFile>, unsigned, const std::string&) {
  throw Failure{kWithout};
}
void bench_updates(const std::string&, std::uint64_t, const std::string&) { throw Failure{kWithout}; }

}  // namespace naysay::cli
