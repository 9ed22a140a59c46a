// SPDX-License-Identifier: Apache-2.0
// Fuse rates: the width of the fingerprints of xor and binary fuse filters. Numbers in, numbers out.
//
// A stranger is accepted if the xor of its cells is its fingerprint, so the rate is 2^-width.
#pragma once

#include <algorithm>
#include <cmath>

namespace naysay::fuse {

// The narrowest fingerprint, 1 to 32 bits, that a stranger has with probability at most fpr. Requires fpr > 0.
inline unsigned fingerprint_width(double fpr) noexcept {
  return static_cast<unsigned>(std::clamp(std::ceil(-std::log2(fpr) - 1e-9), 1.0, 32.0));
}

}  // namespace naysay::fuse
