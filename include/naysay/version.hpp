// SPDX-License-Identifier: Apache-2.0
// The version of naysay. It stands here and nowhere else: CMake, the tool and the package files read it from these three
// lines. What a change of each number means is in docs/versions.md.
#pragma once

#define NAYSAY_VERSION_MAJOR 0
#define NAYSAY_VERSION_MINOR 1
#define NAYSAY_VERSION_PATCH 0

#define NAYSAY_TEXT_OF(number) #number
#define NAYSAY_DOTTED(major, minor, patch) NAYSAY_TEXT_OF(major) "." NAYSAY_TEXT_OF(minor) "." NAYSAY_TEXT_OF(patch)
// As a string literal, "0.1.0".
#define NAYSAY_VERSION NAYSAY_DOTTED(NAYSAY_VERSION_MAJOR, NAYSAY_VERSION_MINOR, NAYSAY_VERSION_PATCH)

#ifdef __cplusplus  // C programs include it too

#include <string_view>

namespace naysay {

inline constexpr std::string_view kLibraryVersion = NAYSAY_VERSION;

}  // namespace naysay

#endif
