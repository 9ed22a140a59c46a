// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/detail/update_layer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "naysay/core/detail/memory.hpp"

namespace naysay::updates {

namespace {

constexpr std::size_t kHead = 8;
constexpr std::uint8_t kVersion = 1;
constexpr std::uint32_t kLeastWidth = 3, kMostWidth = 8;
constexpr std::size_t kFewDigests = 512;  // more keys than this are always smaller as a filter

std::uint64_t top(Digest d, std::uint32_t width) noexcept { return d.lo >> (64 - 8 * width); }

std::vector<std::uint64_t> tops(std::span<const Digest> digests, std::uint32_t width) {
  std::vector<std::uint64_t> out;
  out.reserve(digests.size());
  for (const Digest& d : digests) out.push_back(top(d, width));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Empty if no width tells the keys from what is to be refused.
std::vector<std::byte> digests_layer(const UpdateLayer::Task& task) {
  for (std::uint32_t width = kLeastWidth; width <= kMostWidth; ++width) {
    const auto entries = tops(task.keys, width);
    if (static_cast<double>(entries.size()) * std::exp2(-8.0 * width) > task.stranger_fpr) continue;
    const bool confused = std::any_of(task.refused.begin(), task.refused.end(), [&](const Digest& d) {
      return std::binary_search(entries.begin(), entries.end(), top(d, width));
    });
    if (confused) continue;
    std::vector<std::byte> out(kHead + entries.size() * width);
    const auto count = static_cast<std::uint32_t>(entries.size());
    out[0] = std::byte{'n'}, out[1] = std::byte{'d'}, out[2] = std::byte{kVersion}, out[3] = std::byte(width);
    std::memcpy(out.data() + 4, &count, sizeof count);
    for (std::uint32_t i = 0; i < count; ++i) std::memcpy(out.data() + kHead + i * width, &entries[i], width);
    return out;
  }
  return {};
}

}  // namespace

bool UpdateLayer::searched(Digest d) const noexcept {
  return std::binary_search(entries_.begin(), entries_.end(), top(d, width_));
}

double UpdateLayer::expected_fpr() const noexcept {
  return filter_ ? filter_->expected_fpr() : static_cast<double>(entries_.size()) * std::exp2(-8.0 * width_);
}

Result<UpdateLayer> UpdateLayer::view(std::span<const std::byte> bytes) {
  UpdateLayer layer;
  if (bytes.empty()) return layer;
  if (bytes.size() >= 2 && bytes[0] == std::byte{'n'} && bytes[1] == std::byte{'s'}) {
    NAYSAY_TRY(AnyFilter filter, AnyFilter::view_bare(bytes));
    layer.filter_.emplace(std::move(filter));
    return layer;
  }
  const auto corrupt = [](const char* what) {
    return Error{Errc::corrupt, std::string("a layer of digests: ") + what};
  };
  if (bytes.size() < kHead || bytes[0] != std::byte{'n'} || bytes[1] != std::byte{'d'})
    return Error{Errc::corrupt, "a layer is neither a filter nor a list of digests"};
  if (bytes[2] != std::byte{kVersion}) return Error{Errc::unsupported, "a layer of digests has an unknown version"};
  layer.width_ = static_cast<std::uint32_t>(bytes[3]);
  std::uint32_t count = 0;
  std::memcpy(&count, bytes.data() + 4, sizeof count);
  if (layer.width_ < kLeastWidth || layer.width_ > kMostWidth) return corrupt("their width must be 3 to 8 bytes");
  if (bytes.size() - kHead != std::uint64_t{count} * layer.width_ || count == 0)
    return corrupt("their number does not fit their bytes");
  layer.entries_.resize(count);
  const unsigned bits = std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(count)) + 5, 6, 24);
  layer.hint_shift_ = 64 - bits;
  layer.hints_.assign(std::size_t{1} << (bits - 6), 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t& entry = layer.entries_[i];
    std::memcpy(&entry, bytes.data() + kHead + std::size_t{i} * layer.width_, layer.width_);
    if (i > 0 && layer.entries_[i - 1] >= entry) return corrupt("they are not ascending");
    const std::uint64_t hint = entry >> (8 * layer.width_ - bits);  // 24 bits at most, as many as the narrowest entry
    layer.hints_[hint / 64] |= std::uint64_t{1} << hint % 64;
  }
  return layer;
}

Result<std::vector<std::byte>> UpdateLayer::build(const Task& task) {
  if (task.keys.empty()) return std::vector<std::byte>{};
  std::vector<std::byte> digests;
  if (task.keys.size() <= kFewDigests) digests = digests_layer(task);
  // About what a filter needs at least: do not build one that cannot be smaller.
  const double ratio = static_cast<double>(task.refused.size()) / static_cast<double>(task.keys.size());
  const double bits =
      std::max(std::log2(1 + ratio), std::log2(1 / task.stranger_fpr)) * static_cast<double>(task.keys.size());
  if (!digests.empty() && static_cast<double>(digests.size()) <= 110 + bits / 8) return digests;
  const std::array<Param, 3> params = {Param("bits_per_key", 4096.0), Param("exact", true),
                                       Param("stranger_fpr", task.stranger_fpr)};
  const Workload workload{.keys = task.keys, .negatives = task.refused};
  auto filter = AnyFilter::build("taught-ribbon", workload, params, {.seed = task.seed, .threads = task.threads});
  if (!filter && digests.empty()) return std::move(filter).error();
  if (!filter) return digests;
  auto bare = filter->to_bare();
  return digests.empty() || bare.size() < digests.size() ? std::move(bare) : std::move(digests);
}

}  // namespace naysay::updates
