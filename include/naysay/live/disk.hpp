// SPDX-License-Identifier: Apache-2.0
// Disk: the few calls by which a Store changes files, so that a test can make them fail.
//
// Each returns what the system call of its name returns: 0 or more, or -1 with errno set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "naysay/core/export.hpp"

namespace naysay {

class NAYSAY_EXPORT Disk {
 public:
  virtual ~Disk() = default;
  virtual int create(const std::string& path);  // for its owner to read and write; emptied if it is there
  virtual int open(const std::string& path);    // for appending; it must be there
  virtual std::int64_t write(int file, const void* bytes, std::size_t size);
  virtual std::int64_t write_at(int file, const void* bytes, std::size_t size, std::uint64_t at);
  virtual int sync(int file);
  virtual int truncate(int file, std::uint64_t size);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int remove(const std::string& path);
  virtual int sync_folder(const std::string& path);
  void close(int file) noexcept;

  static Disk& system();
};

}  // namespace naysay
