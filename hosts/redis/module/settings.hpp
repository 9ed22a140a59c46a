// SPDX-License-Identifier: Apache-2.0
// Settings: what CONFIG GET naysay.* shows, and the counters that INFO naysay shows.
#pragma once

#include <cstdint>
#include <string>

#include "naysay/live/metrics.hpp"
#include "server_api.hpp"
#include "stored_filter.hpp"

namespace naysay::redis {

struct Settings {
  double default_error_rate = 0.01;
  std::string default_filter = "guarded-growing";
  long long default_capacity = 1000;
  long long default_expansion = 16;
  long long max_memory_per_key = 0;  // in bytes; 0: no limit
  std::string load_directory;        // NS.LOAD opens only files below it; empty: any file

  // What NS.ADD creates a key with, and NS.RESERVE completes.
  Shape shape() const;
};
inline Settings settings;

// Of all keys together, since the module was loaded.
struct Counters {
  Meter meter;
  std::uint64_t inserted = 0, erased = 0, avoided = 0, builds = 0, cancelled_builds = 0;
};
inline Counters counters;

bool register_settings(server::Context* ctx);
bool register_info(server::Context* ctx);

}  // namespace naysay::redis
