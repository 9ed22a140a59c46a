// SPDX-License-Identifier: Apache-2.0
// Commands on items: create a filter, insert, query, erase, report.
//
// A write command uses neither clock nor random numbers, so a replica that repeats it has the same bytes. A key that
// NS.ADD creates depends on the settings of this server: replicas are sent the NS.RESERVE that makes the same.
#include "commands.hpp"

#include <optional>
#include <vector>

#include "naysay/guarded/guarded.hpp"
#include "settings.hpp"

namespace naysay::redis {

namespace {

constexpr double kLeastRate = 1e-9, kMostRate = 0.5;
constexpr std::uint64_t kMostCapacity = std::uint64_t{1} << 40;

std::uint64_t limit(const Call& c) {
  return c.repeated() ? 0 : static_cast<std::uint64_t>(settings.max_memory_per_key);
}

void need_room_for(const Call& c, const Shape& shape) {
  const std::uint64_t bytes = need(bytes_of(shape)), most = limit(c);
  if (most > 0 && bytes > most)
    throw Refusal{"OOM the filter needs up to " + std::to_string(bytes) +
                  " bytes, and naysay.max-memory-per-key allows " + std::to_string(most)};
}
void need_room(const Call& c, const StoredFilter& stored) {
  if (const std::uint64_t most = limit(c); most != 0 && stored.bytes() >= most)
    throw Refusal{"OOM the filter has reached naysay.max-memory-per-key, " + std::to_string(most) + " bytes"};
}

// One of the options of NS.RESERVE. False: it is another word.
bool take_option(Call& c, Shape& shape) {
  if (c.takes("EXPANSION")) {
    shape.expansion = c.number("EXPANSION", 1, 1e6);
    shape.expansion_given = true;
  } else if (c.takes("FILTER")) {
    shape.filter = c.next();
  } else if (c.takes("PINNED")) {
    shape.pinned = true;
  } else if (c.takes("NONSCALING")) {
    shape.nonscaling = true;
    if (shape.filter == settings.default_filter) shape.filter.clear();
  } else {
    return false;
  }
  return true;
}

StoredFilter& create(Call& c, OpenKey& key, const Shape& shape) {
  need_room_for(c, shape);
  auto stored = std::make_unique<StoredFilter>();
  stored->filter = need(make_filter(shape));
  return key.put(std::move(stored));
}

// The shape as the NS.RESERVE that makes the same filter, whatever the settings are where it is repeated.
void replicate_reserve(const Call& c, const Shape& shape, const AnyFilter& made) {
  std::vector<std::string> words = {std::string(Call::text(c.key())), to_text(shape.error_rate),
                                    to_text(shape.capacity), "FILTER", std::string(made.type().name)};
  for (const Param& p : made.params())
    if (p.name == "growth") words.insert(words.end(), {"EXPANSION", p.value});
  if (shape.pinned) words.emplace_back("PINNED");
  std::vector<server::String*> args;
  for (const std::string& word : words) args.push_back(server::CreateString(c.ctx, word.data(), word.size()));
  server::Replicate(c.ctx, "NS.RESERVE", "v", args.data(), args.size());
  for (server::String* arg : args) server::FreeString(c.ctx, arg);
}

// The filter to insert into; a new one if there is no such key.
AnyFilter& filter_for_items(Call& c, OpenKey& key, const Shape& shape) {
  if (key.stored() == nullptr) {
    create(c, key, shape);
    replicate_reserve(c, shape, *key.stored()->filter);
    c.notify("ns.reserve");
  }
  AnyFilter& f = key.changeable();
  if (!f.type().dynamic) throw Refusal{"ERR " + std::string(f.type().name) + " accepts no more keys"};
  need_room(c, *key.stored());
  return f;
}

std::string not_inserted(Outcome o, const AnyFilter& f) {
  if (o == Outcome::no_memory) return "OOM there is not enough memory to insert the item";
  return "FULL the filter has no room for more than " + std::to_string(f.keys()) + " items";
}

// Replies one answer per item: true if it was denied before, or an error. With `absent_only` an item that is accepted
// already is not inserted again.
int insert_items(Call& c, const Shape& shape, int first, bool absent_only = false) {
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  AnyFilter& f = filter_for_items(c, key, shape);
  server::ReplyWithArray(c.ctx, c.size() - first);
  bool changed = false;
  for (int i = first; i < c.size(); ++i) {
    const Digest d = f.hasher()(c.arg(i));
    const bool is_new = !f.may_contain(d);
    if (absent_only && !is_new) {
      c.truth(false);
    } else if (const Outcome o = f.insert(d); o) {
      c.truth(is_new);
      changed = true;
      ++counters.inserted;
    } else {
      c.error(not_inserted(o, f));
    }
  }
  // Replicas repeat all of it: what has no room here has none there.
  if (changed) c.changed("ns.add");
  return server::kOk;
}

// ---- queries ----

// The cost of a negative that the guard refuses, and 0 for what the filter denies anyway.
double avoided_cost(const AnyFilter& f, Digest d) noexcept {
  const auto cost = [d](const auto* g) { return g != nullptr && g->base().may_contain(d) ? g->guarded_cost(d) : 0.0; };
  return cost(f.as<GuardedGrowing>()) + cost(f.as<GuardedCuckoo>());
}

bool count_answer(StoredFilter& stored, Digest d, bool maybe) noexcept {
  ++stored.queries;
  stored.maybes += maybe;
  if (!maybe)
    if (const double cost = avoided_cost(*stored.filter, d); cost > 0) {
      ++counters.avoided;
      counters.meter.avoided(cost);
    }
  return counters.meter.asked(maybe);
}

bool query(StoredFilter& stored, std::string_view item) noexcept {
  const Digest d = stored.filter->hasher()(item);
  return count_answer(stored, d, stored.filter->may_contain(d, item));
}

// Null: no item is in it. Without a filter, because its file cannot be read, any may be.
StoredFilter* queried(OpenKey& key) {
  if (key.stored() != nullptr && !key.stored()->mapped()) key.readable();
  return key.stored();
}

// ---- reports ----

bool report(StoredFilter& stored, std::string_view item, float cost) noexcept {
  const bool refused = static_cast<bool>(stored.filter->adapt(item, cost));
  ++stored.reports;
  stored.reported_cost += cost;
  counters.meter.false_positive(cost);
  return refused;
}

// Whether the filter was reserved as PINNED: then known negatives are pinned.
bool pins_negatives(const AnyFilter& f) {
  for (const Param& p : f.params())
    if (p.name == "pinned") return p.value == "true";
  return false;
}

AnyFilter& pinning(OpenKey& key) {
  AnyFilter& f = key.changeable();
  if (!f.type().pinning)
    throw Refusal{"ERR " + std::string(f.type().name) + " cannot pin; filters that can are " +
                  names_of_filters([](const FilterType& t) { return t.pinning; })};
  return f;
}

AnyFilter& adaptive(OpenKey& key) {
  AnyFilter& f = key.changeable();
  if (!f.adapts())
    throw Refusal{"ERR " + std::string(f.type().name) + " takes no reports; filters that do are " +
                  names_of_filters([](const FilterType& t) { return t.adaptive && t.dynamic; })};
  return f;
}

}  // namespace

int ns_reserve(Call& c) {
  if (c.size() < 4) return server::WrongArity(c.ctx);
  Shape shape = settings.shape();
  shape.error_rate = c.number("error_rate", kLeastRate, kMostRate);
  shape.capacity = c.whole("capacity", 1, kMostCapacity);
  while (c.more())
    if (!take_option(c, shape)) throw Refusal{"ERR '" + std::string(c.next()) + "' is no option of NS.RESERVE"};
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  if (key.stored() != nullptr) throw Refusal{"ERR the key exists already"};
  create(c, key, shape);
  replicate_reserve(c, shape, *key.stored()->filter);
  c.notify("ns.reserve");
  return c.ok();
}

namespace {

int add_one(Call& c, bool absent_only) {
  if (c.size() != 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  AnyFilter& f = filter_for_items(c, key, settings.shape());
  const Digest d = f.hasher()(c.arg(2));
  const bool is_new = !f.may_contain(d);
  if (absent_only && !is_new) return c.truth(false);
  if (const Outcome o = f.insert(d); !o) throw Refusal{not_inserted(o, f)};
  ++counters.inserted;
  c.changed("ns.add");
  return c.truth(is_new);
}

}  // namespace

int ns_add(Call& c) { return add_one(c, false); }
int ns_addnx(Call& c) { return add_one(c, true); }

int ns_madd(Call& c) {
  if (c.size() < 3) return server::WrongArity(c.ctx);
  return insert_items(c, settings.shape(), 2);
}

int ns_insert(Call& c) {
  if (c.size() < 4) return server::WrongArity(c.ctx);
  Shape shape = settings.shape();
  bool create_it = true, absent_only = false;
  while (!c.takes("ITEMS")) {
    if (c.takes("CAPACITY"))
      shape.capacity = c.whole("CAPACITY", 1, kMostCapacity);
    else if (c.takes("ERROR"))
      shape.error_rate = c.number("ERROR", kLeastRate, kMostRate);
    else if (c.takes("NOCREATE"))
      create_it = false;
    else if (c.takes("NX"))
      absent_only = true;
    else if (!take_option(c, shape))
      throw Refusal{"ERR '" + std::string(c.next()) + "' is no option of NS.INSERT; items stand after ITEMS"};
  }
  if (!c.more()) return server::WrongArity(c.ctx);
  if (!create_it && OpenKey(c.ctx, c.key(), server::kRead).stored() == nullptr)
    throw Refusal{"ERR the key does not exist, and NOCREATE is given"};
  return insert_items(c, shape, c.position(), absent_only);
}

int ns_exists(Call& c) {
  if (c.size() != 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead);
  StoredFilter* stored = queried(key);
  if (stored == nullptr) return c.truth(false);
  return c.truth(!stored->filter || query(*stored, c.arg(2)));
}

int ns_mexists(Call& c) {
  if (c.size() < 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead);
  StoredFilter* stored = queried(key);
  const int n = c.size() - 2;
  if (stored == nullptr || !stored->filter || stored->filter->type().claims.reads_bytes) {
    server::ReplyWithArray(c.ctx, n);
    for (int i = 0; i < n; ++i) c.truth(stored != nullptr && (!stored->filter || query(*stored, c.arg(2 + i))));
    return server::kOk;
  }
  std::vector<Digest> digests(static_cast<std::size_t>(n));
  std::vector<std::uint8_t> answers(digests.size());
  for (std::size_t i = 0; i < digests.size(); ++i)
    digests[i] = stored->filter->hasher()(c.arg(2 + static_cast<int>(i)));
  stored->filter->may_contain(digests, answers.data());
  server::ReplyWithArray(c.ctx, n);
  for (std::size_t i = 0; i < digests.size(); ++i) c.truth(count_answer(*stored, digests[i], answers[i] != 0));
  return server::kOk;
}

int ns_del(Call& c) {
  if (c.size() != 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  if (key.stored() == nullptr) return c.truth(false);
  AnyFilter& f = key.changeable();
  if (!f.type().erasable) throw Refusal{"ERR " + std::string(f.type().name) + " cannot erase items"};
  if (!f.erase(c.arg(2))) return c.truth(false);
  ++counters.erased;
  c.changed("ns.del");
  return c.truth(true);
}

int ns_card(Call& c) {
  if (c.size() != 2) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead);
  return c.integer(key.stored() == nullptr ? 0 : static_cast<long long>(key.readable().keys()));
}

int ns_report(Call& c) {
  if (c.size() != 3 && c.size() != 4) return server::WrongArity(c.ctx);
  c.skip_to(3);
  const auto cost = static_cast<float>(c.more() ? c.number("cost", 0, 1e30) : 1);
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  adaptive(key);
  const bool refused = report(*key.stored(), c.arg(2), cost);
  c.changed("ns.report");  // even if it was not kept: the guard may have changed
  return c.truth(refused);
}

int ns_negatives(Call& c) {
  if (c.size() < 4 || c.size() % 2 != 0) return server::WrongArity(c.ctx);
  std::vector<float> costs;
  for (int i = 3; i < c.size(); i += 2) {
    c.skip_to(i);
    costs.push_back(static_cast<float>(c.number("cost", 0, 1e30)));
  }
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  AnyFilter& f = adaptive(key);
  const bool pinned = pins_negatives(f);
  long long refused = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::string_view item = c.arg(2 + 2 * static_cast<int>(i));
    refused += static_cast<bool>(pinned ? f.pin(item) : f.adapt(item, costs[i]));
  }
  c.changed("ns.negatives");
  return c.integer(refused);
}

int ns_pin(Call& c) {
  if (c.size() < 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  AnyFilter& f = pinning(key);
  need_room(c, *key.stored());
  server::ReplyWithArray(c.ctx, c.size() - 2);
  for (int i = 2; i < c.size(); ++i) c.truth(static_cast<bool>(f.pin(c.arg(i))));
  c.changed("ns.pin");
  return server::kOk;
}

int ns_unpin(Call& c) {
  if (c.size() < 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  AnyFilter& f = pinning(key);
  server::ReplyWithArray(c.ctx, c.size() - 2);
  for (int i = 2; i < c.size(); ++i) c.truth(static_cast<bool>(f.unpin(c.arg(i))));
  c.changed("ns.unpin");
  return server::kOk;
}

// All of them, or an error and nothing: a copy takes the sources in.
int ns_merge(Call& c) {
  if (c.size() < 3) return server::WrongArity(c.ctx);
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  std::optional<AnyFilter> merged;
  if (key.stored() != nullptr) merged = need(key.changeable().clone());
  for (int i = 2; i < c.size(); ++i) {
    if (c.arg(i) == Call::text(c.key())) throw Refusal{"ERR the key is one of its own sources"};
    OpenKey source(c.ctx, c.raw(i), server::kRead);
    const AnyFilter& from = source.readable();
    if (!merged)
      merged = need(from.clone());
    else
      need(merged->merge(from));
  }
  if (!merged->type().merging)
    throw Refusal{"ERR " + std::string(merged->type().name) + " cannot be merged; filters that can are " +
                  names_of_filters([](const FilterType& t) { return t.merging; })};
  if (const std::uint64_t most = limit(c); most != 0 && (merged->size_bits() + merged->index_bits()) / 8 > most)
    throw Refusal{"OOM the merged filter has more than naysay.max-memory-per-key, " + std::to_string(most) + " bytes"};
  if (key.stored() == nullptr) key.put(std::make_unique<StoredFilter>());
  key.stored()->filter = std::move(merged);
  c.changed("ns.merge");
  return c.ok();
}

}  // namespace naysay::redis
