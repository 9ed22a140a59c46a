// SPDX-License-Identifier: Apache-2.0
#include "parts/stacks.hpp"

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "naysay/updates/stack.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#include "parts/table.hpp"
#include "parts/update_options.hpp"

namespace naysay::cli {

bool is_stack(const std::string& path) { return is_stack_file(path); }

Ask ask_stack(const std::string& path) {
  const auto parts = std::make_shared<std::vector<Partition>>(need(open_partitions(path)));
  return [parts](std::span<const std::string_view> keys, std::vector<std::uint8_t>& answers) {
    answers.assign(keys.size(), 0);
    std::vector<std::uint8_t> some(keys.size());
    for (const Partition& p : *parts) {
      p.stack.may_contain(keys, some);
      for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = static_cast<std::uint8_t>(answers[i] | some[i]);
    }
  };
}

void inspect_stack(const std::string& path, bool json) {
  const auto parts = need(open_partitions(path));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Partition& p : parts) {
    const Stack& s = p.stack;
    nlohmann::ordered_json j;
    j["partition"] = p.number;
    j["sequence"] = s.sequence();
    j["state"] = s.state().text();
    j["keys"] = s.keys();
    j["expected_fpr"] = s.expected_fpr();
    j["base"] = describe(s.base());
    j["base"]["file_bytes"] = s.base_bytes().bytes.size();
    j["base"]["sequence"] = s.base_sequence();
    j["updates"] = nlohmann::ordered_json::array();
    for (const Stack::Update& u : s.updates()) {
      const DeltaFacts& f = u.delta.facts();
      j["updates"].push_back({{"from", f.from_sequence},
                              {"to", f.to_sequence},
                              {"added", f.added},
                              {"dropped", f.dropped},
                              {"bytes", u.held.bytes.size()},
                              {"ghosts", f.ghosts},
                              {"rollup", f.rollup},
                              {"created", f.created},
                              {"expires", f.expires},
                              {"signed", u.delta.signature().has_value()}});
    }
    all.push_back(j);
    if (json) continue;
    const auto line = [](std::string_view name, const std::string& value) { fmt::print("{:<14}{}\n", name, value); };
    if (parts.size() > 1) line("partition", fmt::format("{}", p.number));
    line("stack", fmt::format("{} with {} updates", s.base().type().name, s.updates().size()));
    line("keys", fmt::format("{}", s.keys()));
    line("sequence", fmt::format("{}, the base has {}", s.sequence(), s.base_sequence()));
    line("state", s.state().text());
    line("base", fmt::format("{} bytes, {} keys, expected fpr {}", s.base_bytes().bytes.size(), s.base().keys(),
                             percent(s.base().expected_fpr())));
    line("updates", fmt::format("{} bytes", s.update_bytes()));
    line("expected fpr", percent(s.expected_fpr()));
    for (const Stack::Update& u : s.updates()) {
      const DeltaFacts& f = u.delta.facts();
      line("update", fmt::format("{} to {}: {} added, {} dropped, {} bytes{}{}{}{}", f.from_sequence, f.to_sequence,
                                 f.added, f.dropped, u.held.bytes.size(), f.rollup ? ", a roll-up" : "",
                                 f.ghosts ? ", with ghosts" : "", u.delta.signature() ? ", signed" : "",
                                 f.expires != 0 && f.expires <= now_in_seconds() ? ", expired" : ""));
    }
  }
  if (json) fmt::print("{}\n", nlohmann::ordered_json{{"file", path}, {"partitions", all}}.dump(2));
}

int verify_stack(const std::string& path, std::span<const KeyFile> keys, unsigned threads,
                 const std::string& verify_key) {
  const auto parts = need(open_partitions(path, checks_of(verify_key, true)));
  std::size_t updates = 0;
  std::uint64_t held = 0;
  bool expired = false;
  for (const Partition& p : parts) {
    updates += p.stack.updates().size();
    held += p.stack.keys();
    for (const Stack::Update& u : p.stack.updates())
      expired |= u.delta.facts().expires != 0 && u.delta.facts().expires <= now_in_seconds();
  }
  const std::string start = fmt::format("{}: whole, a stack of {} keys with {} updates{}{}", path, held, updates,
                                        verify_key.empty() ? "" : ", all signed", expired ? ", some expired" : "");
  if (keys.empty()) {
    fmt::print("{}\n", start);
    return 0;
  }
  const Answers a = ask_all(keys, LinesAre::keys, threads, ask_stack(path));
  if (const std::uint64_t denied = a.tally.lines - a.accepted; denied > 0) {
    fmt::print(stderr, "naysay: {}: denies {} of the {} keys, the first at {}; it was built from others\n", path,
               denied, a.tally.lines, a.first_denied);
    return 1;
  }
  fmt::print("{}, and all {} keys of {} may be in it\n", start, a.tally.lines, names_of(keys));
  return 0;
}

}  // namespace naysay::cli
