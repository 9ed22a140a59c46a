// SPDX-License-Identifier: Apache-2.0
// A project that knows naysay only from its install tree.
#include <naysay/hosts/cluster.hpp>

int main() {
  namespace redis = naysay::redis;
  const bool slots =
      redis::slot_of_key("123456789") == 12739 && redis::slot_of_key("set:{7}") == redis::slot_of_key("7");
  const auto nobody = redis::Cluster::connect({.seeds = {"127.0.0.1:1"}});  // a port that no server uses
  return slots && !nobody ? 0 : 1;
}
