// SPDX-License-Identifier: Apache-2.0
// NS.INFO: what a filter says of itself, under the incumbent's names where it has one.
#include "commands.hpp"
#include "naysay/live/metrics.hpp"

namespace naysay::redis {

namespace {

struct Field {
  const char* option;  // NS.INFO key OPTION replies this one alone; null: it has none
  const char* name;
  double number = 0;
  std::string text = {};
};

std::vector<Field> fields_of(const StoredFilter& s) {
  std::vector<Field> out;
  const auto add = [&](const char* option, const char* name, auto n) {
    out.push_back({option, name, static_cast<double>(n)});
  };
  const auto say = [&](const char* option, const char* name, std::string text) {
    out.push_back({option, name, 0, std::move(text)});
  };
  if (s.filter) {
    const AnyFilter& f = *s.filter;
    const Metrics m = metrics_of(f);
    add("CAPACITY", "Capacity", m.capacity);
    add("SIZE", "Size", s.mapped() ? f.size_bits() / 8 : s.bytes());
    add("FILTERS", "Number of filters", m.parts);
    add("ITEMS", "Number of items inserted", f.keys());
    double growth = 0;
    for (const Param& p : f.params())
      if (std::string right; p.name == "growth") from_text(p.value, growth, right);
    add("EXPANSION", "Expansion rate", growth);
    say("FILTER", "Filter", std::string(f.type().name));
    add("ERROR", "Expected error rate", m.expected_fpr);
    if (m.planned_fpr > 0) add(nullptr, "Planned error rate", m.planned_fpr);
    if (m.guard_room > 0) {
      add(nullptr, "Guard entries", m.guard_entries);
      add(nullptr, "Guard room", m.guard_room);
      add("PINNED", "Pinned negatives", m.pinned);
    }
  }
  add(nullptr, "Queries", s.queries);
  add(nullptr, "Maybes", s.maybes);
  add(nullptr, "Reports", s.reports);
  add(nullptr, "Reported cost", s.reported_cost);
  if (s.mapped()) say(nullptr, "File", s.path);
  if (!s.trouble.empty()) say(nullptr, "Trouble", s.trouble);
  if (!s.incoming.empty()) add(nullptr, "Bytes loaded", s.incoming.size());
  return out;
}

void write(const Call& c, const Field& f) {
  if (!f.text.empty())
    c.write_text(f.text);
  else if (f.number == static_cast<double>(static_cast<long long>(f.number)))
    c.integer(static_cast<long long>(f.number));
  else
    server::ReplyWithDouble(c.ctx, f.number);
}

}  // namespace

int ns_info(Call& c) {
  if (c.size() != 2 && c.size() != 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead);
  if (key.stored() == nullptr) throw Refusal{"ERR the key does not exist; create it with NS.RESERVE"};
  const std::vector<Field> fields = fields_of(*key.stored());
  if (c.more()) {
    for (const Field& f : fields)
      if (f.option != nullptr && c.takes(f.option)) {
        write(c, f);
        return server::kOk;
      }
    std::string options;
    for (const Field& f : fields)
      if (f.option != nullptr) options += (options.empty() ? "" : ", ") + std::string(f.option);
    throw Refusal{"ERR NS.INFO has no field '" + std::string(c.next()) + "'; here it has " + options};
  }
  server::ReplyWithMap(c.ctx, static_cast<long>(fields.size()));
  for (const Field& f : fields) {
    c.write_text(f.name);
    write(c, f);
  }
  return server::kOk;
}

}  // namespace naysay::redis
