// SPDX-License-Identifier: Apache-2.0
// Page: one HTML file that shows figures, with everything in it. It is made by Node (./dev page) from web/, and put
// into the tool when the tool is built; a tool that was built without it says how to get it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace naysay::cli {

// Throws a Failure if this tool has no page; to be called before long work.
void need_page();

// The page with the data in it. The data may hold any text: nothing in it can end the script it stands in.
std::string page_with(const nlohmann::ordered_json& data);
void write_page(const std::string& path, const nlohmann::ordered_json& data);

}  // namespace naysay::cli
