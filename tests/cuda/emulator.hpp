// SPDX-License-Identifier: Apache-2.0
// Emulator: runs CUDA kernels on the CPU, one block after the other, so that they are tested where there is no GPU.
//
//   block --> a fiber a thread, in turn     __syncthreads, __shfl_sync, ...: hands over until all have arrived
//
// Enough of CUDA C++ for cuda/kernels.hpp, no more: warps of 32 threads all of which take part in every exchange. A
// kernel in which some do not arrive would wait forever on a device, and fails here.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "naysay/core/hash.hpp"

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)

namespace naysay::emulator {

struct Place {
  unsigned x = 0;
};
inline Place thread_index, block_index, block_size, grid_size;

// The threads of a block, or of a warp, that wait for each other and swap a word.
class Meeting {
 public:
  void open(unsigned threads) { threads_ = threads, arrived_ = 0, in_.assign(threads, 0), out_ = in_; }
  template <class Wait>
  const std::vector<std::uint64_t>& swap(unsigned me, std::uint64_t value, Wait&& wait) {
    in_[me] = value;
    const std::uint64_t round = round_;
    if (++arrived_ == threads_) {
      out_ = in_, arrived_ = 0, ++round_;
    } else {
      while (round_ == round) wait();
    }
    return out_;  // the next round cannot end before all have read this one
  }

 private:
  unsigned threads_ = 0, arrived_ = 0;
  std::uint64_t round_ = 0;
  std::vector<std::uint64_t> in_, out_;
};

class Block {
 public:
  static Block& now() {
    static Block block;
    return block;
  }
  // Runs body() once for each thread of a block.
  void run(unsigned threads, const std::function<void()>& body) {
    body_ = &body;
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
    all_.open(threads);
    for (std::size_t w = 0; w < 32; ++w) warps_[w].open(32);
    for (unsigned t = 0; t < threads; ++t) {
      Fiber& f = *fibers_[t];
      ::getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.get();
      f.context.uc_stack.ss_size = kStackBytes;
      f.context.uc_link = &home_;
      f.done = false;
      ::makecontext(
          &f.context,
          [] {
            Block& b = now();
            (*b.body_)();
            b.fibers_[b.me_]->done = true;
          },
          0);
    }
    // A waiting thread is resumed again and again; after a thousand rounds in which none ends or arrives, fail.
    for (unsigned left = threads; left > 0;) {
      const std::uint64_t before = steps_;
      for (unsigned t = 0; t < threads; ++t) {
        if (fibers_[t]->done) continue;
        me_ = t, thread_index.x = t;
        ::swapcontext(&home_, &fibers_[t]->context);
        if (fibers_[t]->done) --left, ++steps_;
      }
      if (steps_ == before) {
        std::fprintf(stderr, "emulator: the threads of a block wait for each other endlessly\n");
        std::abort();
      }
    }
  }
  const std::vector<std::uint64_t>& swap_in_warp(std::uint64_t value) {
    return meet(warps_[me_ / 32], me_ % 32, value);
  }
  const std::vector<std::uint64_t>& swap_in_block(std::uint64_t value) { return meet(all_, me_, value); }

 private:
  static constexpr std::size_t kStackBytes = 64 << 10;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
    bool done = true;
  };
  const std::vector<std::uint64_t>& meet(Meeting& meeting, unsigned me, std::uint64_t value) {
    ++steps_;
    return meeting.swap(me, value, [&] {
      Fiber& f = *fibers_[me_];
      ::swapcontext(&f.context, &home_);
    });
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  ucontext_t home_;
  Meeting all_, warps_[32];
  unsigned me_ = 0;
  std::uint64_t steps_ = 0;
  const std::function<void()>* body_ = nullptr;
};

}  // namespace naysay::emulator

#define threadIdx naysay::emulator::thread_index
#define blockIdx naysay::emulator::block_index
#define blockDim naysay::emulator::block_size
#define gridDim naysay::emulator::grid_size

namespace {

using naysay::emulator::Block;

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Arguments... arguments) {
  gridDim.x = blocks, blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) Block::now().run(threads, [&] { kernel(arguments...); });
}

inline void __syncthreads() { Block::now().swap_in_block(0); }
inline int __syncthreads_or(int value) {
  const auto& all = Block::now().swap_in_block(value != 0);
  return std::any_of(all.begin(), all.end(), [](std::uint64_t v) { return v != 0; });
}
inline unsigned __ballot_sync(unsigned, bool value) {
  const auto& all = Block::now().swap_in_warp(value);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= static_cast<unsigned>(all[i]) << i;
  return bits;
}
template <class T>
T __shfl_sync(unsigned, T value, unsigned from) {
  return static_cast<T>(Block::now().swap_in_warp(value)[from & 31]);
}
inline unsigned __reduce_xor_sync(unsigned, unsigned value) {
  unsigned sum = 0;
  for (std::uint64_t v : Block::now().swap_in_warp(value)) sum ^= static_cast<unsigned>(v);
  return sum;
}
inline unsigned __reduce_or_sync(unsigned, unsigned value) {
  unsigned sum = 0;
  for (std::uint64_t v : Block::now().swap_in_warp(value)) sum |= static_cast<unsigned>(v);
  return sum;
}

inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<naysay::Uint128>(a) * b) >> 64);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (by & 31));
}
template <class T>
T atomicAdd(T* to, T value) {
  return std::exchange(*to, *to + value);
}
template <class T>
T atomicMin(T* to, T value) {
  return std::exchange(*to, std::min(*to, value));
}
template <class T>
T atomicMax(T* to, T value) {
  return std::exchange(*to, std::max(*to, value));
}
template <class T>
T atomicOr(T* to, T value) {
  return std::exchange(*to, *to | value);
}

struct uint2 {
  unsigned x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost };
inline cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  return (*p = std::malloc(bytes)) ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* p) { return std::free(p), cudaSuccess; }
inline cudaError_t cudaMemset(void* p, int value, std::size_t bytes) {
  return std::memset(p, value, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

}  // namespace
