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

  // Sends each digest, with its cost if there are costs, to the first rank whose range ends after it, in rounds of at
  // most kRoundDigests for each rank. Throws a Failure on all ranks if one has no memory for it.
  void exchange(std::span<const Uint128> ends, std::vector<Digest>& digests, std::vector<float>* costs) {
    const unsigned all = size_;
    const std::uint64_t quota = std::max<std::uint64_t>(1, kRoundDigests / all);  // for each pair of ranks and round
    std::vector<std::uint64_t> sends(all), receives(all), sent(all, 0);
    const auto rank_of = [&](Digest d) {
      return static_cast<unsigned>(std::upper_bound(ends.begin(), ends.end(), Uint128{d.hi}) - ends.begin());
    };
    for (const Digest& d : digests) ++sends[rank_of(d)];
    MPI_Alltoall(sends.data(), 1, MPI_UINT64_T, receives.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    std::uint64_t coming = 0, rounds = 0;
    for (unsigned r = 0; r < all; ++r) coming += receives[r], rounds = std::max(rounds, divide_up(sends[r], quota));
    rounds = most(rounds);

    // Sorted by rank; then what comes, and the buffers of one round.
    std::vector<Digest> sorted, got, out, in;
    std::vector<float> sorted_costs, got_costs, out_costs, in_costs;
    std::vector<std::uint64_t> begin(all + 1, 0);
    together("the exchange of digests", [&] {
      for (unsigned r = 0; r < all; ++r) begin[r + 1] = begin[r] + sends[r];
      std::vector<std::uint64_t> next(begin.begin(), begin.end() - 1);
      sorted.resize(digests.size());
      if (costs) sorted_costs.resize(digests.size());
      for (std::size_t i = 0; i < digests.size(); ++i) {
        const std::uint64_t to = next[rank_of(digests[i])]++;
        sorted[to] = digests[i];
        if (costs) sorted_costs[to] = (*costs)[i];
      }
      digests = {};
      if (costs) *costs = {};
      got.reserve(coming);
      out.resize(std::min<std::uint64_t>(sorted.size(), quota * all));
      in.resize(std::min<std::uint64_t>(coming, quota * all));
      if (costs) {
        got_costs.reserve(coming);
        out_costs.resize(out.size());
        in_costs.resize(in.size());
      }
    });
    MPI_Datatype digest_type;
    MPI_Type_contiguous(2, MPI_UINT64_T, &digest_type);
    MPI_Type_commit(&digest_type);
    std::vector<int> out_counts(all), out_from(all), in_counts(all), in_from(all);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::uint64_t out_at = 0, in_at = 0;
      for (unsigned r = 0; r < all; ++r) {
        const std::uint64_t n = std::min(quota, sends[r] - sent[r]), m = std::min(quota, receives[r]);
        std::copy_n(sorted.begin() + static_cast<std::ptrdiff_t>(begin[r] + sent[r]), n,
                    out.begin() + static_cast<std::ptrdiff_t>(out_at));
        if (costs)
          std::copy_n(sorted_costs.begin() + static_cast<std::ptrdiff_t>(begin[r] + sent[r]), n,
                      out_costs.begin() + static_cast<std::ptrdiff_t>(out_at));
        out_counts[r] = static_cast<int>(n), out_from[r] = static_cast<int>(out_at);
        in_counts[r] = static_cast<int>(m), in_from[r] = static_cast<int>(in_at);
        out_at += n, in_at += m;
        sent[r] += n, receives[r] -= m;
      }
      MPI_Alltoallv(out.data(), out_counts.data(), out_from.data(), digest_type, in.data(), in_counts.data(),
                    in_from.data(), digest_type, MPI_COMM_WORLD);
      got.insert(got.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(in_at));
      if (!costs) continue;
      MPI_Alltoallv(out_costs.data(), out_counts.data(), out_from.data(), MPI_FLOAT, in_costs.data(), in_counts.data(),
                    in_from.data(), MPI_FLOAT, MPI_COMM_WORLD);
      got_costs.insert(got_costs.end(), in_costs.begin(), in_costs.begin() + static_cast<std::ptrdiff_t>(in_at));
    }
    MPI_Type_free(&digest_type);
    rounds_ += rounds;
    digests = std::move(got);
    if (costs) *costs = std::move(got_costs);
    sent_bytes_ += (sorted.size() - sends[rank_]) * (costs ? 20 : 16);
  }
  Result<Ok> exchange(std::vector<Digest>& digests, HiRange own) override {
    const std::uint64_t end[2] = {static_cast<std::uint64_t>(own.last), static_cast<std::uint64_t>(own.last >> 64)};
    try {
      std::vector<Uint128> ends;
      for (const auto& one : gather<std::uint64_t>(end)) ends.push_back(Uint128{one[1]} << 64 | one[0]);
      exchange(ends, digests, nullptr);
    } catch (const cli::Failure& e) {  // on all ranks
      return Error{Errc::no_memory, e.message};
    }
    return Ok{};
  }
  // What exchange() has done on this rank.
  std::uint64_t rounds() const noexcept { return rounds_; }
  std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }

  template <class T>
  static MPI_Datatype type() {
    if constexpr (std::is_same_v<T, std::uint64_t>) return MPI_UINT64_T;
    if constexpr (std::is_same_v<T, std::uint32_t>) return MPI_UINT32_T;
    if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
    if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
    return MPI_BYTE;
  }

 private:
  static constexpr std::uint64_t kRoundDigests = std::uint64_t{1} << 20;

  unsigned rank_ = 0, size_ = 1;
  std::uint64_t rounds_ = 0, sent_bytes_ = 0;
};

}  // namespace naysay::mpi
