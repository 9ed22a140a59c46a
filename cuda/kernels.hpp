// SPDX-License-Identifier: Apache-2.0
// The device side of the CUDA builder.
//
//   count, scan, scatter     keys by region                                    one thread per key
//   spread                   best function of a node, its keys by child        one block per node, once per level
//   search                   the functions of a slot                           one warp per slot
//
// spread counts as spread.hpp does: a thread has 32 values of a and one of b, one bit per function, and adds up with
// carry-save adders, 16 keys per round. To which child a key goes is decided by xor: child = near(a, c) xor far(b).
// near is the same for all b, so the eight words "a sends the key to child i" are made once for a block and lie in
// shared memory; far only says in which order a thread reads them:
//
//     key's words   | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |      thread with far = 5: its word for child i is word i xor 5
//
// search eliminates as function_search.hpp does, but a column at a time and to the reduced form, because 64 rows in 32
// lanes can all be changed together; the solution with the free bits 0 is the same.
//
// Plain CUDA C++ without library calls: kernels.cu compiles it for a device, tests/cuda/emulator.hpp for the CPU, so
// that it is tested where there is no GPU. A file that includes it provides launch(kernel, blocks, threads,
// arguments...).
#pragma once

#include "naysay/cuda/job.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"

namespace naysay::cuda {

namespace family = variable_hash::detail::family;

namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr unsigned kThreads = 128;      // of a spread block: 64 b x 2 halves of a
constexpr unsigned kTile = 64;          // keys in shared memory
constexpr unsigned kRound = 16;         // keys added up before a carry ripples
constexpr unsigned kMaxCountBits = 16;  // as kMaxSpreadKeys: larger nodes get function 0
constexpr unsigned kWarps = 8;          // of a search block
constexpr unsigned kScanThreads = 256;

__global__ void count_regions(const Digest* keys, std::uint64_t n, std::uint64_t regions, unsigned long long* count) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    atomicAdd(&count[__umul64hi(keys[i].hi, regions)], 1ull);
}

// start[i] = fill[i] = the sum of the counts before i; start[regions] = all. One block. `largest` becomes the largest
// count.
__global__ void scan(const unsigned long long* count, std::uint64_t regions, unsigned long long* start,
                     unsigned long long* fill, unsigned long long* largest) {
  __shared__ unsigned long long sums[kScanThreads];
  const std::uint64_t chunk = (regions + kScanThreads - 1) / kScanThreads;
  const std::uint64_t first = threadIdx.x * chunk, end = first + chunk, last = end < regions ? end : regions;
  unsigned long long sum = 0, most = 0;
  for (std::uint64_t i = first; i < last; ++i) {
    sum += count[i];
    most = most < count[i] ? count[i] : most;
  }
  sums[threadIdx.x] = sum;
  atomicMax(largest, most);
  __syncthreads();
  sum = 0;
  for (unsigned t = 0; t < threadIdx.x; ++t) sum += sums[t];
  for (std::uint64_t i = first; i < last; ++i) {
    start[i] = fill[i] = sum;
    sum += count[i];
    if (i + 1 == regions) start[regions] = sum;
  }
}

__global__ void scatter(const Digest* keys, std::uint64_t n, std::uint64_t seed, std::uint64_t regions,
                        unsigned long long* fill, std::uint64_t* xs) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    xs[atomicAdd(&fill[__umul64hi(keys[i].hi, regions)], 1ull)] = keys[i].lo + seed;
}

// ---- spreading -------------------------------------------------------------------------------------------------

using family::kChildren;

// Adds b and c to sum, bit by bit.
__device__ __forceinline__ void add(unsigned& sum, unsigned& carry, unsigned b, unsigned c) {
  const unsigned a = sum;
  sum = a ^ b ^ c;
  carry = (a & b) | (a & c) | (b & c);
}

struct alignas(16) Tile {
  unsigned sent[kTile * 2 *
                kChildren];  // of a key, a half of a, and a child: the values of a that send the key there if far is 0
  uint2 far[kTile][2];       // the two words from which the bits b, b + 1, b + 2 come for b < 32 and b >= 32
};

