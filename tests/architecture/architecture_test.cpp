// SPDX-License-Identifier: Apache-2.0
// Architecture: which file may include which, and what a source file may hold.
//
//   core  <--  a family (bloom, ribbon, ...)  <--  any_filter.hpp and its neighbours  <--  src, cli, cuda, hosts, ...
//     ^------  workload
//
// A room is a folder of include/naysay; all but core and workload are families. A new family needs no line here, unless
// it uses another one. Files directly in include/naysay are the front door.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// ---- the tables ----------------------------------------------------------------------------------------------------

// A family uses core and itself. These use parts of other families too.
const std::map<std::string, std::set<std::string>> kUses = {
    {"guarded",  // its bases
     {"cuckoo/cuckoo.hpp", "cuckoo/growing_cuckoo.hpp", "bloom/counting_bloom.hpp", "seesaw/seesaw.hpp"}},
    {"habf", {"bloom/bloom_rates.hpp"}},
    {"learned",  // what a model stands in front of
     {"bloom/bloom.hpp", "bloom/bloom_rates.hpp", "ribbon/ribbon_sizes.hpp", "ribbon/taught_plan.hpp",
      "ribbon/taught_ribbon.hpp"}},
    {"live",  // what it shares, saves and counts
     {"any_filter.hpp", "cuckoo/growing_cuckoo.hpp", "cuckoo/detail/split_table.hpp", "guarded/guarded.hpp"}},
    {"seesaw", {"bloom/bloom_rates.hpp"}},
    {"updates", {"any_filter.hpp", "live/swapped.hpp"}},  // a base and the layers of updates, and how they are swapped
};

// A family's detail folder is for that family and the tests. These files outside of it use a part of one too.
const std::map<std::string, std::set<std::string>> kUsesDetail = {
    {"cuda/kernels.hpp", {"variable_hash/detail/function_family.hpp"}},  // the same functions, on the device
    {"include/naysay/live/detail/shared_access.hpp",
     {"cuckoo/detail/split_table.hpp"}},  // the same table, with atomics
    {"src/updates/update_layer.cpp", {"updates/detail/update_layer.hpp"}},
};

constexpr std::size_t kMostLines = 450;

const std::string kLicence = "// SPDX-License-Identifier: Apache-2.0";

// ---- reading the sources -------------------------------------------------------------------------------------------

const fs::path kRoot = NAYSAY_SOURCE_DIR;
const fs::path kInclude = kRoot / "include/naysay";

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_source(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".hpp" || ending == ".cpp" || ending == ".cu" || ending == ".h" || ending == ".cc";
}

std::vector<fs::path> sources(std::initializer_list<const char*> folders) {
  std::vector<fs::path> out;
  for (const char* folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.is_regular_file() && is_source(entry.path())) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}
const std::initializer_list<const char*> kAllCode = {"include", "src",    "cli", "cuda", "hosts",
                                                     "mpi",     "python", "web", "tests"};

// "bloom" of "bloom/detail/scatter.hpp"; empty for a file of the front door.
std::string room_of(const std::string& header) {
  const std::size_t slash = header.find('/');
  return slash == std::string::npos ? "" : header.substr(0, slash);
}
bool is_family(const std::string& room) { return room != "" && room != "core" && room != "workload"; }
bool is_detail(const std::string& header) { return header.find("/detail/") != std::string::npos; }

// The headers of naysay that a file includes, as "bloom/bloom.hpp".
std::vector<std::string> included_by(const fs::path& file) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]naysay/([^>"]+)[>"])");
  std::vector<std::string> out;
  for (const std::string& line : lines_of(file))
    if (std::smatch match; std::regex_search(line, match, include)) out.push_back(match[1]);
  return out;
}

bool names(const std::map<std::string, std::set<std::string>>& table, const std::string& who, const std::string& what) {
  const auto found = table.find(who);
  return found != table.end() && found->second.contains(what);
}

// ---- the tests -----------------------------------------------------------------------------------------------------

TEST(Architecture, RoomsIncludeOnlyTheRoomsTheyStandOn) {
  std::size_t checked = 0;
  std::set<std::string> used;
  for (const fs::path& file : sources({"include/naysay"})) {
    const std::string path = fs::relative(file, kInclude).string(), room = room_of(path);
    for (const std::string& other : included_by(file)) {
      ++checked;
      const std::string to = room_of(other);
      if (to == room || to == "core") continue;
      if (names(kUses, room, other)) {
        used.insert(room + " " + other);
        continue;
      }
      EXPECT_TRUE(room == "" && !is_detail(other))
          << path << " must not include " << other << ": core <- families <- front door; see kUses";
    }
  }
  EXPECT_GT(checked, 100u);
  for (const auto& [room, others] : kUses)
    for (const std::string& other : others)
      EXPECT_TRUE(used.contains(room + " " + other))
          << "kUses names " << other << ", but " << room << " has no use for it";
}

TEST(Architecture, CoreAndWorkloadKnowNoFamily) {
  for (const char* room : {"core", "workload"})
    for (const fs::path& file : sources({(std::string("include/naysay/") + room).c_str()}))
      for (const std::string& other : included_by(file))
        EXPECT_FALSE(is_family(room_of(other)) || room_of(other) == "") << file << " must not include " << other;
}

