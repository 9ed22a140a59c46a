// SPDX-License-Identifier: Apache-2.0
// Files: output appears whole, by rename, or not at all, and never in place of a device or through a broken promise.
#include "naysay/core/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "says.hpp"

namespace naysay {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "naysay-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string read(std::string_view name) const {
    std::ifstream in(path(name), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder_), {}); }

 private:
  fs::path folder_;
};

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(Files, AppearOnlyWhenCommitted) {
  {
    auto file = files::AtomicFile::create(path("f"));
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->append(bytes("one ")));
    ASSERT_TRUE(file->append(bytes("two")));
    EXPECT_FALSE(fs::exists(path("f")));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(read("f"), "one two");
  {
    auto file = files::AtomicFile::create(path("f"));
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->append(bytes("never finished")));
  }
  EXPECT_EQ(read("f"), "one two");
  EXPECT_EQ(entries(), 1) << "nothing else remains";
}

TEST_F(Files, HaveTheModeThatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  const auto ok = files::write_atomically(path("f"), bytes("x"));
  ::umask(before);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(static_cast<int>(fs::status(path("f")).permissions()), 0640);
}

TEST_F(Files, AreWrittenThroughLinks) {
  fs::create_directory(path("elsewhere"));
  ASSERT_TRUE(files::write_atomically(path("elsewhere/f"), bytes("old")));
  fs::create_symlink("elsewhere/f", path("link"));
  ASSERT_TRUE(files::write_atomically(path("link"), bytes("new")));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read("elsewhere/f"), "new");
}

// A pipe stands for every device: a test that fails as root must not cost the machine its /dev/null.
TEST_F(Files, NeverReplaceADeviceOrAFolder) {
  ASSERT_EQ(::mkfifo(path("device").c_str(), 0600), 0);
  fs::create_directory(path("folder"));
  for (const char* name : {"device", "folder"}) {
    const auto before = fs::status(path(name)).type();
    const auto ok = files::write_atomically(path(name), bytes("x"));
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().code, Errc::io);
    EXPECT_EQ(fs::status(path(name)).type(), before);
    EXPECT_FALSE(files::can_create(path(name)));
  }
  EXPECT_EQ(entries(), 2) << "nothing else remains";
}

TEST_F(Files, InAMissingFolderAreRefusedWithBothNames) {
  const auto ok = files::can_create(path("missing/f"));
  EXPECT_TRUE(sample::refused(ok, Errc::io, {path("missing/f"), path("missing"), "No such file or directory"}));
  EXPECT_FALSE(files::write_atomically(path("missing/f"), bytes("x")));
}

}  // namespace
}  // namespace naysay
