// SPDX-License-Identifier: Apache-2.0
// naysay publish: keeps a folder that any web server can serve: a manifest, a base, and the updates after it.
//
//   keys, negatives --> base due? --- yes ---> DIR/p0-29-1f2e3d4c.nsy      a full file
//                          | no
//                          +--- every 7th ---> DIR/p0-35-....nsd           a roll-up: base to now
//                          +--- else --------> DIR/p0-36-....nsd           an increment: last state to now
//                                  |
//       DIR.work/p0-36.digests <---+---> DIR/manifest      renamed last: only then does the update exist
//
// A base is due if there is none, if the updates since the base would be larger than half of a full file, if strangers
// would be accepted at twice the base's rate, or if it is too old. Every file is written by rename before the manifest
// names it, and files that the manifest before named stay, so that the folder can be served at any moment and a client
// that has read the old manifest finds what it names. DIR.work holds the digests of the keys of the last update, from
// which the next one knows which keys were dropped; clients do not need it, so it is not in DIR.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "commands/commands.hpp"
#include "naysay/core/files.hpp"
#include "parts/budget.hpp"
#include "parts/failure.hpp"
#include "parts/folder_lock.hpp"
#include "parts/hashing.hpp"
#include "parts/held_rate.hpp"
#include "parts/inputs.hpp"
#include "parts/manifest.hpp"
#include "parts/progress.hpp"
#include "parts/table.hpp"
#include "parts/update_options.hpp"

namespace naysay::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder, keys, negatives, filter = "taught-ribbon", base_days = "28d";
  Budget budget;
  Hashing hashing;
  UpdateOptions update;
  std::uint64_t rollup_every = 7;
  bool nul = false, json = false, new_base = false;
};

// ---- what the next update must know of the last --------------------------------------------------------------------

struct Memory {
  std::vector<Digest> live, dropped, dropped_before;  // dropped since the base, and since the base before it; sorted
};

constexpr std::array<char, 8> kMemoryMagic = {'n', 'a', 'y', 's', 'a', 'y', 'm', '\n'};

std::string memory_path(const Options& o, std::uint64_t sequence) {
  return fmt::format("{}.work/p{}-{}.digests", o.folder, o.update.partition, sequence);
}

void write_memory(const std::string& path, const Memory& memory) {
  std::vector<std::byte> out(kMemoryMagic.size());
  std::memcpy(out.data(), kMemoryMagic.data(), kMemoryMagic.size());
  for (const auto* part : {&memory.live, &memory.dropped, &memory.dropped_before}) {
    const std::uint64_t n = part->size();
    const auto head = std::as_bytes(std::span(&n, 1)), body = std::as_bytes(std::span(*part));
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), body.begin(), body.end());
  }
  const std::uint64_t sum = checksum(out);
  const auto tail = std::as_bytes(std::span(&sum, 1));
  out.insert(out.end(), tail.begin(), tail.end());
  need(files::write_atomically(path, out));
}

Memory read_memory(const std::string& path) {
  const files::Mapping file = need(files::map(path));
  const Failure damaged{fmt::format("{}: is damaged; remove it and give --new-base", path)};
  std::uint64_t sum = 0;
  if (file.bytes.size() < kMemoryMagic.size() + sizeof sum) throw damaged;
  const auto body = file.bytes.first(file.bytes.size() - sizeof sum);
  std::memcpy(&sum, body.data() + body.size(), sizeof sum);
  if (sum != checksum(body) || std::memcmp(body.data(), kMemoryMagic.data(), kMemoryMagic.size()) != 0) throw damaged;
  Memory memory;
  std::size_t at = kMemoryMagic.size();
  for (auto* part : {&memory.live, &memory.dropped, &memory.dropped_before}) {
    std::uint64_t n = 0;
    if (body.size() - at < sizeof n) throw damaged;
    std::memcpy(&n, body.data() + at, sizeof n);
    at += sizeof n;
    if (n > (body.size() - at) / sizeof(Digest)) throw damaged;
    part->resize(n);
    if (n != 0) std::memcpy(part->data(), body.data() + at, n * sizeof(Digest));
    at += n * sizeof(Digest);
  }
  return memory;
}

