// SPDX-License-Identifier: Apache-2.0
// Sources: the keys, negatives and strangers of an experiment, from files or generated.
//
//   blocklist   with a folder: its one file named *positive* and its one file named *negative* (key<TAB>cost);
//               without: made-up URLs, as many
//   ycsb        the keys that YCSB makes
//   integers    0, 1, 2, ... digested
//
// Strangers are made up for every kind, so there are always enough.
//
// The last set is kept: measurements of one panel follow each other and share it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/workload/keys.hpp"
#include "naysay/workload/texts.hpp"

namespace naysay::cli {

struct ExperimentKeys {
  std::span<const Digest> keys, negatives, strangers, newcomers;  // newcomers: keys that are inserted later
  std::span<const float> weights;                                 // what the file says that negatives cost
  std::span<const std::string_view> key_bytes, negative_bytes, stranger_bytes;  // if SourceWish::texts
  std::string source;                                                           // "files", "made-up URLs", ...
};

// What an experiment needs.
struct SourceWish {
  Data data = Data::integers;
  std::uint64_t keys = 0, negatives = 0, strangers = 0, newcomers = 0;
  bool siphash = false;
  bool texts = false;  // the strings too, for filters that read them
  bool operator==(const SourceWish&) const = default;
};

class Sources {
 public:
  // `folder` may be empty.
  Sources(std::string folder, std::uint64_t seed) : folder_(std::move(folder)), seed_(seed) {}

  // Valid until the next call. Throws a Failure if files are missing or too small.
  const ExperimentKeys& get(const SourceWish& wish, const Progress& progress);

  // What the negatives of that set cost: Zipf over a shuffle, or what the file says.
  std::vector<float> costs(double skew, std::uint64_t shuffle);

  Hasher hasher(bool siphash) const;
  // Names and XXH3-128 checksums of the two files; empty without a folder. They are read once.
  std::string files();
  // Is the folder there, with its two files? Throws a Failure that says what is wrong; to be called before long work.
  void check() const;

 private:
  struct Files {
    std::string positive, negative;
  };
  Files find_files() const;
  void generate(const SourceWish& wish);
  void read(const SourceWish& wish, const Progress& progress);

  std::string folder_;
  std::string files_said_;
  std::uint64_t seed_;
  std::optional<SourceWish> held_;
  ExperimentKeys set_;
  std::vector<Digest> keys_, negatives_, strangers_, newcomers_;
  GrowingArray<Digest> file_keys_;
  Negatives file_negatives_;
  Texts file_key_texts_, file_negative_texts_;
  Texts key_texts_, negative_texts_, stranger_texts_;
  bool files_have_texts_ = false;
  bool files_use_siphash_ = false;
  std::vector<float> by_rank_;  // costs before they are shuffled, of skew by_rank_skew_
  double by_rank_skew_ = -1;
};

}  // namespace naysay::cli
