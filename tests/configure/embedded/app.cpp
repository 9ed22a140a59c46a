// SPDX-License-Identifier: Apache-2.0
// An application with naysay inside.
#include <naysay/any_filter.hpp>

int main() { return naysay::filter_types().empty() ? 1 : 0; }
