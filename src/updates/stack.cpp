// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/stack.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>

#include "naysay/core/detail/memory.hpp"
#include "naysay/core/files.hpp"

namespace naysay {

namespace {

// docs/format.md describes both byte by byte.
constexpr std::array<char, 8> kMagic = {'n', 'a', 'y', 's', 'a', 'y', 's', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kAlignment = 64;

struct StackHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;  // of this header, in which it counts as zero, and the directory
};
static_assert(sizeof(StackHeader) == 32);

struct StackEntry {  // a base, or an update of the base before it
  std::uint32_t partition = 0;
  std::uint32_t is_update = 0;
  std::uint64_t sequence = 0;  // of a base
  std::uint64_t offset = 0, size = 0;
};
static_assert(sizeof(StackEntry) == 32);

std::uint64_t directory_checksum(StackHeader header, std::span<const StackEntry> entries) {
  header.checksum = 0;
  return checksum(std::as_bytes(entries), checksum(std::as_bytes(std::span(&header, 1))));
}

std::uint64_t aligned(std::uint64_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

Error corrupt(std::string what) { return {Errc::corrupt, std::move(what)}; }

Error in(const std::string& path, Error error) { return {error.code, path + ": " + error.message}; }

bool has_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<std::vector<Partition>> read_partitions(const HeldBytes& file, const StackChecks& checks) {
  StackHeader h;
  if (!has_magic(file.bytes)) return corrupt("not a stack of naysay; it must begin with 'naysays'");
  if (file.bytes.size() < sizeof h) return corrupt("the header of the stack is cut off");
  std::memcpy(&h, file.bytes.data(), sizeof h);
  if (h.version != kVersion)
    return Error{Errc::unsupported, "the stack has format version " + std::to_string(h.version) +
                                        "; this naysay reads version " + std::to_string(kVersion)};
  if (h.size != file.bytes.size())
    return corrupt("the header says " + std::to_string(h.size) + " bytes; the file has " +
                   std::to_string(file.bytes.size()));
  if (h.entries == 0 || h.entries > (file.bytes.size() - sizeof h) / sizeof(StackEntry))
    return corrupt("the directory of the stack is cut off or empty");
  std::vector<StackEntry> entries(h.entries);
  std::memcpy(entries.data(), file.bytes.data() + sizeof h, entries.size() * sizeof(StackEntry));
  if (h.checksum != directory_checksum(h, entries)) return corrupt("the checksum of the directory does not match");
  std::vector<Partition> out;
  StackChecks quick = checks;
  quick.self_test = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const StackEntry& e = entries[i];
    if (e.offset % kAlignment != 0 || e.offset > file.bytes.size() || e.size > file.bytes.size() - e.offset)
      return corrupt("an entry of the directory lies outside of the file");
    const HeldBytes part{file.bytes.subspan(e.offset, e.size), file.keeper};
    if (e.is_update == 0) {
      if (!out.empty() && out.back().number >= e.partition) return corrupt("the partitions are not ascending");
      NAYSAY_TRY(Stack stack, Stack::of(part, e.sequence));
      out.push_back({e.partition, std::move(stack)});
    } else {
      if (out.empty() || out.back().number != e.partition) return corrupt("an update has no base before it");
      const bool is_last = i + 1 == entries.size() || entries[i + 1].is_update == 0;
      NAYSAY_CHECK(out.back().stack.push(part, is_last ? checks : quick));
    }
  }
  return out;
}

}  // namespace

HeldBytes HeldBytes::copy_of(std::span<const std::byte> bytes) {
  // As a mapped file lies: a cache line of a filter is a cache line of memory.
  constexpr std::align_val_t kLine{kAlignment};
  const std::shared_ptr<std::byte> copy(static_cast<std::byte*>(::operator new(bytes.size() + 1, kLine)),
                                        [](std::byte* p) { ::operator delete(p, kLine); });
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return {{copy.get(), bytes.size()}, copy};
}

StackChecks StackChecks::at_present() {
  StackChecks checks;
  checks.now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return checks;
}

Result<Stack> Stack::of(HeldBytes base, std::uint64_t sequence) {
  return no_memory_is_an_error("stack", [&]() -> Result<Stack> {
    NAYSAY_TRY(AnyFilter filter, AnyFilter::view(base.bytes));
    Stack stack(std::move(filter));
    stack.base_state_ = sha256(base.bytes);
    stack.base_sequence_ = sequence;
    stack.held_ = std::move(base);
    return stack;
  });
}

Result<Stack> Stack::first(std::size_t n) const {
  NAYSAY_TRY(Stack copy, of(held_, base_sequence_));
  for (std::size_t i = 0; i < std::min(n, updates_.size()); ++i)
    NAYSAY_CHECK(copy.push(updates_[i].held, {.self_test = false}));
  return copy;
}

Result<Stack> Stack::open(const std::string& base, std::span<const std::string> deltas, const StackChecks& checks) {
  return no_memory_is_an_error(base, [&]() -> Result<Stack> {
    NAYSAY_TRY(Stack stack, open_stack(base, checks));
    for (const std::string& path : deltas) {
      NAYSAY_TRY(files::Mapping file, files::map(path));
      if (auto ok = stack.push({file.bytes, std::move(file.keeper)}, checks); !ok)
        return in(path, std::move(ok).error());
    }
    return stack;
  });
}

Result<Ok> Stack::check(const DeltaFacts& next) const {
  if (next.hash != hasher().id || next.hash_check != updates::hash_check(hasher()))
    return Error{Errc::invalid_argument, "the update is for a base with another hash or seed"};
  if (!updates_.empty()) {
    const DeltaFacts& last = updates_.back().delta.facts();
    if (next.list != last.list || next.partition != last.partition)
      return Error{Errc::invalid_argument, "the update is for another list or partition than the one before it"};
  }
  const bool knows_sequence = !updates_.empty() || base_sequence_ != 0;
  const std::string numbers = std::to_string(next.from_sequence) + " to " + std::to_string(next.to_sequence) +
                              "; the state has " + std::to_string(sequence());
  if (next.to_sequence <= next.from_sequence || (knows_sequence && next.to_sequence <= sequence()))
    return Error{Errc::invalid_argument, "the update leads from " + numbers + ", which is as new or newer"};
  if (knows_sequence && next.from_sequence > sequence())
    return Error{Errc::invalid_argument, "the update leads from " + numbers + "; updates in between are missing"};
  if (next.from != state())
    return Error{Errc::invalid_argument, "the update leads from " + numbers + ", but it was made for another state"};
  return Ok{};
}

Result<Ok> Stack::push(HeldBytes bytes, const StackChecks& checks) {
  return no_memory_is_an_error("stack", [&]() -> Result<Ok> {
    NAYSAY_TRY(Delta delta, Delta::read(bytes.bytes));
    if (checks.verifier) {
      if (!delta.signature()) return corrupt("the update has no signature; one is required");
      NAYSAY_CHECK(checks.verifier.verify(delta.signed_bytes(), *delta.signature()));
    }
    const DeltaFacts facts = delta.facts();
    NAYSAY_CHECK(check(facts));
    if (checks.now != 0 && facts.expires != 0 && facts.expires <= checks.now)
      return Error{Errc::invalid_argument,
                   "the update expired " + std::to_string(checks.now - facts.expires) + " seconds ago"};
    NAYSAY_TRY(updates::UpdateLayer add, updates::UpdateLayer::view(delta.add()));
    NAYSAY_TRY(updates::UpdateLayer drop, updates::UpdateLayer::view(delta.drop()));
    // The first update says which sequence number the base has.
    const std::uint64_t base_before = base_sequence_;
    if (updates_.empty()) base_sequence_ = facts.from_sequence;
    updates_.push_back({std::move(bytes), std::move(delta), std::move(add), std::move(drop)});
    if (checks.self_test && self_test() != facts.self_test) {
      updates_.pop_back();
      base_sequence_ = base_before;
      return corrupt("the self-test of the update fails: this machine answers otherwise than the one that made it");
    }
    return Ok{};
  });
}

void Stack::query(std::span<const Digest> d, std::uint8_t* out) const noexcept {
  constexpr std::size_t kSome = 256;
  std::array<Digest, kSome> some;
  std::array<std::uint16_t, kSome> where;
  std::array<std::uint8_t, kSome> answer;
  for (std::size_t begin = 0; begin < d.size(); begin += kSome) {
    const auto piece = d.subspan(begin, std::min(kSome, d.size() - begin));
    std::uint8_t* answers = out + begin;
    base_.may_contain(piece, answers);
    // Asks a layer about the keys that have this answer so far, and flips the answer of those that it accepts. Where
    // most have it, asking about all is cheaper than to gather them.
    const auto ask = [&](const updates::UpdateLayer& layer, std::uint8_t about) {
      if (layer.empty()) return;
      std::size_t count = 0;
      for (std::size_t i = 0; i < piece.size(); ++i) count += answers[i] == about;
      if (count == 0) return;
      if (count >= piece.size() - piece.size() / 4) {
        layer.may_contain(piece, answer.data());
        for (std::size_t i = 0; i < piece.size(); ++i)
          answers[i] = static_cast<std::uint8_t>(answers[i] ^ (answer[i] & (answers[i] ^ about ^ 1)));
        return;
      }
      count = 0;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        some[count] = piece[i];
        where[count] = static_cast<std::uint16_t>(i);
        count += answers[i] == about;
      }
      layer.may_contain(std::span<const Digest>(some).first(count), answer.data());
      for (std::size_t i = 0; i < count; ++i) answers[where[i]] = static_cast<std::uint8_t>(about ^ answer[i]);
    };
    for (const Update& u : updates_) {
      ask(u.drop, 1);
      ask(u.add, 0);
    }
  }
}

