// SPDX-License-Identifier: Apache-2.0
// The commands. docs/redis.md says what each of them takes and replies; module.cpp lists them.
#pragma once

#include "call.hpp"

namespace naysay::redis {

int ns_reserve(Call& c);
int ns_add(Call& c);
int ns_addnx(Call& c);
int ns_madd(Call& c);
int ns_insert(Call& c);
int ns_exists(Call& c);
int ns_mexists(Call& c);
int ns_del(Call& c);
int ns_card(Call& c);
int ns_info(Call& c);
int ns_report(Call& c);
int ns_negatives(Call& c);
int ns_pin(Call& c);
int ns_unpin(Call& c);
int ns_merge(Call& c);
int ns_build(Call& c);
int ns_load(Call& c);
int ns_scandump(Call& c);
int ns_loadchunk(Call& c);

}  // namespace naysay::redis
