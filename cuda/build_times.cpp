// SPDX-License-Identifier: Apache-2.0
// Prints the table of build times of docs/variable_hash.md: the CUDA builder next to one core of the CPU, by keys per
// slot. Usage: cuda_table [keys ...], by default 1e6 and 1e7.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "naysay/cuda/variable_hash_builder.hpp"

namespace {

using namespace naysay;

constexpr std::uint64_t kStrangers = 4'000'000;
// Where one core would need minutes, it builds this many of the keys, and its time is scaled up.
constexpr std::uint64_t kCoreKeys = 1'000'000;

std::vector<Digest> digests(std::uint64_t first, std::uint64_t count) {
  std::vector<Digest> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = digest(first + i);
  return out;
}

std::vector<std::byte> bytes_of(const VariableHash& f) {
  std::vector<std::byte> out;
  FieldWriter writer(out);
  VariableHash::fields(f, writer);
  return out;
}

// The filter, and the seconds it took.
template <class Build>
VariableHash timed(Build&& build, double& seconds) {
  const auto start = std::chrono::steady_clock::now();
  auto f = build();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!f) {
    std::fprintf(stderr, "%s\n", f.error().message.c_str());
    std::exit(1);
  }
  return std::move(*f);
}

void table(std::uint64_t n, const std::vector<Digest>& strangers) {
  const auto keys = digests(0, n);
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());  // that copy
  for (unsigned spread_bits : {12u, 16u})
    for (unsigned keys_per_slot = 12; keys_per_slot <= 24; keys_per_slot += 2) {
      const VariableHash::Params p{.bits_per_key = 16,
                                   .keys_per_slot = static_cast<double>(keys_per_slot),
                                   .function_bits = keys_per_slot + 3,
                                   .functions = 7,
                                   .sector_bits = spread_bits,
                                   .bucket_bits = spread_bits};
      double gpu = 0, again = 0, core = 0;
      const VariableHash f =
          timed([&] { return cuda::build_variable_hash({.keys = keys}, p, {.threads = threads}); }, gpu);
      for (int i = 0; i < 4; ++i) {
        (void)timed([&] { return cuda::build_variable_hash({.keys = keys}, p, {.threads = threads}); }, again);
        gpu = std::min(gpu, again);
      }
      const auto part = std::span(keys).first(spread_bits > 12 ? std::min(n, kCoreKeys) : n);
      const VariableHash on_core = timed([&] { return VariableHash::build({.keys = part}, p); }, core);
      const VariableHash on_gpu =
          timed([&] { return cuda::build_variable_hash({.keys = part}, p, {.threads = threads}); }, again);
      core *= static_cast<double>(n) / static_cast<double>(part.size());
      std::vector<std::uint8_t> answers(strangers.size());
      f.may_contain(strangers, answers.data());
      const auto accepted = std::count(answers.begin(), answers.end(), 1);
      std::printf("| %8llu | %2u | %2u | %7.4f | %7.2f | %4.0f | %6.3f | %6.4f %% | %5.3f %% | %s |\n",
                  static_cast<unsigned long long>(n), keys_per_slot, spread_bits, gpu, core, core / gpu,
                  static_cast<double>(f.size_bits()) / static_cast<double>(n),
                  100.0 * static_cast<double>(accepted) / static_cast<double>(strangers.size()),
                  100 * f.share_not_found(), bytes_of(on_core) == bytes_of(on_gpu) ? "yes" : "NO");
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (naysay::cuda::devices() == 0) return std::fprintf(stderr, "cuda_table: there is no CUDA device\n"), 1;
  std::printf("| keys | per slot | r_s = r_b | GPU s | one core s | times | bits/key | FPR | not found | same |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  const auto strangers = digests(std::uint64_t{1} << 50, kStrangers);
  for (int i = 1; i < argc; ++i) table(static_cast<std::uint64_t>(std::atof(argv[i])), strangers);
  if (argc < 2) table(1'000'000, strangers), table(10'000'000, strangers);
}