// What a thread's 32 functions send to each child, of key `row` / 16.
__device__ __forceinline__ void children_of(const Tile& tile, unsigned row, unsigned b, unsigned planes, unsigned* to) {
  const uint2 far = tile.far[row / (2 * kChildren)][b >> 5];
  const unsigned at = row | (__funnelshift_r(far.x, far.y, b) & planes);  // by b modulo 32
#pragma unroll
  for (unsigned c = 0; c < kChildren; ++c) to[c] = tile.sent[at ^ c];
}

// The same for two keys, added to ones.
__device__ __forceinline__ void add_two(const Tile& tile, unsigned row, unsigned b, unsigned planes, unsigned* ones,
                                        unsigned* two) {
  unsigned x[kChildren], y[kChildren];
  children_of(tile, row, b, planes, x);
  children_of(tile, row + 2 * kChildren, b, planes, y);
#pragma unroll
  for (unsigned c = 0; c < kChildren; ++c) add(ones[c], two[c], x[c], y[c]);
}
__device__ __forceinline__ void add_four(const Tile& tile, unsigned row, unsigned b, unsigned planes, unsigned* ones,
                                         unsigned* twos, unsigned* four) {
  unsigned x[kChildren], y[kChildren];
  add_two(tile, row, b, planes, ones, x);
  add_two(tile, row + 4 * kChildren, b, planes, ones, y);
#pragma unroll
  for (unsigned c = 0; c < kChildren; ++c) add(twos[c], four[c], x[c], y[c]);
}
__device__ __forceinline__ void add_eight(const Tile& tile, unsigned row, unsigned b, unsigned planes, unsigned* ones,
                                          unsigned* twos, unsigned* fours, unsigned* eight) {
  unsigned x[kChildren], y[kChildren];
  add_four(tile, row, b, planes, ones, twos, x);
  add_four(tile, row + 8 * kChildren, b, planes, ones, twos, y);
#pragma unroll
  for (unsigned c = 0; c < kChildren; ++c) add(fours[c], eight[c], x[c], y[c]);
}

// The functions whose counts are all at most `limit`.
template <unsigned kBits>
__device__ __forceinline__ unsigned at_most(const unsigned (*counts)[kChildren], unsigned limit) {
  unsigned over = 0;
#pragma unroll
  for (unsigned c = 0; c < kChildren; ++c) {
    unsigned same = kAll;
#pragma unroll
    for (unsigned q = 0; q < kBits; ++q) {
      const unsigned p = kBits - 1 - q, bit = 0u - (limit >> p & 1);
      over |= same & counts[p][c] & ~bit;
      same &= ~(counts[p][c] ^ bit);
    }
  }
  return ~over;
}

