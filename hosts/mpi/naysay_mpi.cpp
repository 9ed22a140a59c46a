// SPDX-License-Identifier: Apache-2.0
// naysay-mpi build: a filter from keys and known negatives, by the ranks of an MPI job, with the bytes of naysay build.
//
//   every rank        all ranks                        every rank                       all ranks
//   reads its share   facts added up: plan, shards     solves its range of shards       one file, by MPI-IO
//   of the input      digests go to their ranges       (core/parts.hpp)
//
// The digests are exchanged in rounds of at most 2^20 for each rank (ranks.hpp), however the input is skewed. The words of
// the filter are in the memory of the rank that built them and go from there to the file; no rank holds all of them.
//
// Promises   The same bytes as naysay build, for any number of ranks and threads. If one rank fails, all end with its
//            message, exit code 2 and no file.
// Cost       docs/scale.md.
#include <fmt/core.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "naysay/version.hpp"
#include "own_lines.hpp"
#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/filter_files.hpp"
#include "parts/locked_file.hpp"
#include "parts/output.hpp"
#include "parts/part_build.hpp"
#include "parts/signals.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"
#include "ranks.hpp"

namespace naysay::mpi {

namespace {

using cli::Failure;
using cli::need;

struct Options {
  cli::PartOptions input;
  std::string output;
  double wait = cli::kDefaultWait;
  bool verbose = false, json = false;
};

constexpr std::size_t kWriteBytes = std::size_t{1} << 26;  // in one call of MPI-IO

// What a rank holds: first the share of the input that it read, then the range of digests that it builds.
struct Held {
  std::vector<Digest> keys, negatives;
  std::vector<float> costs;

