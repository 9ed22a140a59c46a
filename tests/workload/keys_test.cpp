// SPDX-License-Identifier: Apache-2.0
// Keys: whatever the file looks like, its keys come out as they are, and what is wrong is named with file and line.
#include "naysay/workload/keys.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::says;

class Keys : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "naysay-keys-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

std::string zstd(std::string_view text) {
  std::string packed(::ZSTD_compressBound(text.size()), '\0');
  packed.resize(::ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

struct Read {
  std::vector<std::string> keys;
  std::vector<std::uint64_t> lines;
  std::string error;
};

Read read_all(const std::string& path, Separator separator = Separator::newline) {
  Read read;
  auto reader = LineReader::open({path, separator});
  if (!reader) return {{}, {}, reader.error().message};
  for (;;) {
    auto lines = reader->next();
    if (!lines) {
      read.error = lines.error().message;
      return read;
    }
    if (lines->empty()) return read;
    EXPECT_LE(lines->size(), LineReader::kBatch);
    for (const Line& line : *lines) {
      read.keys.emplace_back(line.text);
      read.lines.push_back(line.number);
    }
  }
}

using Texts = std::vector<std::string>;

TEST_F(Keys, AreOneALineWithEveryKindOfLineEnd) {
  const Read r = read_all(write("k", "plain\nwindows\r\n\n\r\n two words \nlone\rreturn\nlast"));
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.keys, (Texts{"plain", "windows", " two words ", "lone\rreturn", "last"}));
  EXPECT_EQ(r.lines, (std::vector<std::uint64_t>{1, 2, 5, 6, 7}));
}

TEST_F(Keys, SeparatedByNulAreTakenByteForByte) {
  using namespace std::string_literals;
  const Read r = read_all(write("k", "a\nb\0\0c\r\0last"s), Separator::nul);
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.keys, (Texts{"a\nb", "c\r", "last"}));
}

TEST_F(Keys, OfAnEmptyFileAreNone) {
  for (const char* bytes : {"", "\n", "\r\n\n\n"}) {
    const Read r = read_all(write("k", bytes));
    EXPECT_EQ(r.error, "");
    EXPECT_TRUE(r.keys.empty());
  }
}

TEST_F(Keys, MayBeVeryLongAndLieAcrossEveryBufferBoundary) {
  Texts keys;
  for (std::size_t length : {1u, 262'143u, 262'144u, 262'145u, 7u, 131'072u, 5'000'000u, 3u})
    keys.push_back(std::string(length, 'x'));
  std::string text;
  for (const std::string& key : keys) text += key + "\r\n";
  const Read r = read_all(write("k", text));
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.keys, keys);
}

TEST_F(Keys, ComeBackWhateverTheyAre) {
  EXPECT_TRUE(rc::check("lines in, lines out", [&](const std::vector<std::string>& raw, bool nul, bool crlf,
                                                   bool last_end, std::uint8_t packing) {
    Texts keys;
    for (std::string key : raw) {
      if (!nul) std::erase_if(key, [](char c) { return c == '\n' || c == '\r'; });
      std::erase(key, '\0');
      if (!key.empty()) keys.push_back(key);
    }
    std::string text;
    const std::string end = nul ? std::string(1, '\0') : crlf ? "\r\n" : "\n";
    for (std::size_t i = 0; i < keys.size(); ++i) text += keys[i] + (i + 1 < keys.size() || last_end ? end : "");
    const std::string packed = packing % 3 == 0 ? text : packing % 3 == 1 ? gzip(text) : zstd(text);
    const Read r = read_all(write("k", packed), nul ? Separator::nul : Separator::newline);
    RC_ASSERT(r.error == "");
    RC_ASSERT(r.keys == keys);
  }));
}

std::string numbered(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += "key number " + std::to_string(i) + "\n";
  return text;
}

