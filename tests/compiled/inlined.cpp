// SPDX-License-Identifier: Apache-2.0
// A query of a typed blocked Bloom filter, for inlined.sh to look at.
#include "naysay/bloom/blocked_bloom.hpp"

bool query(const naysay::BlockedBloom& f, std::uint64_t key) { return f.may_contain(naysay::digest(key)); }
