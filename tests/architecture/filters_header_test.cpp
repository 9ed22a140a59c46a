// SPDX-License-Identifier: Apache-2.0
// naysay/filters.hpp, which the front door includes, holds the headers of the registered filters. It is made from
// src/registry.cpp by ./dev golden, so that a new filter needs no line there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

const std::string kRoot = NAYSAY_SOURCE_DIR;

std::string made_from_the_registry() {
  std::ifstream registry(kRoot + "/src/registry.cpp");
  std::set<std::string> headers;
  std::string names, types;
  for (std::string line; std::getline(registry, line);) {
    if (line.starts_with("#include \"naysay/") && line != "#include \"naysay/any_filter.hpp\"") headers.insert(line);
    if (line.starts_with("using ") && line.find(" = ") != std::string::npos) names += line + "\n";
    if (line.starts_with("  X("))
      types += "template <>\nNAYSAY_EXPORT const FilterType& type_of<" + line.substr(4, line.find(", \"") - 4) +
               ">() noexcept;\n";
  }
  std::string text =
      "// SPDX-License-Identifier: Apache-2.0\n"
      "// All registered filters. Made from src/registry.cpp by ./dev golden.\n"
      "#pragma once\n\n#include \"naysay/any_filter.hpp\"\n";
  for (const std::string& header : headers) text += header + "\n";
  text += "\nnamespace naysay {\n\n" + names + "\nnamespace file_detail {\n" + types +
          "}  // namespace file_detail\n\n}  // namespace naysay\n";
  return text;
}

TEST(FrontDoor, OffersEveryRegisteredFilter) {
  const std::string path = kRoot + "/include/naysay/filters.hpp", wanted = made_from_the_registry();
  ASSERT_GT(wanted.size(), 500u) << "no includes were found in src/registry.cpp";
  if (std::getenv("NAYSAY_WRITE_GOLDEN") != nullptr) std::ofstream(path) << wanted;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), wanted) << "./dev golden writes it again";
}

}  // namespace