double Stack::expected_fpr() const noexcept {
  double rate = base_.expected_fpr();
  for (const Update& u : updates_) rate += (1 - rate) * u.add.expected_fpr();
  return rate;
}

std::uint64_t Stack::size_bits() const noexcept {
  std::uint64_t bits = base_.size_bits();
  for (const Update& u : updates_) bits += 8 * (u.delta.add().size() + u.delta.drop().size());
  return bits;
}

std::uint64_t Stack::update_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Update& u : updates_) bytes += u.held.bytes.size();
  return bytes;
}

std::uint64_t Stack::self_test() const noexcept {
  constexpr std::uint64_t kProbes = 1 << 16, kAtOnce = 256, kSeed = 0x73656c6674657374;  // "selftest"
  std::array<Digest, kAtOnce> probes;
  std::array<std::uint8_t, kAtOnce> answers;
  std::uint64_t sum = 0;
  for (std::uint64_t first = 0; first < kProbes; first += kAtOnce) {
    for (std::uint64_t i = 0; i < kAtOnce; ++i) probes[i] = digest(first + i, kSeed);
    query(std::span<const Digest>(probes), answers.data());
    sum = checksum(std::as_bytes(std::span(answers)), sum);
  }
  return sum;
}

// ---- files ----------------------------------------------------------------------------------------------------------

