// SPDX-License-Identifier: Apache-2.0
#include "experiments/sources.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "naysay/workload/generate.hpp"
#include "naysay/workload/zipf.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

// Ranges of indices that share no key.
constexpr std::uint64_t kNegativesFrom = std::uint64_t{1} << 40, kStrangersFrom = std::uint64_t{1} << 41,
                        kNewcomersFrom = std::uint64_t{1} << 42;

}  // namespace

Hasher Sources::hasher(bool siphash) const {
  Hasher h{.seed = seed_};
  if (siphash) h.id = HashId::siphash;
  return h;
}

Sources::Files Sources::find_files() const {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (!fs::is_directory(folder_, problem))
    throw Failure{
        fmt::format("--data is '{}'; it must be a folder with a file *positive* and a file *negative*", folder_)};
  Files files;
  for (const auto& entry : fs::directory_iterator(folder_, problem)) {
    const std::string name = entry.path().filename().string();
    if (name.find("positive") != std::string::npos) files.positive = entry.path().string();
    if (name.find("negative") != std::string::npos) files.negative = entry.path().string();
  }
  if (files.positive.empty() || files.negative.empty())
    throw Failure{
        fmt::format("--data is '{}', which has no file named *{}*; it must have one of keys, *positive*, and "
                    "one of known negatives, *negative*",
                    folder_, files.positive.empty() ? "positive" : "negative")};
  return files;
}

void Sources::check() const {
  if (!folder_.empty()) (void)find_files();
}

std::string Sources::files() {
  if (folder_.empty() || !files_said_.empty()) return files_said_;
  const Files found = find_files();
  for (const std::string& path : {found.positive, found.negative}) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    const Digest sum = digest(std::string_view(all.str()));
    files_said_ += fmt::format("{}{} {:016x}{:016x}", files_said_.empty() ? "" : ", ",
                               std::filesystem::path(path).filename().string(), sum.hi, sum.lo);
  }
  return files_said_;
}

const ExperimentKeys& Sources::get(const SourceWish& wish, const Progress& progress) {
  if (held_ == wish) return set_;
  held_.reset();
  set_ = {};
  if (wish.data == Data::blocklist && !folder_.empty())
    read(wish, progress);
  else
    generate(wish);
  held_ = wish;
  return set_;
}

void Sources::generate(const SourceWish& wish) {
  const Hasher hash = hasher(wish.siphash);
  std::string text;
  const auto make = [&](std::vector<Digest>& out, std::uint64_t first, std::uint64_t count, Texts* texts) {
    out.clear();
    out.reserve(count);
    if (texts) *texts = {};
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (wish.data == Data::integers) {
        out.push_back(hash(i));
      } else {
        generate_key(wish.data == Data::ycsb ? KeyShape::ycsb : KeyShape::urls, i, seed_, text);
        out.push_back(hash(text));
        if (wish.texts && texts && !texts->push(text)) throw Failure{"no memory for the strings of the keys"};
      }
    }
  };
  if (set_.keys.empty()) {
    make(keys_, 0, wish.keys, &key_texts_);
    make(negatives_, kNegativesFrom, wish.negatives, &negative_texts_);
    set_.keys = keys_;
    set_.negatives = negatives_;
    set_.key_bytes = key_texts_.views();
    set_.negative_bytes = negative_texts_.views();
    set_.source = wish.data == Data::blocklist ? "made-up URLs" : kDataNames[static_cast<int>(wish.data)];
  }
  make(strangers_, kStrangersFrom, wish.strangers, &stranger_texts_);
  make(newcomers_, kNewcomersFrom, wish.newcomers, nullptr);
  set_.strangers = strangers_;
  set_.stranger_bytes = stranger_texts_.views();
  set_.newcomers = newcomers_;
}

void Sources::read(const SourceWish& wish, const Progress& progress) {
  if (file_keys_.empty() || files_use_siphash_ != wish.siphash || (wish.texts && !files_have_texts_)) {
    const Files files = find_files();
    if (wish.texts) {
      TextKeys keys = need(read_texts({files.positive}, Lines::keys, hasher(wish.siphash), progress));
      TextKeys negatives = need(read_texts({files.negative}, Lines::costed_keys, hasher(wish.siphash), progress));
      file_keys_ = std::move(keys.digests);
      file_key_texts_ = std::move(keys.texts);
      file_negatives_.digests = std::move(negatives.digests);
      file_negatives_.costs = std::move(negatives.costs);
      file_negative_texts_ = std::move(negatives.texts);
    } else {
      file_keys_ = need(read_keys({files.positive}, hasher(wish.siphash), progress));
      file_negatives_ = need(read_negatives({files.negative}, hasher(wish.siphash), progress));
    }
    files_use_siphash_ = wish.siphash;
    files_have_texts_ = wish.texts;
  }
  if (file_keys_.size() < wish.keys || file_negatives_.digests.size() < wish.negatives)
    throw Failure{fmt::format("--data has {} keys and {} negatives; this experiment needs {} and {}", file_keys_.size(),
                              file_negatives_.digests.size(), wish.keys, wish.negatives)};
  set_.keys = std::span<const Digest>(file_keys_.begin(), wish.keys);
  set_.negatives = std::span<const Digest>(file_negatives_.digests.begin(), wish.negatives);
  set_.weights = std::span<const float>(file_negatives_.costs.begin(), wish.negatives);
  if (wish.texts) {
    set_.key_bytes = file_key_texts_.views().first(wish.keys);
    set_.negative_bytes = file_negative_texts_.views().first(wish.negatives);
  }
  set_.source = "files";
  generate(wish);
}

std::vector<float> Sources::costs(double skew, std::uint64_t shuffle) {
  if (skew == kRealCosts && !set_.weights.empty()) return {set_.weights.begin(), set_.weights.end()};
  const double zipf = skew == kRealCosts ? 1.0 : skew;
  if (by_rank_.size() != set_.negatives.size() || by_rank_skew_ != zipf) {
    by_rank_ = zipf_by_rank(set_.negatives.size(), zipf);
    by_rank_skew_ = zipf;
  }
  std::vector<float> costs = by_rank_;
  Random(shuffle).shuffle(std::span<float>(costs));
  return costs;
}

}  // namespace naysay::cli
