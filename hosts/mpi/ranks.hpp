// SPDX-License-Identifier: Apache-2.0
// Ranks: the processes of an MPI job, as they build one filter together.
//
// All ranks take the same steps in the same order. A step that can fail on one of them alone runs inside together(): if
// it fails anywhere, all of them throw the same Failure, that of the lowest rank, and none is left waiting.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "naysay/core/parts.hpp"
#include "parts/failure.hpp"

namespace naysay::mpi {

class Ranks : public PartPeers {
 public:
  Ranks() {
    int own = 0, all = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    rank_ = static_cast<unsigned>(own);
    size_ = static_cast<unsigned>(all);
  }
  unsigned rank() const noexcept { return rank_; }
  unsigned size() const noexcept { return size_; }

  Result<Ok> add_up(std::span<std::uint64_t> numbers) override {
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    return Ok{};
  }
  Result<Ok> agree(Result<Ok> own) override {
    unsigned first = own ? size_ : rank_;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_UNSIGNED, MPI_MIN, MPI_COMM_WORLD);
    if (first == size_) return Ok{};
    std::string text = rank_ == first ? own.error().message : "";
    std::uint64_t facts[2] = {text.size(), rank_ == first ? static_cast<std::uint64_t>(own.error().code) : 0};
    MPI_Bcast(facts, 2, MPI_UINT64_T, static_cast<int>(first), MPI_COMM_WORLD);
    text.resize(facts[0]);
    MPI_Bcast(text.data(), static_cast<int>(facts[0]), MPI_CHAR, static_cast<int>(first), MPI_COMM_WORLD);
    return Error{static_cast<Errc>(facts[1]), text};
  }

  // Runs a step. Throws a Failure on all ranks if it fails on one.
  template <class Step>
  void together(const char* doing, Step step) {
    Result<Ok> own = Ok{};
    try {
      step();
    } catch (const cli::Failure& e) {
      own = Error{Errc::io, e.message};
    } catch (const std::bad_alloc&) {
      own = Error{Errc::no_memory, std::string("there is not enough memory on rank ") + std::to_string(rank_) +
                                       " for " + doing + "; use more machines"};
    } catch (const std::exception& e) {
      own = Error{Errc::io, std::string(doing) + ": " + e.what()};
    }
    (void)cli::need(agree(std::move(own)));
  }

  std::uint64_t sum(std::uint64_t own) {
    (void)add_up({&own, 1});
    return own;
  }
  template <class T>
  T most(T own) {
    MPI_Allreduce(MPI_IN_PLACE, &own, 1, type<T>(), MPI_MAX, MPI_COMM_WORLD);
    return own;
  }
  // A value of rank 0, for all.
  template <class T>
  void share(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    MPI_Bcast(&value, static_cast<int>(sizeof value), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  void share(std::string& text) {
    std::uint64_t length = text.size();
    share(length);
    text.resize(length);
    MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  // What all ranks give, in the order of the ranks. Fewer than 2^31 values in all.
  template <class T>
  std::vector<std::vector<T>> gather(std::span<const T> own) {
    std::vector<std::uint64_t> lengths(size_);
    const std::uint64_t length = own.size();
    MPI_Allgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    std::vector<int> counts(size_), from(size_);
    std::uint64_t total = 0;
    for (unsigned r = 0; r < size_; ++r) {
      counts[r] = static_cast<int>(lengths[r]);
      from[r] = static_cast<int>(total);
      total += lengths[r];
    }
    std::vector<T> all;
    together("what the ranks tell each other", [&] {
      if (total > 0x7fffffff) throw cli::Failure{"the tables of all shards are larger than MPI can gather"};
      all.resize(total);
    });
    MPI_Allgatherv(own.data(), static_cast<int>(length), type<T>(), all.data(), counts.data(), from.data(), type<T>(),
                   MPI_COMM_WORLD);
    std::vector<std::vector<T>> by_rank(size_);
    together("what the ranks tell each other", [&] {
      for (unsigned r = 0; r < size_; ++r) by_rank[r].assign(all.begin() + from[r], all.begin() + from[r] + counts[r]);
    });
    return by_rank;
  }

  template <class T>
  static MPI_Datatype type() {
    if constexpr (std::is_same_v<T, std::uint64_t>) return MPI_UINT64_T;
    if constexpr (std::is_same_v<T, std::uint32_t>) return MPI_UINT32_T;
    if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
    if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
    return MPI_BYTE;
  }

 private:
  unsigned rank_ = 0, size_ = 1;
};

}  // namespace naysay::mpi
