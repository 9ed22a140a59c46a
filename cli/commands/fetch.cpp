// SPDX-License-Identifier: Apache-2.0
// naysay fetch: brings a folder to the newest state that a publisher offers, by the cheapest way.
//
//   manifest --> signature, expiry, not older than ours
//      |
//      +--> updates after a state that we have (the last, or one before it, or the base)     a few kB
//      +--> the base and its updates                                                         if there is no such way,
//                |                                                                            or it fails a check
//   each file: size, SHA-256; each update: signature, chain, expiry, self-test
//                |
//   current.nst --link--> previous.nst;  new state --rename--> current.nst        the old state or the new, never a mixture
//
// On any failure the folder keeps the state that it has. `naysay fetch --back` returns to the previous one.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "commands/commands.hpp"
#include "naysay/core/files.hpp"
#include "naysay/updates/watched.hpp"
#include "parts/failure.hpp"
#include "parts/folder_lock.hpp"
#include "parts/manifest.hpp"
#include "parts/table.hpp"
#include "parts/transport.hpp"
#include "parts/update_options.hpp"

namespace naysay::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostManifest = 64 << 20;

struct Options {
  std::string source, into, verify_key;
  std::vector<std::string> partitions;
  std::uint64_t retries = 3;
  double wait = 1;
  bool json = false, back = false;
};

std::string in(const Options& o, const char* name) { return o.into + "/" + name; }

// What cannot be mended by trying again.
struct Refusal {
  std::string message;
};

Result<HeldBytes> get(Transport& from, const OfferedFile& file) {
  NAYSAY_TRY(const auto bytes, from.get(file.name, file.bytes));
  if (bytes.size() != file.bytes || sha256(bytes) != file.sha256)
    return Error{Errc::corrupt, fmt::format("{}: is not the file that the manifest names", file.name)};
  return HeldBytes::copy_of(bytes);
}

Result<Stack> add_updates(Transport& from, Stack stack, const OfferedPartition& offered, std::size_t first,
                          const StackChecks& checks) {
  for (std::size_t i = first; i < offered.updates.size(); ++i) {
    NAYSAY_TRY(HeldBytes bytes, get(from, offered.updates[i].file));
    NAYSAY_CHECK(stack.push(std::move(bytes), checks));
    if (stack.state() != offered.updates[i].to)
      return Error{Errc::corrupt,
                   fmt::format("{}: does not lead to the state that the manifest names", offered.updates[i].file.name)};
  }
  return stack;
}

Result<Stack> take_full(Transport& from, const OfferedPartition& offered, const StackChecks& checks) {
  NAYSAY_TRY(HeldBytes base, get(from, offered.base));
  NAYSAY_TRY(Stack stack, Stack::of(std::move(base), offered.base_sequence));
  return add_updates(from, std::move(stack), offered, 0, checks);
}

// The longest part of our stack that the publisher's chain continues: how many of our updates, and how many of his.
struct Common {
  std::size_t ours = 0, theirs = 0;
};
std::optional<Common> common(const Stack& mine, const OfferedPartition& offered) {
  if (mine.state(0) != offered.base.sha256) return std::nullopt;
  Common best;
  for (std::size_t i = 1; i <= mine.updates().size(); ++i)
    for (std::size_t j = 0; j < offered.updates.size(); ++j)
      if (mine.state(i) == offered.updates[j].to && j + 1 > best.theirs) best = {i, j + 1};
  return best;
}

struct Fetched {
  std::vector<Partition> partitions;
  bool changed = false;
  std::string way = "nothing new";  // updates, full
  std::string note = {};            // why the full file was taken
};

Fetched attempt(const Options& o, Transport& from, const StackChecks& checks, const std::vector<Partition>& mine) {
  const auto bytes = need(from.get(kManifest, kMostManifest));
  auto manifest =
      Manifest::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), checks.verifier);
  if (!manifest) throw Refusal{manifest.error().message};
  if (manifest->expires != 0 && manifest->expires <= checks.now)
    throw Refusal{fmt::format("the manifest expired {} seconds ago", checks.now - manifest->expires)};
  Fetched out;
  std::vector<std::uint32_t> wanted;
  for (const std::string& text : o.partitions) {
    std::uint32_t number = 0;
    std::string unused;
    if (!from_text(text, number, unused) || !manifest->find(number))
      throw Refusal{fmt::format("--partition is '{}', but the publisher offers no such partition", text)};
    wanted.push_back(number);
  }
  for (const OfferedPartition& offered : manifest->partitions) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), offered.number) == wanted.end()) continue;
    const auto own =
        std::find_if(mine.begin(), mine.end(), [&](const Partition& p) { return p.number == offered.number; });
    if (own != mine.end() && offered.sequence < own->stack.sequence())
      throw Refusal{fmt::format("the publisher offers update {}, but {} has {}; it never goes back by itself",
                                offered.sequence, o.into, own->stack.sequence())};
    if (own != mine.end() && own->stack.state() == offered.state()) {
      out.partitions.push_back({offered.number, need(own->stack.first(own->stack.updates().size()))});
      continue;
    }
    out.changed = true;
    if (const auto shared = own == mine.end() ? std::nullopt : common(own->stack, offered)) {
      auto stack = add_updates(from, need(own->stack.first(shared->ours)), offered, shared->theirs, checks);
      if (stack) {
        if (out.way != "full") out.way = "updates";
        out.partitions.push_back({offered.number, std::move(*stack)});
        continue;
      }
      if (stack.error().code == Errc::io) throw Failure{stack.error().message};
      out.note = stack.error().message;
    }
    out.way = "full";
    out.partitions.push_back({offered.number, need(take_full(from, offered, checks))});
  }
  if (out.partitions.empty()) throw Refusal{"the publisher offers no partition"};
  out.changed |= out.partitions.size() != mine.size();
  return out;
}