// Finds the function of every node, and moves its keys to where its children's keys lie together. Requires that no node
// of at most 2^16 - 1 keys has more than 2^kBits - kRound. `largest` becomes the largest child.
template <unsigned kBits>
__global__ void __launch_bounds__(kThreads)
    spread(const unsigned long long* start, const std::uint64_t* xs, std::uint64_t* moved,
           unsigned long long* child_start, std::uint16_t* numbers, unsigned log, unsigned tries_log,
           unsigned long long* largest) {
  __shared__ Tile tile;
  __shared__ unsigned long long best;  // maximum, squares, number
  __shared__ unsigned long long filled[kChildren];
  const std::uint64_t node = blockIdx.x, first = start[node], n = start[node + 1] - first;
  const unsigned t = threadIdx.x, half = t & 1, b = t >> 1;
  const unsigned children = 1u << log, planes = children - 1;
  const bool counted = n >= 2 && n < (1u << kMaxCountBits);
  if (t == 0) best = counted ? ~0ull : 0;
  __syncthreads();
  if (counted) {
    const unsigned least = static_cast<unsigned>((n + children - 1) >> log);
    const unsigned low = tries_log < 12 ? tries_log : 12, bs = 1u << (low - 6), cs = 1u << (tries_log - low);
    const std::uint64_t full = n & planes, few = n >> log;
    const std::uint64_t fewest_squares = (children - full) * few * few + full * least * least;
    const unsigned pads = (kRound - static_cast<unsigned>(n % kRound)) % kRound;
    for (unsigned c = 0; c < cs; ++c) {
      if (best != ~0ull && (best >> 16 & kAll) == fewest_squares)
        break;  // the same for all: best is read between barriers
      unsigned counts[kBits][kChildren];
#pragma unroll
      for (unsigned p = 0; p < kBits; ++p)
#pragma unroll
        for (unsigned i = 0; i < kChildren; ++i) counts[p][i] = 0;
      for (std::uint64_t from = 0; from < n; from += kTile) {
        __syncthreads();
        {
          const unsigned key = t >> 1;  // with the half, a thread each
          unsigned near[family::kChildLog] = {};
          std::uint64_t far = 0;  // what is no key goes to child 0
          if (from + key < n) {
            const family::SpreadWords w = family::spread_words(xs[first + from + key]);
            far = w.b;
#pragma unroll
            for (unsigned p = 0; p < family::kChildLog; ++p)
              near[p] =
                  p < log
                      ? static_cast<unsigned>(((w.a >> p) ^ (std::uint64_t{0} - (w.c >> (c + p) & 1))) >> (32 * half))
                      : 0;
          }
          tile.far[key][half] = half ? make_uint2(static_cast<unsigned>(far >> 32), 0)
                                     : make_uint2(static_cast<unsigned>(far), static_cast<unsigned>(far >> 32));
#pragma unroll
          for (unsigned i = 0; i < kChildren; ++i)
            tile.sent[t * kChildren + i] =
                (i & 1 ? near[0] : ~near[0]) & (i & 2 ? near[1] : ~near[1]) & (i & 4 ? near[2] : ~near[2]);
        }
        __syncthreads();
        if (b < bs) {
          const unsigned here = static_cast<unsigned>(n - from < kTile ? n - from : kTile);
          for (unsigned i = 0; i < here; i += kRound) {
            const unsigned row = (i * 2 + half) * kChildren;
            unsigned carry[kChildren], eight[kChildren];
            add_eight(tile, row, b, planes, counts[0], counts[1], counts[2], carry);
            add_eight(tile, row + 8 * 2 * kChildren, b, planes, counts[0], counts[1], counts[2], eight);
#pragma unroll
            for (unsigned k = 0; k < kChildren; ++k) add(counts[3][k], carry[k], carry[k], eight[k]);
#pragma unroll
            for (unsigned p = 4; p < kBits; ++p)
#pragma unroll
              for (unsigned k = 0; k < kChildren; ++k) {
                const unsigned sum = counts[p][k] ^ carry[k];
                carry[k] &= counts[p][k];
                counts[p][k] = sum;
              }
          }
        }
      }
      unsigned borrow = 0;  // the pads leave child 0
#pragma unroll
      for (unsigned p = 0; p < kBits; ++p) {
        const unsigned minus = 0u - (pads >> p & 1), was = counts[p][0];
        counts[p][0] = was ^ minus ^ borrow;
        borrow = (~was & (minus | borrow)) | (minus & borrow);
      }
      // the smallest maximum that some function has
      const unsigned most = best == ~0ull ? static_cast<unsigned>(n) : static_cast<unsigned>(best >> 48);
      unsigned alive = 0, limit = least;
      for (; limit <= most; ++limit) {
        alive = b < bs ? at_most<kBits>(counts, limit) : 0;
        if (__syncthreads_or(alive != 0)) break;
      }
      for (; alive != 0; alive &= alive - 1) {
        const unsigned a = __ffs(static_cast<int>(alive)) - 1;
        unsigned long long squares = 0;
#pragma unroll
        for (unsigned k = 0; k < kChildren; ++k) {
          unsigned sent = 0;
#pragma unroll
          for (unsigned p = 0; p < kBits; ++p) sent |= (counts[p][k] >> a & 1) << p;
          squares += static_cast<unsigned long long>(sent) * sent;
        }
        atomicMin(&best,
                  static_cast<unsigned long long>(limit) << 48 | squares << 16 | c << 12 | b << 6 | half << 5 | a);
      }
      __syncthreads();
    }
  }
  const auto number = static_cast<std::uint16_t>(best);
  if (t == 0) numbers[node] = number;
  if (t < kChildren) filled[t] = 0;
  __syncthreads();
  for (std::uint64_t i = t; i < n; i += kThreads)
    atomicAdd(&filled[family::spread_child(family::spread_words(xs[first + i]), number) & planes], 1ull);
  __syncthreads();
  if (t == 0) {
    unsigned long long at = first, most = 0;
    for (unsigned c = 0; c < children; ++c) {
      const unsigned long long size = filled[c];
      most = most < size ? size : most;
      child_start[(node << log) + c] = filled[c] = at;
      at += size;
    }
    if (node + 1 == gridDim.x) child_start[(node + 1) << log] = at;
    atomicMax(largest, most);
  }
  __syncthreads();
  for (std::uint64_t i = t; i < n; i += kThreads) {
    const std::uint64_t x = xs[first + i];
    moved[atomicAdd(&filled[family::spread_child(family::spread_words(x), number) & planes], 1ull)] = x;
  }
}