  void add(Held more) {
    const auto append = [](auto& to, auto& from) {
      if (to.empty()) return to.swap(from);
      to.insert(to.end(), from.begin(), from.end());
      from = {};
    };
    append(keys, more.keys);
    append(negatives, more.negatives);
    append(costs, more.costs);
  }
};

// Seconds of each step on the slowest rank, and bytes that went to another rank.
class Account {
 public:
  explicit Account(Ranks& ranks) : ranks_(ranks), last_(Clock::now()) {}
  void step(const char* name) {
    const auto now = Clock::now();
    lines_.push_back({name, ranks_.most(std::chrono::duration<double>(now - last_).count())});
    last_ = Clock::now();
  }
  void add(const char* name, double value) { lines_.push_back({name, value}); }
  void print() const {
    for (const auto& [name, value] : lines_) fmt::print(stderr, "{}: {}\n", name, rounded_text(value));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Ranks& ranks_;
  Clock::time_point last_;
  std::vector<std::pair<std::string, double>> lines_;
};

// Calls body(t) on thread t of these. Throws what the first of them threw.
template <class Body>
void on_threads(unsigned threads, Body body) {
  std::vector<std::exception_ptr> thrown(threads);
  const auto call = [&](unsigned t) noexcept {
    try {
      body(t);
    } catch (...) {
      thrown[t] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  unsigned started = 1;
  try {
    for (; started < threads; ++started) others.emplace_back(call, started);
  } catch (const std::exception&) {  // no more threads are to be had: this one does their work
  }
  call(0);
  for (; started < threads; ++started) call(started);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

// Each rank's share of the lines, and its facts in the plan. Each thread has a share of its own, as if it were a rank.
Held read_share(const cli::PartFiles& files, unsigned threads, Ranks& ranks, const Hasher& hasher,
                cli::PartPlan& plan) {
  Held held;
  ranks.together("its share of the input", [&] {
    std::vector<Held> of_thread(threads);
    std::vector<cli::PartPlan> facts(threads, plan);
    on_threads(threads, [&](unsigned t) {
      Held& own = of_thread[t];
      cli::PartPlan& sums = facts[t];
      OwnLines lines(ranks.rank(), ranks.size(), t, threads);
      for (std::size_t i = 0; i < files.keys.size(); ++i)
        need(lines.for_each(files.keys[i], i, [&](std::string_view line) -> Result<Ok> {
          own.keys.push_back(hasher(line));
          sums.add_key(own.keys.back());
          return Ok{};
        }));
      for (std::size_t i = 0; i < files.negatives.size(); ++i)
        need(lines.for_each(files.negatives[i], files.keys.size() + i, [&](std::string_view line) -> Result<Ok> {
          NAYSAY_TRY(const CostedKey parsed, parse_negative(line));
          own.negatives.push_back(hasher(parsed.key));
          own.costs.push_back(parsed.cost);
          sums.add_negative(own.negatives.back(), parsed.cost);
          return Ok{};
        }));
    });
    for (unsigned t = 0; t < threads; ++t) {
      plan.add(facts[t], "", "");
      held.add(std::move(of_thread[t]));
    }
  });
  return held;
}

// The facts of all shares.
void add_up(cli::PartPlan& plan, Ranks& ranks) {
  std::array<std::uint64_t, 4> sums = {plan.keys.count, plan.keys.sum, plan.negatives.count, plan.negatives.sum};
  (void)ranks.add_up(sums);
  plan.keys = {sums[0], sums[1]};
  plan.negatives = {sums[2], sums[3]};
  plan.most_cost = ranks.most(plan.most_cost);
  std::vector<std::uint64_t> counts;
  std::vector<double> costs;
  ranks.together("the costs of known negatives", [&] {
    counts.resize(CostCounts::kBins);
    costs.resize(CostCounts::kBins);
  });
  for (std::size_t i = 0; i < plan.costs.classes().size(); ++i) {
    counts[plan.costs.first_bin() + i] = plan.costs.classes()[i].count;
    costs[plan.costs.first_bin() + i] = plan.costs.classes()[i].cost;
  }
  (void)ranks.add_up(counts);
  MPI_Allreduce(MPI_IN_PLACE, costs.data(), static_cast<int>(costs.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  ranks.together("the costs of known negatives", [&] {
    plan.costs = {};
    for (std::uint32_t bin = 0; bin < CostCounts::kBins; ++bin) plan.costs.add(bin, {counts[bin], costs[bin]});
  });
}

// The keys of every shard.
std::vector<std::uint32_t> all_counts(Ranks& ranks, const ShardMap& map, ShardRange own,
                                      const std::vector<Digest>& keys) {
  std::vector<std::uint32_t> counts;
  ranks.together("the counts of shards", [&] { counts.resize(own.last - own.first); });
  for (const Digest& d : keys) ++counts[map.of(d) - own.first];
  std::vector<std::uint32_t> all;
  const auto by_rank = ranks.gather<std::uint32_t>(counts);
  ranks.together("the counts of shards", [&] {
    all.reserve(map.size());
    for (const auto& some : by_rank) all.insert(all.end(), some.begin(), some.end());
  });
  return all;
}

// The whole filter, in which only the words of the own part are there, and its rate.
struct Joined {
  AnyFilter filter;
  double expected_fpr;
};
Joined join_tables(Ranks& ranks, const cli::PartPlan& plan, FilterPart own, const Hasher& hasher) {
  std::vector<std::byte> bytes;
  std::vector<PartWords> words = std::exchange(own.words, std::vector<PartWords>(own.words.size()));
  ranks.together("the tables of its part", [&] {
    FieldWriter write(bytes);
    write("part", own);
  });
  const auto by_rank = ranks.gather<std::byte>(bytes);
  std::optional<Joined> joined;
  ranks.together("the tables of all parts", [&] {
    std::vector<FilterPart> parts(ranks.size());
    for (unsigned r = 0; r < ranks.size(); ++r) {
      FieldReader read(by_rank[r], 0, 0, FieldReader::Arrays::copy);
      read("part", parts[r]);
    }
    parts[ranks.rank()].words = std::move(words);
    const PartedType& parted = *plan.type().parted;
    AnyFilter filter = need(parted.join(plan.whole(), parts, plan.all_params(), {.hasher = hasher}, KeyKind::text));
    const double rate = parted.expected_fpr(filter, parts);
    joined.emplace(Joined{std::move(filter), rate});
  });
  return std::move(*joined);
}

// A range of the file, and the rank that has its bytes.
struct Segment {
  unsigned rank;
  std::uint64_t at, size;
  const std::byte* data;
};

// Who writes what. The words that two neighbours share go to the first of them, which gets the bits of the other.
std::vector<Segment> segments_of(Ranks& ranks, const AnyFilter& filter, std::uint64_t shards, const FileImage& image) {
  constexpr std::size_t kShared = 64;  // words: a block has at most 33
  const unsigned all = ranks.size();
  const auto& parted = *filter.type().parted;
  std::vector<std::vector<PartPlace>> places(all);  // by rank, then by array
  for (unsigned r = 0; r < all; ++r) places[r] = parted.places(filter, shard_range(shards, r, all));
  std::vector<Segment> segments;
  std::size_t array = 0;
  for (const FieldPlan::Piece& piece : image.plan().pieces()) {
    const auto is_shared =
        array < places[0].size() && piece.data == reinterpret_cast<const std::byte*>(places[0][array].array.data());
    if (!is_shared) {
      segments.push_back({0, piece.at, piece.size, image.plan().bytes(piece).data()});
      continue;
    }
    const std::uint64_t words = places[0][array].array.size();
    // This memory belongs to the filter, which nobody else sees.
    auto* data = const_cast<std::uint64_t*>(places[0][array].array.data());
    std::vector<unsigned> with;  // ranks that have shards
    for (unsigned r = 0; r < all; ++r)
      if (places[r][array].first != places[r][array].last) with.push_back(r);
    std::vector<std::uint64_t> begins(with.size() + 1, words);
    std::array<std::uint64_t, kShared> shared{};
    for (std::size_t i = 0; i < with.size(); ++i) {
      const PartPlace& own = places[with[i]][array];
      begins[i] = i == 0 ? 0 : std::max(own.first, places[with[i - 1]][array].last);
      if (with[i] == ranks.rank() && begins[i] > own.first)
        std::copy(data + own.first, data + std::min(begins[i], own.first + kShared), shared.begin());
    }
    std::vector<std::uint64_t> of_all(kShared * all);
    MPI_Allgather(shared.data(), kShared, MPI_UINT64_T, of_all.data(), kShared, MPI_UINT64_T, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (with[i] == ranks.rank() && i + 1 < with.size()) {
        const std::uint64_t from = places[with[i + 1]][array].first;
        for (std::uint64_t w = from; w < begins[i + 1]; ++w) data[w] |= of_all[kShared * with[i + 1] + (w - from)];
      }
      segments.push_back({with[i], piece.at + 8 * begins[i], 8 * (begins[i + 1] - begins[i]),
                          reinterpret_cast<const std::byte*>(data + begins[i])});
    }
    ++array;
  }
  return segments;
}

// The checksum of all segments in their order. Its state goes from rank to rank.
std::uint64_t checksum_of(Ranks& ranks, const std::vector<Segment>& segments, std::uint64_t seed) {
  static_assert(std::is_trivially_copyable_v<Checksum>);
  Checksum sum(seed);
  unsigned holder = 0;
  const auto pass_to = [&](unsigned next) {
    if (next == holder) return;
    if (ranks.rank() == holder) MPI_Send(&sum, sizeof sum, MPI_BYTE, static_cast<int>(next), 0, MPI_COMM_WORLD);
    if (ranks.rank() == next)
      MPI_Recv(&sum, sizeof sum, MPI_BYTE, static_cast<int>(holder), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    holder = next;
  };
  for (const Segment& s : segments) {
    pass_to(s.rank);
    if (ranks.rank() == s.rank) sum.add({s.data, s.size});
  }
  pass_to(0);
  std::uint64_t value = sum.value();
  ranks.share(value);
  return value;
}

void need_mpi(int code, const std::string& path, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Failure{
      fmt::format("{}: cannot {}: {}", path, what, std::string_view(text.data(), static_cast<std::size_t>(length)))};
}

// All segments and the header, to a temporary file that rank 0 renames.
void write_file(Ranks& ranks, const Options& o, FileImage& image, const std::vector<Segment>& segments,
                const Hasher& hasher) {
  std::optional<files::AtomicFile> file;
  std::string temporary;
  ranks.together("the file", [&] {
    if (ranks.rank() != 0) return;
    file.emplace(need(files::AtomicFile::create(
        o.output, hasher.id == HashId::siphash ? files::Access::owner_only : files::Access::usual)));
    std::array<char, PATH_MAX> path{};
    const ssize_t n =
        ::readlink(fmt::format("/proc/self/fd/{}", file->descriptor()).c_str(), path.data(), path.size() - 1);
    if (n <= 0) throw Failure{o.output + ": its temporary file has no name"};
    temporary.assign(path.data(), static_cast<std::size_t>(n));
  });
  ranks.share(temporary);
  MPI_File out = MPI_FILE_NULL;
  ranks.together("the file", [&] {
    need_mpi(MPI_File_open(MPI_COMM_WORLD, temporary.c_str(), MPI_MODE_WRONLY, MPI_INFO_NULL, &out), o.output, "open");
  });
  std::vector<Segment> own;
  for (const Segment& s : segments)
    for (std::uint64_t done = 0; s.rank == ranks.rank() && done < s.size; done += kWriteBytes)
      own.push_back({s.rank, s.at + done, std::min<std::uint64_t>(kWriteBytes, s.size - done), s.data + done});
  image.seal(checksum_of(ranks, segments, image.checksum_seed()));
  std::array<std::byte, file_detail::kHeaderBytes> header;
  image.copy(0, header);
  if (ranks.rank() == 0) own.push_back({0, 0, header.size(), header.data()});
  const std::uint64_t calls = ranks.most<std::uint64_t>(own.size());
  int failed = MPI_SUCCESS;
  for (std::uint64_t i = 0; i < calls; ++i) {
    const Segment s = i < own.size() ? own[i] : Segment{ranks.rank(), 0, 0, nullptr};
    MPI_Status status;
    const int code =
        MPI_File_write_at_all(out, static_cast<MPI_Offset>(s.at), s.data, static_cast<int>(s.size), MPI_BYTE, &status);
    int written = 0;
    MPI_Get_count(&status, MPI_BYTE, &written);
    if (failed == MPI_SUCCESS)
      failed = code != MPI_SUCCESS ? code : written != static_cast<int>(s.size) ? MPI_ERR_IO : code;
  }
  const int closed = MPI_File_close(&out);
  ranks.together("the file", [&] {
    need_mpi(failed, o.output, "write");
    need_mpi(closed, o.output, "write");
  });
  ranks.together("the file", [&] {
    if (ranks.rank() != 0) return;
    const cli::LockedFile held(o.output, o.wait);
    need(file->commit());
  });
}

// One build with the bits of the plan's round. Every rank gives what it holds, and has it back, sorted to the ranks, if
// there may be another round.
Joined build_round(Ranks& ranks, const cli::PartPlan& plan, const Hasher& hasher, unsigned threads, Held& held,
                   Account& account, std::uint64_t& shards) {
  const FilterType* type = nullptr;
  Whole whole;
  std::vector<Param> params;
  std::optional<ShardMap> map;
  std::vector<Uint128> ends;
  ranks.together("the plan", [&] {
    type = &plan.type();
    whole = plan.whole();
    params = plan.all_params();
    map = need(type->parted->shards(whole, params));
    for (unsigned r = 0; r < ranks.size(); ++r)
      ends.push_back(map->range(shard_range(map->size(), r, ranks.size())).last);
    if (!type->claims.uses_negatives) held.negatives = {}, held.costs = {};
  });
  shards = map->size();
  ranks.exchange(ends, held.keys, nullptr);
  ranks.exchange(ends, held.negatives, &held.costs);
  account.step("exchange, seconds");

  const ShardRange own = shard_range(shards, ranks.rank(), ranks.size());
  const std::vector<std::uint32_t> counts = all_counts(ranks, *map, own, held.keys);
  const PartInput input{.workload = {.keys = held.keys, .negatives = held.negatives, .costs = held.costs},
                        .first = own.first,
                        .last = own.last,
                        .counts = counts};
  auto part =
      type->parted->build(whole, input, params, {.seed = plan.seed, .threads = threads, .hasher = hasher}, &ranks);
  // What fails on all ranks alike, such as a budget that buys no plane, was not agreed on.
  (void)need(ranks.agree(part ? Result<Ok>(Ok{}) : Result<Ok>(part.error())));
  if (plan.budget.fpr.empty()) held = {};
  account.step("build, seconds");
  return join_tables(ranks, plan, std::move(*part), hasher);
}

void run(const Options& o, Ranks& ranks) {
  Hasher hasher;
  cli::PartFiles files;
  ranks.together("the options", [&] {
    files = cli::PartFiles::of(o.input, o.output);
    if (o.output == "-") throw Failure{"--output is -; the ranks write a file, so give its name"};
    if (ranks.rank() != 0) return;
    need(files::can_create(o.output));
    cli::mention_leftovers(o.output);
    hasher = o.input.hashing.hasher(o.input.seed);
  });
  ranks.share(hasher);  // a key of siphash may have been drawn at random
  cli::PartPlan plan;
  ranks.together("the plan", [&] { plan = cli::plan_of(o.input, hasher); });

  Account account(ranks);
  const unsigned threads = cli::thread_count(o.input.threads);
  // The same number on all ranks: which thread of which rank reads a packed file depends on it.
  Held held = read_share(files, ranks.most(threads), ranks, hasher, plan);
  account.step("read and digest, seconds");
  add_up(plan, ranks);
  std::uint64_t shards = 0;
  Joined joined = build_round(ranks, plan, hasher, threads, held, account, shards);
  // Rank 0's, so that all go on alike: machines may round differently.
  for (ranks.share(joined.expected_fpr); !plan.holds(joined.expected_fpr); ranks.share(joined.expected_fpr)) {
    plan.rates.push_back(joined.expected_fpr);
    joined = build_round(ranks, plan, hasher, threads, held, account, shards);
  }
  held = {};
  const AnyFilter& filter = joined.filter;
  FileImage image = filter.image(FileImage::Seal::later);
  const std::vector<Segment> segments = segments_of(ranks, filter, shards, image);
  write_file(ranks, o, image, segments, hasher);
  account.step("write, seconds");
  account.add("rounds", static_cast<double>(ranks.rounds()));
  account.add("bytes between ranks", static_cast<double>(ranks.sum(ranks.sent_bytes())));

  if (ranks.rank() != 0) return;
  if (o.verbose) account.print();
  if (o.json) {
    nlohmann::ordered_json j = cli::describe(filter);
    j["expected_fpr"] = joined.expected_fpr;
    j["file"] = o.output;
    j["negatives"] = plan.negatives.count;
    j["ranks"] = ranks.size();
    fmt::print("{}\n", cli::json_text(j, 2));
    return;
  }
  fmt::print("{}: {} of {} keys from {} ranks, {}, {} bits per key, accepts {} of strangers\n", cli::escaped(o.output),
             filter.type().name, filter.keys(), ranks.size(), cli::bytes_text(cli::size_bytes(filter)),
             cli::number(cli::bits_per_key(filter)), cli::percent(joined.expected_fpr));
}

void add_build(cli::CommandLine& line, Ranks& ranks) {
  auto o = std::make_shared<Options>();
  cli::PartOptions& in = o->input;
  cli::Command c = line.command("build", "build a filter from keys on all ranks and write it to one file");
  in.threads = 1;
  cli::add_keys_option(c, in.keys);
  cli::add_negatives_option(c, in.negatives);
  c.option("--filter", in.filter, "the filter's name (see naysay filters), or auto").shows_default().type_name("NAME");
  in.budget.add_options(c, cli::Budget::Rates::allowed);
  cli::add_exact_option(c, in);
  c.option("--param", in.params, "a parameter of the filter; may be repeated").type_name("NAME=VALUE").repeated();
  cli::add_stranger_share(c, in.stranger_share);
  in.hashing.add_options(c);
  cli::add_seed(c, in.seed, "same input, parameters and seed: same bytes");
  cli::add_threads(c, in.threads,
                   "of each rank; any number gives the same bytes; 0: as many as there are cores for a rank");
  cli::add_wait_option(c, o->wait);
  cli::add_null_option(c, in.nul);
  c.flag("-v,--verbose", o->verbose, "print the seconds of each step and the bytes between ranks");
  c.flag("--json", o->json, "describe the filter as JSON");
  c.option("-o,--output", o->output, "the file to write, which all ranks can reach").required().type_name("F.nsy");
  c.footer(
      "Example:\n"
      "  mpirun -n 4 naysay-mpi build --keys keys.txt --negatives negatives.tsv --bits-per-key 12 -o set.nsy");
  c.runs([o, &ranks] { run(*o, ranks); });
}

}  // namespace

}  // namespace naysay::mpi

int main(int argc, char** argv) {
  namespace cli = naysay::cli;
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 2;
  int exit_code = 0;
  {
    naysay::mpi::Ranks ranks;
    if (ranks.rank() == 0) cli::remove_temporaries_on_signals();
    const auto complain = [&](const std::string& message) {
      if (ranks.rank() == 0) cli::note(message);
      exit_code = 2;
    };
    cli::CommandLine line("naysay-mpi: builds one filter on all ranks of an MPI job.", "naysay-mpi " NAYSAY_VERSION,
                          "See naysay-mpi build --help, and docs/scale.md.");
    naysay::mpi::add_build(line, ranks);
    try {
      if (argc == 1) throw cli::Failure{"no command is given; see naysay-mpi --help"};
      line.run(argc, argv);
    } catch (const cli::Failure& e) {
      complain(e.message);
    } catch (const std::exception& e) {  // between two steps that all ranks agree on: the others wait
      cli::note(naysay::rounded_text(ranks.rank()) + ": " + e.what());
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Finalize();
  return exit_code;
}