TEST(Architecture, TheInsidesOfAFamilyAreItsOwn) {
  std::set<std::string> used;
  for (const fs::path& file : sources({"include/naysay", "src", "cli", "cuda", "hosts", "mpi", "python"})) {
    const std::string path = fs::relative(file, kRoot).string();
    const bool library = path.starts_with("include/") || path.starts_with("src/");
    const std::string room = path.starts_with("include/") ? room_of(fs::relative(file, kInclude).string()) : "";
    for (const std::string& other : included_by(file)) {
      if (!is_detail(other) || room_of(other) == room || (library && room_of(other) == "core")) continue;
      used.insert(path + " " + other);
      EXPECT_TRUE(names(kUsesDetail, path, other)) << path << " must not include " << other << "; see kUsesDetail";
    }
  }
  for (const auto& [file, others] : kUsesDetail)
    for (const std::string& other : others)
      EXPECT_TRUE(used.contains(file + " " + other)) << "kUsesDetail: " << file << " does not include " << other;
}

TEST(Architecture, HeadersIncludeOnlyHeadersOfNaysayInQuotes) {
  const std::regex include(R"(^\s*#\s*include\s*"([^"]+)\")");
  for (const fs::path& file : sources({"include"}))
    for (const std::string& line : lines_of(file))
      if (std::smatch match; std::regex_search(line, match, include))
        EXPECT_TRUE(match[1].str().starts_with("naysay/")) << file << ": " << line;
}

TEST(Architecture, NoTwoTypesAndNoTwoHeadersShareAName) {
  // Types that are defined at the outer level of a file, where nothing is indented. A name that < or :: follows is a
  // specialisation, or a member that is defined outside of its class.
  const std::regex type(
      R"(^(?:class|struct|union|enum class)\s+(?:\[\[\w+\]\]\s+|NAYSAY_EXPORT\s+|alignas\([^)]*\)\s+)*)"
      R"((\w+)\s*(final\s*)?(:[^:].*)?(\{.*)?$)");
  std::map<std::string, std::string> types, files;
  for (const fs::path& file : sources({"include/naysay"})) {
    const std::string path = fs::relative(file, kInclude).string();
    const auto [same, is_new] = files.emplace(file.filename().string(), path);
    EXPECT_TRUE(is_new) << path << " and " << same->second << " have the same name";
    for (const std::string& line : lines_of(file)) {
      std::smatch match;
      if (!std::regex_search(line, match, type)) continue;
      const auto [first, new_type] = types.emplace(match[1], path);
      EXPECT_TRUE(new_type) << match[1] << " is defined in " << path << " and in " << first->second;
    }
  }
  EXPECT_GT(types.size(), 60u);
}

TEST(Architecture, NoHeaderIsTooLongToRead) {
  for (const fs::path& file : sources({"include/naysay"})) {
    const std::string path = fs::relative(file, kInclude).string();
    EXPECT_LE(lines_of(file).size(), kMostLines) << path << " is too long: split it where its duties divide";
  }
}

TEST(Architecture, NoFileIsCalledUtilCommonMiscOrHelpers) {
  for (const fs::path& file : sources(kAllCode)) {
    const std::string stem = file.stem().string();
    for (const char* bad : {"util", "utils", "common", "misc", "helper", "helpers"}) EXPECT_NE(stem, bad) << file;
  }
}

// Some functions write to a global variable (lgamma: signgam), so that two threads may not call them.
TEST(Architecture, SourcesAreAsciiAndTheLibraryNeverPrintsOrReadsTheEnvironmentOrSharesGlobals) {
  const std::regex forbidden(
      R"(\b(printf|puts|std::cout|std::cerr|getenv|std::abort|std::exit|std::terminate|lgammaf?|strtok|localtime|gmtime|asctime|ctime|rand|srand)\b\s*[(<])");
  for (const fs::path& file : sources({"include", "src", "cli", "tests"})) {
    const std::string room = fs::relative(file, kRoot).string();
    std::size_t number = 0;
    for (const std::string& line : lines_of(file)) {
      ++number;
      for (char c : line) ASSERT_LT(static_cast<unsigned char>(c), 128) << file << ":" << number << " is not ASCII";
      const bool library = room.starts_with("include") || room.starts_with("src");
      EXPECT_FALSE(library && std::regex_search(line, forbidden)) << file << ":" << number << ": " << line;
    }
  }
}

TEST(Architecture, EveryHeaderOfARoomBeginsByExplainingItself) {
  for (const fs::path& file : sources({"include/naysay"})) {
    const auto lines = lines_of(file);
    const std::size_t first = !lines.empty() && lines[0] == kLicence ? 1 : 0;
    ASSERT_GT(lines.size(), first) << file;
    EXPECT_TRUE(lines[first].starts_with("// ")) << file << " must begin with a sentence on what it is";
  }
}

TEST(Architecture, EverySourceFileBeginsWithTheLicenceLine) {
  for (const fs::path& file : sources({"include", "src", "cli", "cuda", "hosts", "examples", "tests"})) {
    const auto lines = lines_of(file);
    ASSERT_FALSE(lines.empty()) << file;
    EXPECT_EQ(lines[0], kLicence) << file;
  }
}

}  // namespace
