// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/delta.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "naysay/core/detail/memory.hpp"
#include "naysay/updates/stack.hpp"

namespace naysay {

namespace {

// docs/format.md describes it byte by byte.
constexpr std::array<char, 8> kMagic = {'n', 'a', 'y', 's', 'a', 'y', 'd', '\n'};
constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kGhosts = 1, kRollup = 2, kSigned = 4;

struct DeltaHeader {
  std::array<char, 8> magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t flags = 0;
  std::uint32_t hash = 0;
  std::uint64_t hash_check = 0;
  std::uint64_t list = 0;
  std::uint64_t from_sequence = 0, to_sequence = 0;
  std::array<std::byte, 32> from = {};
  std::int64_t created = 0, expires = 0;
  std::uint64_t keys = 0;
  std::uint32_t added = 0, dropped = 0;
  std::uint32_t add_bytes = 0, drop_bytes = 0;
  std::uint32_t partition = 0, reserved = 0;
  std::uint64_t self_test = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(DeltaHeader) == 144);

struct SignatureHeader {
  std::uint32_t algorithm = 0, size = 0;
  std::uint64_t key = 0;
};
static_assert(sizeof(SignatureHeader) == 16);
constexpr std::size_t kMostSignature = 1 << 16;

std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t checksum_of(DeltaHeader header, std::span<const std::byte> bytes) {
  header.checksum = 0;
  return checksum(bytes.subspan(sizeof header), checksum(std::as_bytes(std::span(&header, 1))));
}

Error corrupt(std::string what) { return {Errc::corrupt, std::move(what)}; }

}  // namespace

std::uint64_t updates::hash_check(const Hasher& hasher) noexcept {
  return hasher.id == HashId::siphash ? checksum(std::as_bytes(std::span(&hasher.secret, 1))) : hasher.seed;
}

std::uint64_t list_number(std::string_view name) noexcept {
  return checksum(std::as_bytes(std::span(name.data(), name.size())));
}

Result<Delta> Delta::read(std::span<const std::byte> bytes) {
  return no_memory_is_an_error("delta", [&]() -> Result<Delta> {
    DeltaHeader h;
    if (bytes.size() < sizeof h.magic || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
      return corrupt("not an update of naysay; it must begin with 'naysayd'");
    if (bytes.size() < sizeof h)
      return corrupt("the header needs " + std::to_string(sizeof h) + " bytes; there are " +
                     std::to_string(bytes.size()));
    std::memcpy(&h, bytes.data(), sizeof h);
    if (h.version != kVersion)
      return Error{Errc::unsupported, "the update has format version " + std::to_string(h.version) +
                                          "; this naysay reads version " + std::to_string(kVersion)};
    const std::size_t body = sizeof h + padded(h.add_bytes) + padded(h.drop_bytes);
    const bool has_signature = (h.flags & kSigned) != 0;
    if (bytes.size() < body + (has_signature ? sizeof(SignatureHeader) : 0))
      return corrupt("the update is cut off: it needs " + std::to_string(body) + " bytes and more; there are " +
                     std::to_string(bytes.size()));
    Delta d;
    d.bytes_ = bytes;
    d.signed_ = bytes.first(body);
    d.add_ = bytes.subspan(sizeof h, h.add_bytes);
    d.drop_ = bytes.subspan(sizeof h + padded(h.add_bytes), h.drop_bytes);
    std::size_t end = body;
    if (has_signature) {
      SignatureHeader s;
      std::memcpy(&s, bytes.data() + body, sizeof s);
      end += sizeof s;
      if (s.size > kMostSignature || bytes.size() - end < s.size) return corrupt("the signature is cut off");
      const auto signature = bytes.subspan(end, s.size);
      d.signature_ = Signature{s.algorithm, s.key, {signature.begin(), signature.end()}};
      end += s.size;
    }
    if (end != bytes.size())
      return corrupt(std::to_string(bytes.size() - end) + " bytes follow the update; there must be none");
    if (h.checksum != checksum_of(h, d.signed_))
      return corrupt("the checksum does not match; the update was changed or damaged after it was written");
    if (h.reserved != 0 || (h.flags & ~(kGhosts | kRollup | kSigned)) != 0)
      return Error{Errc::unsupported, "reserved bytes of the update are not zero; it needs a newer naysay"};
    if (h.hash != static_cast<std::uint32_t>(HashId::xxh3) && h.hash != static_cast<std::uint32_t>(HashId::siphash))
      return Error{Errc::unsupported, "hash id " + std::to_string(h.hash) + " is unknown to this naysay"};
    d.facts_ = {.list = h.list,
                .partition = h.partition,
                .ghosts = (h.flags & kGhosts) != 0,
                .rollup = (h.flags & kRollup) != 0,
                .hash = static_cast<HashId>(h.hash),
                .hash_check = h.hash_check,
                .from_sequence = h.from_sequence,
                .to_sequence = h.to_sequence,
                .from = {h.from},
                .to = sha256(d.signed_),
                .created = h.created,
                .expires = h.expires,
                .keys = h.keys,
                .added = h.added,
                .dropped = h.dropped,
                .add_bytes = h.add_bytes,
                .drop_bytes = h.drop_bytes,
                .self_test = h.self_test};
    return d;
  });
}

// ---- making one -----------------------------------------------------------------------------------------------------

namespace {

// The answers of a stack to many digests.
std::vector<std::uint8_t> answers_of(const Stack& stack, std::span<const Digest> digests) {
  std::vector<std::uint8_t> out(digests.size());
  if (!digests.empty()) stack.may_contain(digests, out.data());
  return out;
}

std::vector<Digest> sorted(std::span<const Digest> digests) {
  std::vector<Digest> out(digests.begin(), digests.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Of what is not to be accepted, what is no key; sorted.
std::vector<Digest> without_keys(std::span<const Digest> negatives, std::span<const Digest> dropped,
                                 const std::vector<Digest>& keys) {
  std::vector<Digest> all(negatives.begin(), negatives.end());
  all.insert(all.end(), dropped.begin(), dropped.end());
  all = sorted(all);
  std::erase_if(all, [&](const Digest& d) { return std::binary_search(keys.begin(), keys.end(), d); });
  return all;
}

std::vector<Digest> chosen(std::span<const Digest> digests, std::span<const std::uint8_t> answers, bool answer) {
  std::vector<Digest> out;
  for (std::size_t i = 0; i < digests.size(); ++i)
    if ((answers[i] != 0) == answer) out.push_back(digests[i]);
  return out;
}

std::vector<std::byte> seal(DeltaHeader header, std::span<const std::byte> add, std::span<const std::byte> drop) {
  std::vector<std::byte> out(sizeof header + padded(add.size()) + padded(drop.size()));
  if (!add.empty()) std::memcpy(out.data() + sizeof header, add.data(), add.size());
  if (!drop.empty()) std::memcpy(out.data() + sizeof header + padded(add.size()), drop.data(), drop.size());
  header.checksum = checksum_of(header, out);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Result<std::vector<std::byte>> make(const Stack& state, const DeltaTask& task) {
  if (state.base().type().claims.reads_bytes)
    return Error{Errc::unsupported, "delta: the base is a " + std::string(state.base().type().name) +
                                        " filter, which reads the bytes of keys; take a base that reads digests only"};
  if (!(task.add_rate >= 0 && task.add_rate < 1))
    return Error{Errc::invalid_argument,
                 "delta: add_rate is " + rounded_text(task.add_rate) + "; it must be 0 or more, and less than 1"};
  const std::uint64_t to = task.to_sequence != 0 ? task.to_sequence : state.sequence() + 1;
  if (to <= state.sequence())
    return Error{Errc::invalid_argument, "delta: to_sequence is " + std::to_string(to) + "; the state has " +
                                             std::to_string(state.sequence()) + ", and the next must be more"};
  const std::vector<Digest> keys = sorted(task.keys);
  const std::vector<Digest> refused =
      without_keys(task.negatives, task.ghosts ? std::span<const Digest>{} : task.dropped, keys);
  const auto added = chosen(keys, answers_of(state, keys), false);
  const auto dropped = chosen(refused, answers_of(state, refused), true);
  if (std::max(added.size(), dropped.size()) > 0xffffffff)
    return Error{Errc::invalid_argument, "delta: more than 4294967295 changes; build a new base"};
  const double base_rate = state.base().expected_fpr();
  const double rate = task.add_rate > 0 ? task.add_rate : std::clamp(base_rate / 16, 1e-9, 0.5);
  if (task.progress) task.progress("making the layer of added keys", 0, 2);
  NAYSAY_TRY(const auto add, updates::UpdateLayer::build({added, refused, rate, task.seed, task.threads}));
  if (task.progress) task.progress("making the layer of dropped keys", 1, 2);
  NAYSAY_TRY(const auto drop, updates::UpdateLayer::build({dropped, keys, 1, task.seed, task.threads}));
  if (std::max(add.size(), drop.size()) > 0xfffffff0)
    return Error{Errc::invalid_argument, "delta: a layer has 4 GiB or more; build a new base"};

  DeltaHeader header;
  header.flags = static_cast<std::uint16_t>((task.ghosts ? kGhosts : 0) | (task.rollup ? kRollup : 0) |
                                            (task.signer ? kSigned : 0));
  header.hash = static_cast<std::uint32_t>(state.hasher().id);
  header.hash_check = updates::hash_check(state.hasher());
  header.list = task.list;
  header.from_sequence = state.sequence();
  header.to_sequence = to;
  header.from = state.state().bytes;
  header.created = task.created;
  header.expires = task.expires;
  header.keys = keys.size();
  header.added = static_cast<std::uint32_t>(added.size());
  header.dropped = static_cast<std::uint32_t>(dropped.size());
  header.add_bytes = static_cast<std::uint32_t>(add.size());
  header.drop_bytes = static_cast<std::uint32_t>(drop.size());
  header.partition = task.partition;

  // The next state, before it knows its own self-test and without a signature.
  NAYSAY_TRY(Stack next, state.first(state.updates().size()));
  DeltaHeader trial = header;
  trial.flags = static_cast<std::uint16_t>(trial.flags & ~kSigned);
  NAYSAY_CHECK(next.push(HeldBytes::copy_of(seal(trial, add, drop)), {.self_test = false}));
  const auto count = [&](std::span<const Digest> digests, bool answer) {
    const auto answers = answers_of(next, digests);
    return std::count(answers.begin(), answers.end(), static_cast<std::uint8_t>(answer));
  };
  if (const auto wrong = count(keys, false) + count(refused, true); wrong != 0)
    return Error{Errc::build_failed, "delta: " + std::to_string(wrong) +
                                         " keys or known negatives would be answered wrong; nothing is written. Try "
                                         "another seed, or build a new base"};
  header.self_test = next.self_test();
  std::vector<std::byte> out = seal(header, add, drop);
  if (task.signer) {
    NAYSAY_TRY(const auto signature, task.signer.sign(out));
    const SignatureHeader s{task.signer.algorithm, static_cast<std::uint32_t>(signature.size()), task.signer.key};
    const auto head = std::as_bytes(std::span(&s, 1));
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), signature.begin(), signature.end());
  }
  return out;
}

}  // namespace

Result<std::vector<std::byte>> make_delta(const Stack& state, const DeltaTask& task) {
  return no_memory_is_an_error("delta", [&] { return make(state, task); });
}

}  // namespace naysay