// ---- searching -------------------------------------------------------------------------------------------------

__device__ __forceinline__ unsigned parity(unsigned long long x) { return __popcll(x) & 1; }

__device__ __forceinline__ unsigned long long ballot(bool low, bool high) {
  const unsigned long long a = __ballot_sync(kAll, low), b = __ballot_sync(kAll, high);
  return a | b << 32;
}

// Row i; each lane has two rows: i / 32 is which of them, i % 32 the lane.
__device__ __forceinline__ unsigned long long row(const unsigned long long* of, unsigned i) {
  return __shfl_sync(kAll, i < 32 ? of[0] : of[1], i & 31);
}

__global__ void __launch_bounds__(kWarps * 32)
    search(const unsigned long long* start, const std::uint64_t* xs, std::uint64_t slots, std::uint64_t k,
           std::uint64_t extra, unsigned r, unsigned long long* functions, unsigned* repeated) {
  const std::uint64_t slot = blockIdx.x * std::uint64_t{kWarps} + threadIdx.x / 32;
  if (slot >= slots) return;  // whole warps
  const unsigned lane = threadIdx.x & 31;
  const std::uint64_t first = start[slot], n = start[slot + 1] - first;
  if (n > family::kMaxSlotKeys) {
    for (std::uint64_t i = lane; i < n; i += 32)
      for (std::uint64_t j = 0; j < i; ++j)
        if (xs[first + i] == xs[first + j]) *repeated = 1;
    return;
  }
  std::uint64_t x[2] = {};
  bool mine[2];
  unsigned long long left[2] = {}, keys[2] = {}, column = 0;
  const unsigned masks = family::mask_bits(r);
  std::uint64_t word[2] = {};
#pragma unroll
  for (unsigned h = 0; h < 2; ++h) {
    const unsigned i = lane + 32 * h;
    mine[h] = i < n;
    if (!mine[h]) continue;
    x[h] = xs[first + i];
    word[h] = family::mask_word(x[h]);
    left[h] = word[h] >> family::kPlaceLog & ((1ull << masks) - 1);
    keys[h] = 1ull << i;
  }
  for (unsigned j = 0; j < n; ++j) {
    const unsigned long long other = __shfl_sync(kAll, j < 32 ? x[0] : x[1], j & 31);
    if ((mine[0] && lane > j && x[0] == other) || (mine[1] && lane + 32 > j && x[1] == other)) *repeated = 1;
  }
  const unsigned columns =
      r > family::kPickLog
          ? 1u << (r - family::kPickLog < family::kColumnLog ? r - family::kPickLog : family::kColumnLog)
          : 1;
  for (unsigned q = 0; q < columns; ++q) {  // lane q keeps column q
    const unsigned long long all = ballot(word[0] >> q & 1, word[1] >> q & 1);
    if (lane == q) column = all;
  }
  // to the reduced form, highest mask bit first
  int lead[2] = {-1, -1};
  for (int bit = static_cast<int>(masks) - 1; bit >= 0; --bit) {
    const unsigned long long has =
        ballot(mine[0] && lead[0] < 0 && left[0] >> bit & 1, mine[1] && lead[1] < 0 && left[1] >> bit & 1);
    if (has == 0) continue;
    const unsigned pivot = __ffsll(static_cast<long long>(has)) - 1;
    const unsigned long long pivot_left = row(left, pivot), pivot_keys = row(keys, pivot);
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      if (lane + 32 * h == pivot)
        lead[h] = bit;
      else if (left[h] >> bit & 1)
        left[h] ^= pivot_left, keys[h] ^= pivot_keys;
    }
  }
  const unsigned long long rests = ballot(mine[0] && lead[0] < 0, mine[1] && lead[1] < 0);
  const unsigned allowed = r < family::kPickLog ? (1u << (1u << r)) - 1 : kAll;
  const std::uint64_t first_function = slot * k + (slot < extra ? slot : extra);
  const unsigned count = static_cast<unsigned>(k + (slot < extra));
  for (unsigned f = 0; f < count; ++f) {
    const unsigned right0 = ~family::pick_word(x[0], f), right1 = ~family::pick_word(x[1], f);
    unsigned alive = lane < columns ? allowed : 0;
    for (unsigned long long todo = rests; todo != 0; todo &= todo - 1) {
      const unsigned long long of = row(keys, __ffsll(static_cast<long long>(todo)) - 1);
      const unsigned odd =
          __reduce_xor_sync(kAll, (of >> lane & 1 ? right0 : 0) ^ (of >> (lane + 32) & 1 ? right1 : 0));
      alive &= ~odd ^ (0u - parity(of & column));
    }
    for (;;) {
      const unsigned who = __ballot_sync(kAll, alive != 0);
      if (who == 0) break;
      const unsigned q = __ffs(who) - 1, pick = __ffs(__shfl_sync(kAll, alive, q)) - 1;
      const unsigned long long right =
          (ballot(right0 >> pick & 1, right1 >> pick & 1) & (n == 64 ? ~0ull : (1ull << n) - 1)) ^
          __shfl_sync(kAll, column, q);
      unsigned long long bits = 0;
      if (lead[0] >= 0) bits |= static_cast<unsigned long long>(parity(keys[0] & right)) << lead[0];
      if (lead[1] >= 0) bits |= static_cast<unsigned long long>(parity(keys[1] & right)) << lead[1];
      const unsigned long long mask =
          __reduce_or_sync(kAll, static_cast<unsigned>(bits)) |
          static_cast<unsigned long long>(__reduce_or_sync(kAll, static_cast<unsigned>(bits >> 32))) << 32;
      const unsigned long long number = mask << family::kPlaceLog | q << family::kPickLog | pick;
      if (number == 0) {  // would mean "accepts every key": use the next one
        if (lane == q) alive &= alive - 1;
        continue;
      }
      if (lane == 0) {
        const std::uint64_t at = (first_function + f) * r;
        const unsigned shift = static_cast<unsigned>(at & 63);
        atomicOr(&functions[at >> 6], number << shift);
        if (shift != 0 && number >> (64 - shift) != 0) atomicOr(&functions[(at >> 6) + 1], number >> (64 - shift));
      }
      break;
    }
  }
}

