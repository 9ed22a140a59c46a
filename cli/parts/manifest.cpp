// SPDX-License-Identifier: Apache-2.0
#include "parts/manifest.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (std::byte b : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(b));
  return out;
}

Json to_json(const OfferedFile& f) { return {{"file", f.name}, {"bytes", f.bytes}, {"sha256", f.sha256.text()}}; }

Error wrong(const std::string& what) { return {Errc::corrupt, "the manifest is damaged: " + what}; }

// A name in the same folder, and nothing else.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() < 100 && name[0] != '.' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == name.npos;
}

Result<OfferedFile> file_of(const Json& j) {
  OfferedFile f{j.at("file").get<std::string>(), j.at("bytes").get<std::uint64_t>(), {}};
  if (!is_plain(f.name)) return wrong("'" + f.name.substr(0, 80) + "' is no name of a file in its folder");
  NAYSAY_TRY(f.sha256, StateId::parse(j.at("sha256").get<std::string>()));
  return f;
}

Result<Manifest> from_json(const Json& j) {
  if (j.at("naysay").get<int>() != 1)
    return Error{Errc::unsupported, "the manifest has another version; this naysay reads version 1"};
  Manifest m{
      j.at("list").get<std::string>(), j.at("created").get<std::int64_t>(), j.at("expires").get<std::int64_t>(), {}};
  for (const Json& p : j.at("partitions")) {
    OfferedPartition part;
    part.number = p.at("partition").get<std::uint32_t>();
    part.sequence = p.at("sequence").get<std::uint64_t>();
    part.keys = p.at("keys").get<std::uint64_t>();
    part.expected_fpr = p.at("expected_fpr").get<double>();
    NAYSAY_TRY(part.base, file_of(p.at("base")));
    part.base_sequence = p.at("base").at("sequence").get<std::uint64_t>();
    part.base_created = p.at("base").at("created").get<std::int64_t>();
    for (const Json& u : p.at("updates")) {
      OfferedUpdate update;
      NAYSAY_TRY(update.file, file_of(u));
      update.from_sequence = u.at("from_sequence").get<std::uint64_t>();
      update.to_sequence = u.at("to_sequence").get<std::uint64_t>();
      NAYSAY_TRY(update.to, StateId::parse(u.at("to").get<std::string>()));
      update.rollup = u.at("rollup").get<bool>();
      part.updates.push_back(std::move(update));
    }
    if (!m.partitions.empty() && m.partitions.back().number >= part.number)
      return wrong("partitions are not ascending");
    m.partitions.push_back(std::move(part));
  }
  return m;
}

Result<Signature> signature_of(std::string_view line) {
  Signature s;
  const auto word = [&] {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view out = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return out;
  };
  const auto number = [](std::string_view text, auto& value, int base) {
    return std::from_chars(text.data(), text.data() + text.size(), value, base).ec == std::errc{};
  };
  const bool is_signature = word() == "signature";
  if (!is_signature || !number(word(), s.algorithm, 10) || !number(word(), s.key, 16) || line.size() % 2 != 0)
    return wrong("its signature cannot be read");
  for (std::size_t i = 0; i < line.size(); i += 2) {
    unsigned value = 0;
    if (!number(line.substr(i, 2), value, 16)) return wrong("its signature cannot be read");
    s.bytes.push_back(static_cast<std::byte>(value));
  }
  return s;
}

}  // namespace

OfferedPartition* Manifest::find(std::uint32_t partition) {
  for (OfferedPartition& p : partitions)
    if (p.number == partition) return &p;
  return nullptr;
}

Result<std::string> Manifest::text(const Signer& signer) const {
  Json j = {{"naysay", 1}, {"list", list}, {"created", created}, {"expires", expires}, {"partitions", Json::array()}};
  for (const OfferedPartition& p : partitions) {
    Json base = to_json(p.base), updates = Json::array();
    base["sequence"] = p.base_sequence;
    base["created"] = p.base_created;
    for (const OfferedUpdate& u : p.updates) {
      Json one = to_json(u.file);
      one["from_sequence"] = u.from_sequence;
      one["to_sequence"] = u.to_sequence;
      one["to"] = u.to.text();
      one["rollup"] = u.rollup;
      updates.push_back(std::move(one));
    }
    j["partitions"].push_back({{"partition", p.number},
                               {"sequence", p.sequence},
                               {"keys", p.keys},
                               {"expected_fpr", p.expected_fpr},
                               {"base", base},
                               {"updates", updates}});
  }
  std::string out = j.dump() + "\n";
  if (signer) {
    NAYSAY_TRY(const auto signature, signer.sign(bytes_of(out)));
    out += fmt::format("signature {} {:016x} {}\n", signer.algorithm, signer.key, hex(signature));
  }
  return out;
}

Result<Manifest> Manifest::parse(const std::string& text, const Verifier& verifier) {
  const std::size_t end = text.find('\n');
  if (end == text.npos || text.back() != '\n') return wrong("it is cut off");
  if (verifier) {
    if (end + 1 == text.size()) return wrong("it has no signature, and one is required");
    NAYSAY_TRY(const Signature s, signature_of(std::string_view(text).substr(end + 1, text.size() - end - 2)));
    NAYSAY_CHECK(verifier.verify(bytes_of(std::string_view(text).substr(0, end + 1)), s));
  }
  const Json j = Json::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) return wrong("it is no JSON");
  try {
    return from_json(j);
  } catch (const nlohmann::json::exception& e) {
    return wrong(e.what());
  }
}

}  // namespace naysay::cli
