// Who may include whom, and what a source file may hold.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = NAYSAY_SOURCE_DIR;

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> sources(std::initializer_list<const char*> folders) {
  std::vector<fs::path> out;
  for (const char* folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string ending = entry.path().extension().string();
      if (entry.is_regular_file() && (ending == ".hpp" || ending == ".cpp" || ending == ".cu" || ending == ".h"))
        out.push_back(entry.path());
    }
  }
  return out;
}

TEST(Architecture, RoomsIncludeOnlyTheRoomsTheyStandOn) {
  const std::map<std::string, std::set<std::string>> may_include = {
      {"core", {"core"}},
      {"theory", {"core", "theory"}},
      {"workload", {"core", "workload"}},
      {"classic", {"core", "theory", "classic"}},
      {"aware", {"core", "theory", "classic", "aware"}},
      {"", {"core", "theory", "classic", "aware", "workload", ""}},  // any_filter.hpp and its neighbours
  };
  const std::regex include(R"(^\s*#\s*include\s*[<"]naysay/([^>"]+)[>"])");
  std::size_t checked = 0;
  for (const fs::path& file : sources({"include/naysay"})) {
    const std::string room = fs::relative(file.parent_path(), kRoot / "include/naysay").string();
    ASSERT_TRUE(may_include.contains(room == "." ? "" : room))
        << file << " stands in a room that the list does not know";
    for (const std::string& line : lines_of(file)) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      ++checked;
      const std::string other = fs::path(match[1].str()).parent_path().string();
      EXPECT_TRUE(may_include.at(room == "." ? "" : room).contains(other)) << file << " must not say " << line;
    }
  }
  EXPECT_GT(checked, 5u);
}

TEST(Architecture, NoFileIsCalledUtilCommonMiscOrHelpers) {
  for (const fs::path& file : sources({"include", "src", "cli", "tests", "bench", "cuda"})) {
    const std::string stem = file.stem().string();
    for (const char* bad : {"util", "utils", "common", "misc", "helper", "helpers"}) EXPECT_NE(stem, bad) << file;
  }
}

TEST(Architecture, SourcesAreAsciiAndTheLibraryNeverPrintsOrReadsTheEnvironment) {
  const std::regex forbidden(
      R"(\b(printf|puts|std::cout|std::cerr|getenv|std::abort|std::exit|std::terminate)\b\s*[(<])");
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
    ASSERT_FALSE(lines.empty());
    EXPECT_TRUE(lines[0].starts_with("// ")) << file << " must begin with a sentence on what it is";
  }
}

}  // namespace
