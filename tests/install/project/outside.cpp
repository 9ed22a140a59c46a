// SPDX-License-Identifier: Apache-2.0
// A project that knows naysay only from its install tree.
#include <naysay/naysay.hpp>

int main() {
  const naysay::Digest keys[] = {naysay::digest("apple"), naysay::digest("pear")};
  auto f = naysay::AnyFilter::build("bloom", {.keys = keys}, {{"bits_per_key", "16"}});
  if (!f || !f->may_contain("apple") || !f->may_contain("pear")) return 1;
  auto typed = naysay::Bloom::build({.keys = keys}, {.bits_per_key = 16});
  return typed && typed->may_contain(keys[0]) ? 0 : 1;
}