// ---- a job -----------------------------------------------------------------------------------------------------

// Device memory that is freed on destruction, and whether any call failed.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    for (void* p : held_)
      if (p) cudaFree(p);
  }
  // Null when there is no memory left.
  template <class T>
  T* take(std::uint64_t n) {
    void* p = nullptr;
    if (!check(cudaMalloc(&p, (n == 0 ? 1 : n) * sizeof(T)))) return nullptr;
    for (void*& slot : held_)
      if (!slot) {
        slot = p;
        break;
      }
    return static_cast<T*>(p);
  }
  void give(void* p) {
    for (void*& slot : held_)
      if (slot == p) slot = nullptr;
    check(cudaFree(p));
  }
  bool check(cudaError_t e) {
    if (e != cudaSuccess) good_ = false;
    return e == cudaSuccess;
  }
  bool good() const { return good_; }

 private:
  void* held_[16] = {};
  bool good_ = true;
};

template <unsigned kBits>
void launch_spread(std::uint64_t nodes, const unsigned long long* start, const std::uint64_t* xs, std::uint64_t* moved,
                   unsigned long long* child_start, std::uint16_t* numbers, unsigned log, unsigned tries_log,
                   unsigned long long* largest) {
  launch(spread<kBits>, static_cast<unsigned>(nodes), kThreads, start, xs, moved, child_start, numbers, log, tries_log,
         largest);
}

