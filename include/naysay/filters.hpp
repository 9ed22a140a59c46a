// SPDX-License-Identifier: Apache-2.0
// All registered filters. Made from src/registry.cpp by ./dev golden.
#pragma once

#include "naysay/bloom/blocked_bloom.hpp"
#include "naysay/bloom/bloom.hpp"
#include "naysay/bloom/counting_bloom.hpp"
#include "naysay/bloom/weighted_bloom.hpp"
#include "naysay/bloom/weighted_counting_bloom.hpp"
#include "naysay/cuckoo/cuckoo.hpp"
#include "naysay/fuse/binary_fuse.hpp"
#include "naysay/fuse/xor.hpp"
#include "naysay/guarded/guarded.hpp"
#include "naysay/habf/habf.hpp"
#include "naysay/quotient/quotient.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"
#include "naysay/seesaw/seesaw.hpp"
#include "naysay/stacked/adaptive_stacked.hpp"
#include "naysay/stacked/stacked.hpp"
#include "naysay/variable_hash/adaptive_variable_hash.hpp"
#include "naysay/variable_hash/variable_hash.hpp"
