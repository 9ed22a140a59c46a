// SPDX-License-Identifier: Apache-2.0
// NAYSAY_EXPORT: marks what a shared libnaysay offers. The library is compiled with hidden visibility, so a compiled
// function or class without the mark can be used inside the library only. Templates and inline functions need none: the
// caller compiles them. A variable whose address is compared across the boundary does.
#pragma once

#define NAYSAY_EXPORT __attribute__((visibility("default")))
