// SPDX-License-Identifier: Apache-2.0
// An operator new that fails on demand, for the program that links failing_new.cpp.
#pragma once

#include <atomic>
#include <cstdint>

extern std::atomic<std::int64_t> allocations_left;  // that still succeed; below zero: all do
extern std::atomic<std::int64_t> allocations_made;
extern std::atomic<std::uint64_t> largest_allocation;  // in bytes; tests set it to 0

// While it lives, `count` allocations succeed and no more.
class AllowAllocations {
 public:
  explicit AllowAllocations(std::int64_t count) { allocations_left = count; }
  ~AllowAllocations() { allocations_left = -1; }
  AllowAllocations(const AllowAllocations&) = delete;
  AllowAllocations& operator=(const AllowAllocations&) = delete;
};
