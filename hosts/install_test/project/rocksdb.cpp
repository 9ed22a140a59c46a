// SPDX-License-Identifier: Apache-2.0
// A project that knows naysay only from its install tree.
#include <filesystem>
#include <naysay/hosts/rocksdb.hpp>

int main() {
  const auto path = std::filesystem::temp_directory_path() / "naysay-rocksdb-outside";
  std::filesystem::remove_all(path);
  rocksdb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<naysay::rocksdb::GuardedDB> db;
  if (!naysay::rocksdb::GuardedDB::Open(options, {}, path.string(), &db).ok()) return 1;
  std::string value;
  const bool right =
      db->Put({}, "apple", "1").ok() && db->Get({}, "apple", &value).ok() && db->Get({}, "pear", &value).IsNotFound();
  db.reset();
  std::filesystem::remove_all(path);
  return right ? 0 : 1;
}