// upload(to, from, count) copies digests to the device.
template <class Upload>
Answer run(const DeviceJob& job, const Upload& upload) noexcept {
  if (job.regions >= 1ull << 31) return Answer::failed;
  Session s;
  auto* keys = s.take<Digest>(job.key_count);
  auto* xs = s.take<std::uint64_t>(job.key_count);
  auto* start = s.take<unsigned long long>(job.regions + 1);
  auto* count = s.take<unsigned long long>(job.regions);
  auto* fill = s.take<unsigned long long>(job.regions);
  auto* largest = s.take<unsigned long long>(1);
  auto* repeated = s.take<unsigned>(1);
  if (!s.good()) return Answer::failed;
  s.check(cudaMemset(count, 0, job.regions * sizeof *count));
  s.check(cudaMemset(largest, 0, sizeof *largest));
  s.check(cudaMemset(repeated, 0, sizeof *repeated));
  if (!upload(keys, job.keys, job.key_count)) return Answer::failed;
  const auto blocks = static_cast<unsigned>(job.key_count / 256 + 1 < 65536 ? job.key_count / 256 + 1 : 65536);
  launch(count_regions, blocks, 256u, static_cast<const Digest*>(keys), job.key_count, job.regions, count);
  launch(scan, 1u, kScanThreads, static_cast<const unsigned long long*>(count), job.regions, start, fill, largest);
  launch(scatter, blocks, 256u, static_cast<const Digest*>(keys), job.key_count, job.seed, job.regions, fill, xs);
  auto* moved = reinterpret_cast<std::uint64_t*>(keys);  // the digests are no longer needed
  std::uint64_t nodes = job.regions;
  for (unsigned level = 0; level < 3; ++level) {
    if (job.log[level] == 0) continue;
    auto* numbers = s.take<std::uint16_t>(nodes);
    auto* child_start = s.take<unsigned long long>((nodes << job.log[level]) + 1);
    unsigned long long most = 0;  // keys of a node
    s.check(cudaMemcpy(&most, largest, sizeof most, cudaMemcpyDeviceToHost));
    s.check(cudaMemset(largest, 0, sizeof *largest));
    if (!s.good() || nodes >= 1ull << 31) return Answer::failed;
    const auto with = most <= (1u << 8) - kRound    ? launch_spread<8>
                      : most <= (1u << 10) - kRound ? launch_spread<10>
                      : most <= (1u << 12) - kRound ? launch_spread<12>
                                                    : launch_spread<17>;
    with(nodes, start, xs, moved, child_start, numbers, job.log[level], job.tries_log[level], largest);
    s.check(cudaGetLastError());
    s.check(cudaMemcpy(job.spread[level], numbers, nodes * sizeof *numbers, cudaMemcpyDeviceToHost));
    s.give(numbers);
    s.give(start);
    start = child_start;
    std::uint64_t* other = xs;
    xs = moved, moved = other;
    nodes <<= job.log[level];
  }
  auto* functions = s.take<unsigned long long>(job.function_words);
  if (!s.good()) return Answer::failed;
  s.check(cudaMemset(functions, 0, job.function_words * sizeof *functions));
  // Without a search it still runs, with no functions, to detect repeated keys.
  launch(search, static_cast<unsigned>((nodes + kWarps - 1) / kWarps), kWarps * 32,
         static_cast<const unsigned long long*>(start), static_cast<const std::uint64_t*>(xs), nodes,
         job.search ? job.k : 0, job.search ? job.extra : 0, job.function_bits, functions, repeated);
  s.check(cudaGetLastError());
  unsigned found_repeated = 0;
  s.check(cudaMemcpy(&found_repeated, repeated, sizeof found_repeated, cudaMemcpyDeviceToHost));
  if (!s.good()) return Answer::failed;
  if (found_repeated) return Answer::repeated_keys;
  if (job.search)
    s.check(cudaMemcpy(job.functions, functions, job.function_words * sizeof *functions, cudaMemcpyDeviceToHost));
  return s.good() ? Answer::done : Answer::failed;
}

}  // namespace

}  // namespace naysay::cuda
