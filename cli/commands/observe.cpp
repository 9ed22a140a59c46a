// SPDX-License-Identifier: Apache-2.0
// naysay observe: from a log of queries that found nothing to the costliest negatives, in bounded memory.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/live/heavy_costs.hpp"
#include "naysay/workload/keys.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#include "parts/key_check.hpp"
#include "parts/locked_file.hpp"
#include "parts/output.hpp"
#include "parts/reasons.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string log = "-", output = "-", filter, adapt, keys;
  std::uint64_t keep = 100'000, top = 0;
  double half_life = 0, wait = kDefaultWait;
  bool nul = false;
};

void run(const Options& o) {
  need_distinct({{o.adapt.empty() ? "-o" : "--adapt", o.adapt.empty() ? o.output : o.adapt}},
                {{"LOG", o.log}, {"--filter", o.filter}, {"--keys", o.keys}});
  need_one_standard_input({{"LOG", o.log}, {"--keys", o.keys}});
  if (!o.keys.empty() && o.adapt.empty())
    throw Failure{"observe: --keys is given, but it is for the negatives of --adapt; give both, or neither"};
  std::unique_ptr<AnyFilter> filter;
  if (!o.filter.empty() && !o.adapt.empty()) throw Failure{"observe: --filter and --adapt are given; give one of them"};
  if (!o.filter.empty()) filter = std::make_unique<AnyFilter>(need(naysay::open(o.filter)));
  if (!o.adapt.empty()) {
    filter = std::make_unique<AnyFilter>(need(naysay::open(o.adapt)));
    if (!filter->type().adaptive)
      throw Failure{
          fmt::format("{}: {} does not adapt to reported false positives; guarded does", o.adapt, filter->type().name)};
    if (!filter->adapts())
      throw Failure{fmt::format(
          "{}: {} adapts only with the file of its keys; write the costs with -o, and give them to naysay update "
          "--adapt with --slots",
          o.adapt, filter->type().name)};
  }
  LineReader reader = need(LineReader::open({o.log, o.nul ? Separator::nul : Separator::newline}));
  HeavyCosts costs(o.keep, o.half_life);
  LineTally tally;
  std::uint64_t read = 0, counted = 0;
  for (;;) {
    const auto lines = need(reader.next());
    if (lines.empty()) break;
    for (const Line& line : lines) {
      tally.see(line.text);
      auto miss = parse_negative(line.text);
      if (!miss) throw Failure{fmt::format("{}:{}: {}", reader.name(), line.number, miss.error().message)};
      ++read;
      if (filter && !filter->may_contain(miss->key)) continue;  // the filter says no: it costs nothing
      ++counted;
      costs.add(digest(miss->key), miss->cost, static_cast<double>(read), miss->key);
    }
  }
  note_negatives(key_file(o.log, o.nul).name(), tally);
  const auto now = static_cast<double>(read);
  const auto entries = costs.costliest(o.top == 0 ? o.keep : o.top, now);
  if (!o.adapt.empty()) {
    // The log may have been read for hours: what counts is the filter as it is now.
    const LockedFile held(o.adapt, o.wait);
    *filter = need(naysay::load(o.adapt));
    mention_leftovers(o.adapt);
    std::vector<Digest> digests;
    for (const auto& e : entries) digests.push_back(filter->hasher()(e.text));
    KeyCheck check{.is_key = std::vector<std::uint8_t>(digests.size())};
    if (!o.keys.empty()) check = check_for_keys(digests, key_file(o.keys, o.nul), filter->hasher(), filter->keys(), {});
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < digests.size(); ++i)
      refused += check.is_key[i] == 0 && filter->adapt(digests[i], static_cast<float>(entries[i].cost));
    need(filter->save(o.adapt));
    note(
        fmt::format("{} of {} costliest negatives are refused from now on{}{}", refused, entries.size(),
                    check.found > 0 ? fmt::format(", {} are left out because they are keys", check.found) : "",
                    refused + check.found < entries.size() ? "; the others are not: " + why_not_refused(*filter) : ""));
    return;
  }
  Output out(o.output);
  for (const auto& e : entries) {
    out.write(e.text);
    out.write(fmt::format("\t{:.6g}", e.cost));
    out.write(o.nul ? '\0' : '\n');
  }
  out.finish();
  const double most = costs.total(now) / static_cast<double>(costs.capacity());
  fmt::print(stderr, "naysay: {} lines read, {} counted, {} keys written; a cost is at most {:.4g} too large\n", read,
             counted, entries.size(), costs.size() < costs.capacity() ? 0 : most);
}

}  // namespace

void add_observe(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("observe", "find the costliest negatives in a log of queries that found nothing");
  c.option("log", o->log, "key<TAB>cost a line, the cost may be missing; - is the standard input")
      .shows_default()
      .type_name("LOG");
  c.option("-o,--output", o->output,
           "negatives as naysay build takes them, the costliest first; - is the standard output")
      .shows_default()
      .type_name("FILE");
  c.number("--keep", o->keep, {1, 1'000'000'000}, "keys held at a time; what is found is exact if there are no more")
      .shows_default()
      .type_name("N");
  c.number("--top", o->top, kAnyNumber, "keys written; 0: all that are kept").shows_default().type_name("N");
  c.number("--half-life", o->half_life, {0, 1e18}, "lines after which a cost counts half; 0: costs do not age")
      .shows_default()
      .type_name("N");
  c.option("--filter", o->filter, "count only keys that this filter accepts").type_name("F.nsy");
  c.option(
       "--adapt", o->adapt,
       "give them to this filter as false positives, and save it, instead of writing them; none may be a key, or the "
       "key is denied from then on")
      .type_name("F.nsy");
  add_key_check_option(c, o->keys);
  add_wait_option(c, o->wait);
  c.flag("-0,--null", o->nul, "lines end with NUL bytes");
  c.footer(
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay generate urls --count 5000 --seed 7 -o absent.txt\n"
      "  naysay build --keys keys.txt --filter guarded --bits-per-key 9 -o set.nsy\n"
      "  naysay observe absent.txt --filter set.nsy -o negatives.tsv\n"
      "  naysay build --keys keys.txt --negatives negatives.tsv --filter guarded --bits-per-key 9 -o better.nsy");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
