// SPDX-License-Identifier: Apache-2.0
// naysay bench ingest, which is no experiment of filters: it reads files, and has a table of its own.
#pragma once

#include <cstdint>
#include <string>

namespace naysay::cli {

// size: tiny, quick or paper. Appends a JSON line to `out`, unless it is empty.
void bench_ingest(const std::string& size, std::uint64_t seed, const std::string& out);

}  // namespace naysay::cli
