// SPDX-License-Identifier: Apache-2.0
#include "parts/page.hpp"

#include "page_template.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/output.hpp"

namespace naysay::cli {

namespace {

constexpr std::string_view kTemplate{kPageTemplate, sizeof kPageTemplate - 1};
constexpr std::string_view kPlace = "\"NAYSAY DATA\"";  // web/page.html has it once

}  // namespace

void need_page() {
  if (kTemplate.find(kPlace) == std::string_view::npos)
    throw Failure{
        "this naysay was built without the report page; ./dev page makes it (with Node) and builds the tool again"};
}

std::string page_with(const nlohmann::ordered_json& data) {
  need_page();
  // "<" ends a script element in "</script" and confuses it in "<!--"; U+2028 and U+2029 are no matter in JSON.
  std::string json;
  for (const char c : json_text(data)) {
    if (c == '<')
      json += "\\u003c";
    else
      json += c;
  }
  std::string page(kTemplate);
  page.replace(page.find(kPlace), kPlace.size(), json);
  return page;
}

void write_page(const std::string& path, const nlohmann::ordered_json& data) {
  const std::string page = page_with(data);
  Output out(path);
  out.write(page);
  out.finish();
}

}  // namespace naysay::cli
