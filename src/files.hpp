// Files: whole files in and out, mapped views, and output that appears by rename or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/result.hpp"

namespace naysay::files {

// A read-only mapping of a whole file; `keeper` unmaps it when the last copy goes.
struct Mapping {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keeper;
};

Result<Mapping> map(const std::string& path);

// Writes to a neighbour of `path` and renames it, so that `path` holds the old bytes or all the new ones.
Result<Ok> write_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace naysay::files
