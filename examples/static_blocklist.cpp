// SPDX-License-Identifier: Apache-2.0
// A blocklist that is built once and asked often: the typed filter, its file, and what it costs.
//
//   static_blocklist FOLDER     writes blocked.nsy there
#include <cstdio>
#include <naysay/naysay.hpp>
#include <string>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> blocked;
  std::vector<std::pair<std::string, float>> allowed;  // the sites that are visited most must not look blocked
  for (int i = 0; i < 50'000; ++i) {
    blocked.push_back("ad" + std::to_string(i) + ".tracker.example");
    allowed.emplace_back("site" + std::to_string(i) + ".example", 1000.0f / static_cast<float>(i + 1));
  }

  auto filter = naysay::build<naysay::TaughtRibbon>(blocked, allowed, {.bits_per_key = 10});
  if (!filter) return std::fprintf(stderr, "%s\n", filter.error().message.c_str()), 1;
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/blocked.nsy";
  if (auto saved = filter->save(path); !saved) return std::fprintf(stderr, "%s\n", saved.error().message.c_str()), 1;

  const auto opened = naysay::open<naysay::TaughtRibbon>(path);  // in place: a page is read when a query touches it
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().message.c_str()), 1;
  int denied = 0, wrong = 0, strangers = 0;
  for (const std::string& host : blocked) denied += !opened->may_contain(host);
  for (const auto& [host, cost] : allowed) wrong += opened->may_contain(host);
  for (int i = 0; i < 100'000; ++i) strangers += opened->may_contain("new" + std::to_string(i) + ".example");
  std::printf(
      "%.2f bits per key: %d of %zu blocked hosts denied, %d of %zu known hosts accepted, %.3f %% of strangers\n",
      static_cast<double>(opened->size_bits()) / static_cast<double>(blocked.size()), denied, blocked.size(), wrong,
      allowed.size(), strangers / 1000.0);
  return denied == 0 && wrong == 0 ? 0 : 1;
}