Result<std::vector<std::byte>> bytes_of_partitions(std::span<const Partition> partitions) {
  return no_memory_is_an_error("stack", [&]() -> Result<std::vector<std::byte>> {
    StackHeader header;
    std::vector<StackEntry> entries;
    std::vector<std::span<const std::byte>> parts;
    for (const Partition& p : partitions) {
      if (!entries.empty() && entries.back().partition >= p.number)
        return Error{Errc::invalid_argument, "the partitions of a stack must be ascending"};
      entries.push_back({.partition = p.number, .sequence = p.stack.base_sequence()});
      parts.push_back(p.stack.base_bytes().bytes);
      for (const Stack::Update& u : p.stack.updates()) {
        entries.push_back({.partition = p.number, .is_update = 1, .sequence = u.delta.facts().to_sequence});
        parts.push_back(u.held.bytes);
      }
    }
    if (entries.empty()) return Error{Errc::invalid_argument, "a stack has at least one partition"};
    std::uint64_t at = sizeof header + entries.size() * sizeof(StackEntry);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i].offset = aligned(at);
      entries[i].size = parts[i].size();
      at = entries[i].offset + entries[i].size;
    }
    header.entries = static_cast<std::uint32_t>(entries.size());
    header.size = at;
    header.checksum = directory_checksum(header, entries);
    std::vector<std::byte> out(at);
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, entries.data(), entries.size() * sizeof(StackEntry));
    for (std::size_t i = 0; i < entries.size(); ++i)
      std::memcpy(out.data() + entries[i].offset, parts[i].data(), parts[i].size());
    return out;
  });
}

Result<std::vector<std::byte>> Stack::to_bytes() const {
  NAYSAY_TRY(Stack copy, first(updates_.size()));
  const std::uint32_t number = updates_.empty() ? 0 : updates_.back().delta.facts().partition;
  std::vector<Partition> one;
  one.push_back({number, std::move(copy)});
  return bytes_of_partitions(one);
}

Result<Ok> Stack::save(const std::string& path) const {
  NAYSAY_TRY(const auto bytes, to_bytes());
  // As a filter's file: a secret is for the owner alone, until the owner gives others access.
  const bool new_secret = hasher().id == HashId::siphash && !is_stack_file(path);
  return files::write_atomically(path, bytes, new_secret ? files::Access::owner_only : files::Access::usual);
}

Result<std::vector<Partition>> open_partitions(const std::string& path, const StackChecks& checks) {
  return no_memory_is_an_error(path, [&]() -> Result<std::vector<Partition>> {
    NAYSAY_TRY(files::Mapping file, files::map(path));
    auto partitions = read_partitions({file.bytes, std::move(file.keeper)}, checks);
    if (!partitions) return in(path, std::move(partitions).error());
    return partitions;
  });
}

bool is_stack_file(const std::string& path) {
  const auto file = files::map(path);
  return file && has_magic(file->bytes);
}

Result<Stack> open_stack(const std::string& path, const StackChecks& checks) {
  return no_memory_is_an_error(path, [&]() -> Result<Stack> {
    NAYSAY_TRY(files::Mapping file, files::map(path));
    const HeldBytes held{file.bytes, std::move(file.keeper)};
    if (!has_magic(held.bytes)) {
      auto stack = Stack::of(held);
      if (!stack) return in(path, std::move(stack).error());
      return stack;
    }
    auto partitions = read_partitions(held, checks);
    if (!partitions) return in(path, std::move(partitions).error());
    if (partitions->size() != 1)
      return Error{Errc::invalid_argument, path + ": has " + std::to_string(partitions->size()) +
                                               " partitions; open_partitions opens all of them"};
    return std::move(partitions->front().stack);
  });
}

}  // namespace naysay