// The state of the folder; none if there is none, or if it is damaged.
std::vector<Partition> read_state(const Options& o) {
  const std::string path = in(o, kCurrentState);
  if (!fs::exists(path)) return {};
  auto state = open_partitions(path);
  if (state) return std::move(*state);
  fmt::print(stderr, "naysay: {}; it is fetched whole\n", state.error().message);
  return {};
}

// previous.nst becomes what current.nst is.
void keep_previous(const Options& o) {
  const std::string current = in(o, kCurrentState), link = in(o, "previous.link"), previous = in(o, kPreviousState);
  ::unlink(link.c_str());
  if (::link(current.c_str(), link.c_str()) != 0) {
    if (errno == ENOENT) return;
    throw Failure{fmt::format("{}: cannot link: {}", previous, std::strerror(errno))};
  }
  if (::rename(link.c_str(), previous.c_str()) != 0)
    throw Failure{fmt::format("{}: cannot rename into place: {}", previous, std::strerror(errno))};
  ::unlink(link.c_str());  // a rename of a file to itself leaves both names
}

void go_back(const Options& o) {
  const FolderLock lock(o.into);
  const auto state = need(open_partitions(in(o, kPreviousState)));
  const auto bytes = need(bytes_of_partitions(state));
  need(files::write_atomically(in(o, kCurrentState), bytes));
  fmt::print("{}: back at update {}\n", o.into, state[0].stack.sequence());
}

void run(Options o) {
  while (o.into.size() > 1 && o.into.back() == '/') o.into.pop_back();
  if (o.back) return go_back(o);
  if (o.source.empty()) throw Failure{"no publisher is given; give a folder or a URL, or --back"};
  if (!(o.wait >= 0 && o.wait <= 3600))
    throw Failure{fmt::format("--wait is {}; it must be 0 to 3600 seconds", o.wait)};
  const StackChecks checks = checks_of(o.verify_key);
  Transport from(o.source);
  std::error_code problem;
  if (fs::create_directories(o.into, problem); problem)
    throw Failure{fmt::format("{}: cannot make the folder: {}", o.into, problem.message())};
  const FolderLock lock(o.into);
  const std::vector<Partition> mine = read_state(o);
  std::optional<Fetched> fetched;
  std::mt19937_64 random(std::random_device{}());
  for (std::uint64_t round = 0; !fetched; ++round) {
    try {
      fetched.emplace(attempt(o, from, checks, mine));
    } catch (const Refusal& refusal) {
      throw Failure{fmt::format("{}; {} stays as it is", refusal.message, o.into)};
    } catch (const Failure& failure) {
      if (round >= o.retries) throw Failure{fmt::format("{}; {} stays as it is", failure.message, o.into)};
      // Twice as long each time, and a random part of it, so that clients do not come back together.
      const double most = o.wait * std::exp2(static_cast<double>(std::min<std::uint64_t>(round, 10)));
      std::this_thread::sleep_for(
          std::chrono::duration<double>(most * std::uniform_real_distribution<double>(0.5, 1.5)(random)));
    }
  }
  if (fetched->changed) {
    const auto bytes = need(bytes_of_partitions(fetched->partitions));
    keep_previous(o);
    need(files::write_atomically(in(o, kCurrentState), bytes));
  }
  if (!fetched->note.empty()) fmt::print(stderr, "naysay: {}; the full file was taken\n", fetched->note);
  std::uint64_t keys = 0, sequence = 0;
  for (const Partition& p : fetched->partitions) {
    keys += p.stack.keys();
    sequence = std::max(sequence, p.stack.sequence());
  }
  if (o.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"folder", o.into},
                                              {"sequence", sequence},
                                              {"keys", keys},
                                              {"changed", fetched->changed},
                                              {"way", fetched->way},
                                              {"bytes", from.bytes()}}
                           .dump(2));
  else
    fmt::print("{}: update {} of {} keys, {}, {} received\n", o.into, sequence, keys, fetched->way,
               bytes_text(from.bytes()));
}

}  // namespace

void add_fetch(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("fetch", "bring a folder to the newest state of a published list");
  c.option("source", o->source, "what naysay publish keeps: a folder, or its http:// or https:// address")
      .type_name("URL|DIR");
  c.option("--into", o->into, "the folder of the list: current.nst is the newest state, previous.nst the one before")
      .required()
      .type_name("DIR");
  c.option("--verify-key", o->verify_key, "refuse what is not signed with this key (openssl pkey -pubout)")
      .type_name("PEM");
  c.option("--partition", o->partitions, "only these partitions; may be repeated").type_name("N").repeated();
  c.number("--retries", o->retries, {0, 1000}, "how often to try again").shows_default().type_name("N");
  c.number("--wait", o->wait, {0, 86400}, "seconds before the first retry, about; then twice as long each time")
      .shows_default()
      .type_name("S");
  c.flag("--back", o->back, "return to the previous state instead");
  c.flag("--json", o->json, "say what was fetched as JSON");
  c.footer(
      "Takes the updates after its state, or the full file where there is no such way. Nothing is used before its\n"
      "signature, chain, expiry and self-test are right; on any failure the folder stays as it is.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay publish served --keys keys.txt\n"
      "  naysay fetch served --into list");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
