// SPDX-License-Identifier: Apache-2.0
// Checkpointer: writes a filter to a file as it was at one moment, while other threads go on to read and change it.
//
// begin() notes where every array of the filter will stand. A writer that is about to change a block of the table which
// is not written yet has it written first (live/detail/shared_access.hpp); the store writes all others, one by one.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "naysay/any_filter.hpp"
#include "naysay/live/disk.hpp"
#include "naysay/live/shared_filter.hpp"

namespace naysay::store_detail {

class Checkpointer final : public live::detail::BlockSaver {
 public:
  Checkpointer(Disk& disk, int file, std::string path) : disk_(disk), file_(file), path_(std::move(path)) {}

  // Requires that no other thread writes to the filter.
  // With `params` as a guarded filter, else as its table alone. The guard is copied: it is small, and changes as a whole.
  void begin(SharedFilter::Filter& filter, const GuardedGrowing::Params* params) {
    const SharedFilter::Table& table = std::as_const(filter).base();
    if (params) {
      GuardedGrowing::Params::fields(*params, plan_);
      guard_ = filter.copy_of_guard();
      const auto visit = [&](std::string_view name, const auto& field) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, SharedFilter::Table>)
          plan_(name, table);
        else
          plan_(name, field);
      };
      SharedFilter::Filter::fields(std::as_const(guard_), visit);
    } else {
      const auto own = table.params();
      SharedFilter::Table::Params::fields(own, plan_);
      SharedFilter::Table::fields(table, plan_);
    }
    for (std::size_t i = 0; i < plan_.pieces().size(); ++i)
      if (const std::byte* array = plan_.pieces()[i].data)
        unwritten_.emplace(reinterpret_cast<const std::uint64_t*>(array), i);
    filter.base().for_each_access([this](auto& access) { access.save_through(this); });
  }
  static void end(SharedFilter::Filter& filter) {
    filter.base().for_each_access([](auto& access) { access.save_through(nullptr); });
  }
  std::size_t pieces() const noexcept { return plan_.pieces().size(); }
  std::uint64_t size() const noexcept { return plan_.end(); }

  // Writes a piece, unless it is an array that a change has written already. Requires that no other thread writes to
  // the filter.
  void write_piece(std::size_t i) noexcept {
    const FieldPlan::Piece& piece = plan_.pieces()[i];
    if (piece.data == nullptr) return write(piece);
    const auto at = unwritten_.find(reinterpret_cast<const std::uint64_t*>(piece.data));
    if (at != unwritten_.end() && at->second == i) write_array(at);
  }
  void before_change(const std::uint64_t* words) noexcept override {
    if (const auto at = unwritten_.find(words); at != unwritten_.end()) write_array(at);
  }
  Result<Ok> written() const {
    if (failed_) return Error{Errc::io, path_ + ": cannot write: " + std::strerror(failed_)};
    return Ok{};
  }

 private:
  using Unwritten = std::unordered_map<const std::uint64_t*, std::size_t>;

  void write_array(Unwritten::iterator at) noexcept {
    write(plan_.pieces()[at->second]);
    unwritten_.erase(at);
  }
  void write(const FieldPlan::Piece& piece) noexcept { write(piece.at, plan_.bytes(piece).data(), piece.size); }
  void write(std::uint64_t at, const std::byte* bytes, std::uint64_t size) noexcept {
    while (size > 0 && failed_ == 0) {
      const std::int64_t n = disk_.write_at(file_, bytes, size, at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        failed_ = n < 0 ? errno : ENOSPC;
        return;
      }
      at += static_cast<std::uint64_t>(n);
      bytes += n;
      size -= static_cast<std::uint64_t>(n);
    }
  }

  Disk& disk_;
  int file_;
  std::string path_;
  FieldPlan plan_{file_detail::kHeaderBytes, kFileAlignment};
  SharedFilter::Filter guard_;  // without a base
  Unwritten unwritten_;         // arrays: the piece that each is
  int failed_ = 0;              // an errno
};

}  // namespace naysay::store_detail
