// SPDX-License-Identifier: Apache-2.0
// Heap: how much memory the tool holds, counted by its own operator new and delete (heap.cpp replaces them).
//
// Counts     every block from operator new while it is held, with what malloc adds to round it up: the arrays of
//            filters, and what their builds allocate.
// Does not   count the digests of keys that are read from files (they come from realloc), stacks, mapped files, or
//            memory that a C library takes from malloc by itself.
#pragma once

#include <cstdint>

namespace naysay::cli::heap {

std::uint64_t held() noexcept;
std::uint64_t peak() noexcept;  // the most since the last forget_peak()
void forget_peak() noexcept;    // the peak becomes what is held now

}  // namespace naysay::cli::heap
