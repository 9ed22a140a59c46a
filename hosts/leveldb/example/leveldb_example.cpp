// SPDX-License-Identifier: Apache-2.0
// A shop whose customers keep asking for things it never sold. Writes a database with LevelDB's own filters and one with
// ours, and prints how many of the questions had to read the disk.
#include <leveldb/cache.h>
#include <leveldb/db.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "naysay/hosts/leveldb.hpp"

namespace {

// What a block read costs is seen in how often the filter says "maybe" to an absent key.
class Listening final : public leveldb::FilterPolicy {
 public:
  explicit Listening(const leveldb::FilterPolicy& policy) : policy_(policy) {}
  const char* Name() const override { return policy_.Name(); }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* dst) const override {
    policy_.CreateFilter(keys, n, dst);
  }
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    const bool maybe = policy_.KeyMayMatch(key, filter);
    maybes += maybe;
    return maybe;
  }
  mutable int maybes = 0;

 private:
  const leveldb::FilterPolicy& policy_;
};

int reads(const leveldb::FilterPolicy& policy, const std::vector<std::string>& wanted) {
  const auto path = std::filesystem::temp_directory_path() / "naysay-leveldb-example";
  std::filesystem::remove_all(path);
  const Listening listening(policy);
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = &listening;
  leveldb::DB* raw = nullptr;
  if (!leveldb::DB::Open(options, path.string(), &raw).ok()) return -1;
  {
    const std::unique_ptr<leveldb::DB> db(raw);
    for (int i = 0; i < 20'000; ++i) db->Put({}, "item-" + std::to_string(i * 7), std::string(100, 'x'));
    db->CompactRange(nullptr, nullptr);
    listening.maybes = 0;
    std::string value;
    for (const std::string& key : wanted)
      if (db->Get({}, key, &value).ok()) return -1;
  }
  std::filesystem::remove_all(path);
  return listening.maybes;
}

}  // namespace

int main() {
  std::vector<std::string> wanted;
  std::vector<naysay::CostedKey> absent;
  for (int i = 0; i < 4000; ++i) wanted.push_back("item-" + std::to_string(i * 35 + 1));
  for (const std::string& key : wanted) absent.push_back({key, 1});
  auto negatives = naysay::NegativesByKey::of(absent);
  if (!negatives) {
    std::fprintf(stderr, "%s\n", negatives.error().message.c_str());
    return 1;
  }
  const std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  const naysay::leveldb::Policy policy(10, std::make_shared<const naysay::NegativesByKey>(std::move(*negatives)));
  const int before = reads(*bloom, wanted), after = reads(policy, wanted);
  std::printf("of 4000 Gets of absent keys, %d read a block with LevelDB's Bloom filters and %d with naysay's\n",
              before, after);
  return before > 0 && after == 0 ? 0 : 1;
}
