// SPDX-License-Identifier: Apache-2.0
// A project that knows naysay only from its install tree.
#include <naysay/hosts/leveldb.hpp>

int main() {
  const naysay::leveldb::Policy policy(10);
  const leveldb::Slice keys[] = {"apple", "pear"};
  std::string filter;
  policy.CreateFilter(keys, 2, &filter);
  return policy.KeyMayMatch("apple", filter) && policy.KeyMayMatch("pear", filter) ? 0 : 1;
}