TEST_F(Keys, OfPackedFilesOpenDirectlyWhateverTheirName) {
  const std::string text = numbered(0, 100'000);
  const Read plain = read_all(write("plain", text));
  ASSERT_EQ(plain.keys.size(), 100'000u);
  EXPECT_EQ(read_all(write("a.txt", gzip(text))).keys, plain.keys);
  EXPECT_EQ(read_all(write("b.txt", zstd(text))).keys, plain.keys);
}

TEST_F(Keys, OfSeveralMembersOrFramesAreReadToTheEnd) {
  const std::string first = numbered(0, 1000), second = numbered(1000, 2000);
  const Texts all = read_all(write("plain", first + second)).keys;
  EXPECT_EQ(read_all(write("two.gz", gzip(first) + gzip(second))).keys, all);
  EXPECT_EQ(read_all(write("two.zst", zstd(first) + zstd(second))).keys, all);
}

TEST_F(Keys, OfCutOrDamagedPackedFilesAreRefusedWithTheName) {
  const std::string text = numbered(0, 20'000), gz = gzip(text), zst = zstd(text);
  EXPECT_TRUE(says(read_all(write("c.gz", gz.substr(0, gz.size() / 2))).error, {path("c.gz"), "gzip", "cut off"}));
  EXPECT_TRUE(says(read_all(write("c.zst", zst.substr(0, zst.size() / 2))).error, {path("c.zst"), "zstd", "cut off"}));
  for (std::size_t cut : {2u, 3u, 10u, 17u}) EXPECT_NE(read_all(write("c.gz", gz.substr(0, cut))).error, "") << cut;
  for (std::size_t cut : {4u, 5u, 6u, 17u}) EXPECT_NE(read_all(write("c.zst", zst.substr(0, cut))).error, "") << cut;
  std::string bad = gz;
  bad[gz.size() / 2] = static_cast<char>(bad[gz.size() / 2] ^ 0x55);
  EXPECT_TRUE(says(read_all(write("d.gz", bad)).error, {path("d.gz"), "damaged", "gzip"}));
  bad = zst;
  bad[4] = '\x7f';
  EXPECT_TRUE(says(read_all(write("d.zst", bad)).error, {path("d.zst"), "damaged", "zstd"}));
  EXPECT_TRUE(says(read_all(write("e.gz", gz + "garbage")).error, {path("e.gz"), "damaged", "gzip"}));
}

TEST_F(Keys, ComeThroughPipesByteByByteFromAnotherThread) {
  const std::string text = numbered(0, 50), packed[] = {text, gzip(text), zstd(text)};
  for (const std::string& bytes : packed) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::thread writer([&] {
      for (char byte : bytes) ASSERT_EQ(::write(ends[1], &byte, 1), 1);
      ::close(ends[1]);
    });
    const Read r = read_all("/dev/fd/" + std::to_string(ends[0]));
    writer.join();
    ::close(ends[0]);
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(r.keys, read_all(write("plain", text)).keys);
  }
}

TEST_F(Keys, OfAMissingFileOrADirectoryAreRefusedWithTheName) {
  EXPECT_TRUE(says(read_all(path("missing")).error, {path("missing"), "No such file or directory"}));
  EXPECT_TRUE(says(read_all(path(".")).error, {path("."), "directory", "standard input"}));
}

TEST_F(Keys, AreDigestedInTheirOrderDuplicatesIncluded) {
  const Hasher plain{.seed = 9}, keyed{HashId::siphash, 0, {1, 2}};
  for (const Hasher& hasher : {plain, keyed}) {
    std::uint64_t told = 0;
    const auto keys =
        read_keys({write("k", "a\nb\na\n")}, hasher, [&](std::string_view, std::uint64_t done, std::uint64_t total) {
          ++told;
          EXPECT_LE(done, total);
        });
    ASSERT_TRUE(keys) << keys.error().message;
    ASSERT_EQ(keys->size(), 3u);
    EXPECT_EQ((*keys)[0], hasher("a"));
    EXPECT_EQ((*keys)[1], hasher("b"));
    EXPECT_EQ((*keys)[2], hasher("a"));
    EXPECT_GT(told, 0u);
  }
}

TEST_F(Keys, OfNegativesHaveCostsAndAMissingCostIsOne) {
  const auto n = read_negatives({write("n", "a\t2.5\nb\nc\t\r\nd\t0\r\ne\t1e-60\nf\t-0\ng\t3.4e38\n")}, {});
  ASSERT_TRUE(n) << n.error().message;
  const std::vector<float> costs(n->costs.begin(), n->costs.end());
  EXPECT_EQ(costs, (std::vector<float>{2.5f, 1, 1, 0, 0, 0, 3.4e38f}));
  EXPECT_FALSE(std::signbit(costs[5]));
  EXPECT_EQ(n->digests[2], digest("c"));
  EXPECT_EQ(n->digests[6], digest("g"));
}

TEST_F(Keys, WithBadCostsAreRefusedWithFileAndLine) {
  const struct {
    std::string line;
    std::vector<std::string_view> words;
  } cases[] = {{"k\t-1", {"cost", "'-1'", "0"}},
               {"k\tnan", {"cost", "'nan'", "0"}},
               {"k\t-nan", {"cost", "'-nan'", "0"}},
               {"k\tcheap", {"cost", "'cheap'", "0"}},
               {"k\t1,5", {"cost", "'1,5'", "0"}},
               {"k\t1 ", {"cost", "'1 '", "0"}},
               {"k\t0x10", {"cost", "'0x10'", "0"}},
               {"k\tinf", {"cost", "'inf'", "1e-300", "3.4e38"}},
               {"k\t1e39", {"cost", "'1e39'", "1e-300", "3.4e38"}},
               {"k\t1e999", {"cost", "'1e999'", "1e-300", "3.4e38"}},
               {"k\t1e-999", {"cost", "'1e-999'", "1e-300", "3.4e38"}},
               {"k\t1\t2", {"two tabs", "key<TAB>cost"}},
               {"\t5", {"key", "empty", "key<TAB>cost"}}};
  for (const auto& c : cases) {
    const auto n = read_negatives({write("n", "good\t1\n\n" + c.line + "\nlater\tbad\n")}, {});
    EXPECT_TRUE(sample::refused(n, Errc::invalid_argument, c.words)) << c.line;
    EXPECT_TRUE(sample::refused(n, Errc::invalid_argument, {path("n") + ":3:"})) << c.line;
  }
}

TEST(GrowingArray, KeepsEveryElementAndMoves) {
  GrowingArray<std::uint64_t> a;
  EXPECT_TRUE(a.empty());
  for (std::uint64_t i = 0; i < 1'000'000; ++i) ASSERT_TRUE(a.push(i * i));
  ASSERT_EQ(a.size(), 1'000'000u);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) ASSERT_EQ(a[i], i * i);
  GrowingArray<std::uint64_t> b = std::move(a);
  EXPECT_EQ(b.size(), 1'000'000u);
  b = {};
  EXPECT_EQ(b.size(), 0u);
  EXPECT_TRUE(b.push(3));
  EXPECT_EQ(std::span<const std::uint64_t>(b)[0], 3u);
}

}  // namespace
}  // namespace naysay
