// SPDX-License-Identifier: Apache-2.0
#include "parts/update_options.hpp"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

std::int64_t need_duration(const char* option, const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double seconds = unit == "d"                   ? 86400
                         : unit == "h"                 ? 3600
                         : unit == "m"                 ? 60
                         : unit.empty() || unit == "s" ? 1
                                                       : 0;
  if (problem != std::errc{} || seconds == 0 || !(value >= 0 && value * seconds < 1e12))
    throw Failure{
        fmt::format("{} is '{}'; it must be a time such as 14d, 36h, 90m or 30s; 0 is for ever", option, text)};
  return static_cast<std::int64_t>(value * seconds);
}

std::int64_t now_in_seconds() { return StackChecks::at_present().now; }

void UpdateOptions::add_options(Command& c) {
  c.flag("--ghosts", ghosts, "do not refuse dropped keys: the update is smaller, and the list may still accept them");
  c.number("--add-rate", add_rate, {0, 1},
           "strangers that an update may accept on top; 0: a sixteenth of what the base accepts")
      .shows_default()
      .type_name("P");
  c.option("--list", list, "the name of the list; an update of another list is refused").type_name("NAME");
  c.number("--partition", partition, {0, 0xffffffff}, "the number of the list's partition")
      .shows_default()
      .type_name("N");
  c.option("--expires", expires, "how long clients may use it: 14d, 36h, 90m, 30s; 0: for ever")
      .shows_default()
      .type_name("TIME");
  c.number("--created", created, kAnyNumber, "seconds since 1970; 0: now").shows_default().type_name("T");
  c.option("--sign-key", sign_key, "sign with this Ed25519 key (openssl genpkey -algorithm ed25519)").type_name("PEM");
  add_seed(c, seed, "same input, time and seed: same bytes");
  add_threads(c, threads);
}

void UpdateOptions::check() const {
  if (!(add_rate >= 0 && add_rate < 1))
    throw Failure{fmt::format("--add-rate is {}; it must be 0 or more, and less than 1", add_rate)};
  if (partition > 0xffffffff) throw Failure{fmt::format("--partition is {}; it must be at most 4294967295", partition)};
  (void)need_duration("--expires", expires);
}

DeltaTask UpdateOptions::task() const {
  DeltaTask task;
  task.ghosts = ghosts;
  task.add_rate = add_rate;
  task.list = list.empty() ? 0 : list_number(list);
  task.partition = static_cast<std::uint32_t>(partition);
  task.created = created != 0 ? static_cast<std::int64_t>(created) : now_in_seconds();
  const std::int64_t lasts = need_duration("--expires", expires);
  task.expires = lasts == 0 ? 0 : task.created + lasts;
  task.seed = seed;
  task.threads = thread_count(threads);
  if (!sign_key.empty()) task.signer = need(read_sign_key(sign_key));
  return task;
}

StackChecks checks_of(const std::string& verify_key, bool allow_expired) {
  StackChecks checks;
  if (!allow_expired) checks.now = now_in_seconds();
  if (!verify_key.empty()) checks.verifier = need(read_verify_key(verify_key));
  return checks;
}

void say_update(const std::string& path, std::span<const std::byte> bytes, bool json) {
  const Delta delta = need(Delta::read(bytes));
  const DeltaFacts& f = delta.facts();
  if (!json) {
    fmt::print(talk_to(path), "{}: update {} to {}, {} keys added, {} dropped, {}{}\n", output_name(path),
               f.from_sequence, f.to_sequence, f.added, f.dropped, bytes_text(bytes.size()),
               delta.signature() ? ", signed" : "");
    return;
  }
  nlohmann::ordered_json j;
  j["file"] = path;
  j["from_sequence"] = f.from_sequence;
  j["to_sequence"] = f.to_sequence;
  j["from"] = f.from.text();
  j["to"] = f.to.text();
  j["keys"] = f.keys;
  j["added"] = f.added;
  j["dropped"] = f.dropped;
  j["bytes"] = bytes.size();
  j["add_bytes"] = f.add_bytes;
  j["drop_bytes"] = f.drop_bytes;
  j["ghosts"] = f.ghosts;
  j["rollup"] = f.rollup;
  j["created"] = f.created;
  j["expires"] = f.expires;
  j["signed"] = delta.signature().has_value();
  fmt::print(talk_to(path), "{}\n", j.dump(2));
}

}  // namespace naysay::cli
