// SPDX-License-Identifier: Apache-2.0
// AbsentGets: the workload of the engines' benchmarks: sorted keys in a database, Gets of keys that are not in it.
//
//   keys        16 bytes, sorted; values of 100 bytes that do not compress
//   known       absent keys that the filters are given, one for five keys
//   hot         Gets of known keys, Zipf 1.0: the most wanted one is 8 % of the traffic
//   strangers   Gets of absent keys that nobody knows
//
// All of it comes from fixed seeds: counts are the same on every machine.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/workload/negatives_by_key.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/zipf.hpp"

namespace naysay::bench {

inline double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Size {
  const char* name;
  std::uint64_t keys, known, hot, strangers;
};
inline constexpr Size kSizes[] = {{"smoke", 20'000, 4'000, 20'000, 10'000},
                                  {"quick", 200'000, 40'000, 200'000, 100'000},
                                  {"full", 1'000'000, 200'000, 1'000'000, 500'000}};

class AbsentGets {
 public:
  explicit AbsentGets(const Size& size) : size_(size) {
    for (std::uint64_t i = 0; i < size.keys; ++i) keys_.push_back(key(i));
    std::sort(keys_.begin(), keys_.end());
    const auto costs = zipf_by_rank(size.known, 1.0);
    std::vector<CostedKey> given;
    double sum = 0;
    for (std::uint64_t i = 0; i < size.known; ++i) {
      known_.push_back(key(kKnown + i));
      sums_.push_back(sum += costs[i]);
    }
    for (std::uint64_t i = 0; i < size.known; ++i) given.push_back({known_[i], costs[i]});
    negatives_ = std::make_shared<const NegativesByKey>(std::move(*NegativesByKey::of(given)));
  }

  const Size& size() const noexcept { return size_; }
  const std::vector<std::string>& keys() const noexcept { return keys_; }
  std::shared_ptr<const NegativesByKey> negatives() const noexcept { return negatives_; }

  static std::string value(std::uint64_t i) {
    std::string out;
    Random random(i);
    while (out.size() < 100) {
      const std::uint64_t word = random();
      out.append(reinterpret_cast<const char*>(&word), std::min<std::size_t>(8, 100 - out.size()));
    }
    return out;
  }

  // Calls get(key) for each of them; the result is nanoseconds of this thread's CPU per call.
  template <class Get>
  double hot(Get&& get) const {
    Random random(5);
    std::vector<std::uint32_t> ranks;
    for (std::uint64_t i = 0; i < size_.hot; ++i) {
      const double at = static_cast<double>(random() >> 11) * 0x1p-53 * sums_.back();
      ranks.push_back(static_cast<std::uint32_t>(
          std::min<std::ptrdiff_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin(),
                                   static_cast<std::ptrdiff_t>(known_.size()) - 1)));
    }
    const double start = cpu_ns();
    for (std::uint32_t rank : ranks) get(known_[rank]);
    return (cpu_ns() - start) / static_cast<double>(size_.hot);
  }
  template <class Get>
  double strangers(Get&& get, std::uint64_t first = 0, std::uint64_t count = 0) const {
    if (count == 0) count = size_.strangers;
    std::vector<std::string> some;
    for (std::uint64_t i = 0; i < count; ++i) some.push_back(key(kStrangers + first + i));
    const double start = cpu_ns();
    for (const std::string& k : some) get(k);
    return (cpu_ns() - start) / static_cast<double>(count);
  }
  template <class Get>
  double present(Get&& get) const {
    const std::uint64_t count = size_.keys / 10;
    std::vector<const std::string*> some;
    Random random(6);
    for (std::uint64_t i = 0; i < count; ++i) some.push_back(&keys_[random.below(keys_.size())]);
    const double start = cpu_ns();
    for (const std::string* k : some) get(*k);
    return (cpu_ns() - start) / static_cast<double>(count);
  }

  static constexpr std::uint64_t kKnown = std::uint64_t{1} << 40, kStrangers = std::uint64_t{1} << 41;

 private:
  static std::string key(std::uint64_t i) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(mix64(i + 1)));
    return text;
  }

  Size size_;
  std::vector<std::string> keys_, known_;
  std::vector<double> sums_;  // of the costs, by rank
  std::shared_ptr<const NegativesByKey> negatives_;
};

// A folder that is there while this object is.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + "-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// --size NAME and --out FILE; what is measured goes to the standard output, and to FILE too.
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view name = argv[i];
      if (name == "--help" || name == "-h") {
        usage_ = true;
      } else if (i + 1 < argc && name == "--size") {
        size_ = nullptr;
        for (const Size& s : kSizes)
          if (std::string_view(argv[i + 1]) == s.name) size_ = &s;
        if (!size_) wrong_ = true, size_ = &kSizes[1];
        ++i;
      } else if (i + 1 < argc && name == "--out") {
        out_ = argv[++i];
      } else {
        wrong_ = true;
      }
    }
  }
  // True: say how to use the program, and end with this exit code.
  bool usage(const char* program, int& code) const {
    if (!usage_ && !wrong_) return false;
    std::fprintf(wrong_ ? stderr : stdout, "usage: %s [--size quick|full|smoke] [--out FILE]\n", program);
    code = wrong_ ? 2 : 0;
    return true;
  }
  const Size& size() const noexcept { return *size_; }
  void print(const std::string& line) const {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    if (out_.empty()) return;
    if (std::FILE* f = std::fopen(out_.c_str(), "a")) {
      std::fprintf(f, "%s\n", line.c_str());
      std::fclose(f);
    }
  }

 private:
  const Size* size_ = &kSizes[2];
  std::string out_;
  bool usage_ = false, wrong_ = false;
};

// One JSON object, a field at a time. Names and texts are ours: they need no escapes.
class JsonLine {
 public:
  JsonLine& text(const char* name, const std::string& value) { return put(name, "\"" + value + "\""); }
  JsonLine& number(const char* name, double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    return put(name, digits);
  }
  std::string str() const { return "{" + fields_ + "}"; }

 private:
  JsonLine& put(const char* name, const std::string& value) {
    fields_ += (fields_.empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
    return *this;
  }
  std::string fields_;
};

}  // namespace naysay::bench