std::vector<Digest> sorted(std::span<const Digest> digests) {
  std::vector<Digest> out(digests.begin(), digests.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// What is in a or b and not in `keys`.
std::vector<Digest> gone(std::span<const Digest> a, std::span<const Digest> b, std::span<const Digest> keys) {
  std::vector<Digest> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  all = sorted(all);
  std::erase_if(all, [&](const Digest& d) { return std::binary_search(keys.begin(), keys.end(), d); });
  return all;
}

// ---- the folder ----------------------------------------------------------------------------------------------------

std::string in(const Options& o, const std::string& name) { return o.folder + "/" + name; }

OfferedFile put(const Options& o, std::uint64_t sequence, const char* ending, std::span<const std::byte> bytes) {
  const StateId hash = sha256(bytes);
  OfferedFile f{fmt::format("p{}-{}-{}.{}", o.update.partition, sequence, hash.text().substr(0, 8), ending),
                bytes.size(), hash};
  need(files::write_atomically(in(o, f.name), bytes));
  return f;
}

std::set<std::string> names_in(const Manifest& m) {
  std::set<std::string> names;
  for (const OfferedPartition& p : m.partitions) {
    names.insert(p.base.name);
    for (const OfferedUpdate& u : p.updates) names.insert(u.file.name);
  }
  return names;
}

bool is_ours(const std::string& name) {
  return name.size() > 4 && name[0] == 'p' && name[1] >= '0' && name[1] <= '9' &&
         (name.ends_with(".nsy") || name.ends_with(".nsd"));
}

// Removes what neither manifest names. A failure is none of the user's business: the next call tries again.
void clean(const Options& o, const Manifest& now, const Manifest& before, std::uint64_t sequence) {
  std::set<std::string> used = names_in(now);
  used.merge(names_in(before));
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(o.folder, ignored))
    if (const std::string name = entry.path().filename().string(); is_ours(name) && !used.contains(name))
      fs::remove(entry.path(), ignored);
  const std::string prefix = fmt::format("p{}-", o.update.partition),
                    own = fs::path(memory_path(o, sequence)).filename();
  for (const auto& entry : fs::directory_iterator(o.folder + ".work", ignored))
    if (const std::string name = entry.path().filename().string(); name.starts_with(prefix) && name != own)
      fs::remove(entry.path(), ignored);
}

// The state that clients have, from the files of the folder.
Stack open_offered(const Options& o, const OfferedPartition& p) {
  files::Mapping base = need(files::map(in(o, p.base.name)));
  Stack stack = need(Stack::of({base.bytes, base.keeper}, p.base_sequence));
  for (const OfferedUpdate& u : p.updates) {
    const files::Mapping file = need(files::map(in(o, u.file.name)));
    need(stack.push({file.bytes, file.keeper}));
  }
  if (stack.state() != p.state()) throw Failure{fmt::format("{}: its files are not those of its manifest", o.folder)};
  return stack;
}

// ---- the update ----------------------------------------------------------------------------------------------------

struct Next {
  std::string kind;  // base, update, roll-up
  std::string why;   // of a base
  OfferedPartition partition;
  std::uint64_t bytes = 0;
};

std::vector<std::byte> build_base(const Options& o, std::span<const Digest> keys, std::span<const Digest> refused,
                                  const Hasher& hasher, const Progress& progress) {
  const FilterType* type = find_filter(o.filter);
  if (!type) throw Failure{fmt::format("no filter has the name '{}'; see naysay filters", o.filter)};
  if (type->claims.reads_bytes)
    throw Failure{
        fmt::format("--filter is {}, which reads the bytes of keys; updates need one that does not", o.filter)};
  const Workload workload{.keys = keys, .negatives = refused};
  const BuildOptions options{
      .seed = o.update.seed, .threads = thread_count(o.update.threads), .hasher = hasher, .progress = progress};
  if (o.budget.is_rate()) {
    if (!type->tunable) throw Failure{fmt::format("--fpr is given, but {} cannot price a rate", o.filter)};
    return need(build_for_rate(*type, workload, o.budget.rate(), {}, options)).to_bytes();
  }
  const std::vector<Param> params =
      o.budget.given() ? o.budget.params(keys.size()) : std::vector<Param>{{"bits_per_key", "10"}};
  return need(AnyFilter::build(o.filter, workload, params, options, KeyKind::text)).to_bytes();
}

Next new_base(const Options& o, std::string why, std::uint64_t sequence, std::span<const Digest> keys,
              std::span<const Digest> refused, const Hasher& hasher, std::int64_t created, const Progress& progress) {
  const auto bytes = build_base(o, keys, refused, hasher, progress);
  const Stack stack = need(Stack::of(HeldBytes::copy_of(bytes), sequence));
  for (const Digest& d : keys)
    if (!stack.may_contain(d)) throw Failure{"the new base denies a key; nothing is published"};
  Next next{"base", std::move(why), {}, bytes.size()};
  next.partition = {.number = static_cast<std::uint32_t>(o.update.partition),
                    .sequence = sequence,
                    .keys = keys.size(),
                    .expected_fpr = stack.expected_fpr(),
                    .base = put(o, sequence, "nsy", bytes),
                    .base_sequence = sequence,
                    .base_created = created};
  return next;
}

// An increment, or a roll-up after enough of them. None if a new base is due instead: then `why` says so.
std::optional<Next> new_update(const Options& o, const OfferedPartition& last, const Stack& state, DeltaTask task,
                               std::string& why) {
  task.to_sequence = last.sequence + 1;
  std::uint64_t increments = 0;
  for (const OfferedUpdate& u : last.updates) increments = u.rollup ? 0 : increments + 1;
  const bool rollup = o.rollup_every > 0 && increments >= o.rollup_every;
  task.rollup = rollup;
  Stack stack = need(state.first(rollup ? 0 : state.updates().size()));
  const auto bytes = need(make_delta(stack, task));
  need(stack.push(HeldBytes::copy_of(bytes)));
  if (stack.update_bytes() > stack.base_bytes().bytes.size() / 2)
    why = fmt::format("its updates have {}, more than half of a full file", bytes_text(stack.update_bytes()));
  else if (stack.expected_fpr() > 2 * stack.base().expected_fpr())
    why = fmt::format("it accepts {} of strangers, twice as many as the base", percent(stack.expected_fpr()));
  if (!why.empty()) return std::nullopt;
  Next next{rollup ? "roll-up" : "update", {}, last, bytes.size()};
  OfferedPartition& p = next.partition;
  p.sequence = task.to_sequence;
  p.keys = stack.keys();
  p.expected_fpr = stack.expected_fpr();
  if (rollup) p.updates.clear();
  p.updates.push_back({put(o, task.to_sequence, "nsd", bytes), rollup ? p.base_sequence : last.sequence,
                       task.to_sequence, stack.state(), rollup});
  return next;
}

void run(Options o) {
  if (o.budget.given()) o.budget.check();
  o.update.check();
  const std::int64_t base_lasts = need_duration("--base-age", o.base_days);
  need_one_standard_input({{"--keys", o.keys}, {"--negatives", o.negatives}});
  while (o.folder.size() > 1 && o.folder.back() == '/') o.folder.pop_back();
  DeltaTask task = o.update.task();
  std::error_code problem;
  for (const std::string& folder : {o.folder, o.folder + ".work"})
    if (fs::create_directories(folder, problem); problem)
      throw Failure{fmt::format("{}: cannot make the folder: {}", folder, problem.message())};
  const FolderLock lock(o.folder + ".work");

  Manifest before;
  const bool is_first = !fs::exists(in(o, kManifest));
  if (!is_first) {
    const files::Mapping file = need(files::map(in(o, kManifest)));
    before = need(
        Manifest::parse(std::string(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()), Verifier{}));
  }
  if (!is_first && !o.update.list.empty() && o.update.list != before.list)
    throw Failure{fmt::format("--list is '{}', but {} holds the list '{}'", o.update.list, o.folder, before.list)};
  if (is_first) before.list = o.update.list;
  task.list = before.list.empty() ? 0 : list_number(before.list);
  const OfferedPartition* last = before.find(task.partition);

  std::optional<Stack> state;
  Memory memory;
  if (last) {
    state.emplace(open_offered(o, *last));
    if (const std::string path = memory_path(o, last->sequence); fs::exists(path))
      memory = read_memory(path);
    else if (!o.update.ghosts && !o.new_base)
      throw Failure{fmt::format("{}: is missing, so that nobody knows which keys were dropped; give --new-base", path)};
  }
  const Hasher hasher = state ? state->hasher() : o.hashing.hasher(o.update.seed);
  ProgressBar bar;
  const auto given = need(read_keys(key_file(o.keys, o.nul), hasher, bar.callback()));
  const auto negatives =
      o.negatives.empty() ? Negatives{} : need(read_negatives(key_file(o.negatives, o.nul), hasher, bar.callback()));
  const std::vector<Digest> keys = sorted(given);
  Memory now;
  now.live = keys;
  now.dropped = gone(memory.dropped, memory.live, keys);
  now.dropped_before = gone(memory.dropped_before, {}, keys);
  const std::vector<Digest> dropped = gone(now.dropped, now.dropped_before, keys);
  task.keys = keys;
  task.negatives = negatives.digests;
  task.dropped = dropped;
  task.progress = bar.callback();

  const std::uint64_t sequence = last ? last->sequence + 1 : 1;
  std::string why = !last                                                              ? "it is the first"
                    : o.new_base                                                       ? "--new-base is given"
                    : base_lasts > 0 && task.created - last->base_created > base_lasts ? "the last is too old"
                                                                                       : "";
  std::optional<Next> next;
  if (why.empty()) next = new_update(o, *last, *state, task, why);
  if (!next) {
    const std::vector<Digest> refused = gone(task.negatives, task.ghosts ? std::span<const Digest>{} : dropped, keys);
    next = new_base(o, why, sequence, keys, refused, hasher, task.created, bar.callback());
    now.dropped_before = std::move(now.dropped);
    now.dropped.clear();
  }
  write_memory(memory_path(o, sequence), now);

  Manifest after = before;
  after.created = task.created;
  after.expires = task.expires;
  if (OfferedPartition* old = after.find(task.partition))
    *old = next->partition;
  else
    after.partitions.push_back(next->partition);
  std::sort(after.partitions.begin(), after.partitions.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  const std::string text = need(after.text(task.signer));
  need(files::write_atomically(in(o, kManifest), std::as_bytes(std::span(text))));
  clean(o, after, before, sequence);
  bar.clear();
  if (o.json) {
    nlohmann::ordered_json j = {{"folder", o.folder},
                                {"sequence", sequence},
                                {"kind", next->kind},
                                {"bytes", next->bytes},
                                {"keys", keys.size()},
                                {"dropped", now.dropped.size() + now.dropped_before.size()},
                                {"expected_fpr", next->partition.expected_fpr},
                                {"state", next->partition.state().text()}};
    if (!next->why.empty()) j["why"] = next->why;
    fmt::print("{}\n", j.dump(2));
  } else {
    fmt::print("{}: {} {} of {} keys, {}, accepts {} of strangers{}\n", o.folder, next->kind, sequence, keys.size(),
               bytes_text(next->bytes), percent(next->partition.expected_fpr),
               next->why.empty() ? "" : "; a base, because " + next->why);
  }
}

}  // namespace

void add_publish(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("publish", "keep a folder of a list and its updates, for a web server");
  c.option("folder", o->folder, "the folder that is served; FOLDER.work next to it is for this command alone")
      .required()
      .type_name("DIR");
  c.option("--keys", o->keys, "all keys of the list, one per line; - is the standard input")
      .required()
      .type_name("FILE");
  c.option("--negatives", o->negatives, "known negatives, one key<TAB>cost per line").type_name("FILE");
  c.option("--filter", o->filter, "of a base").shows_default().type_name("NAME");
  o->budget.add_options(c, Budget::Rates::allowed);
  o->hashing.add_options(c);
  o->update.add_options(c);
  c.number("--rollup-every", o->rollup_every, {0, 1'000'000}, "increments before a roll-up; 0: no roll-ups")
      .shows_default()
      .type_name("N");
  c.option("--base-age", o->base_days, "a base that is older is replaced; 0: never").shows_default().type_name("TIME");
  c.flag("--new-base", o->new_base, "publish a full file");
  add_null_option(c, o->nul);
  c.flag("--json", o->json, "say what was published as JSON");
  c.footer(
      "Without a budget a base has 10 bits per key. A full file is due if there is none, if the updates since it are\n"
      "larger than half of it, if strangers are accepted at twice its rate, or if it is older than --base-age.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o old.txt\n"
      "  naysay generate urls --count 1000 --first 20 -o new.txt\n"
      "  naysay publish served --keys old.txt\n"
      "  naysay publish served --keys new.txt");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
