// SPDX-License-Identifier: Apache-2.0
// Pieces: many threads read what one thread reads line by line, with the same order, line numbers and errors.
#include "naysay/workload/pieces.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "naysay/workload/keys.hpp"
#include "naysay/workload/texts.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

class PiecesThread : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "naysay-pieces-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  KeyFile write(std::string_view name, std::string_view bytes, Separator separator = Separator::newline) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return {path(name), separator};
  }

 private:
  std::filesystem::path folder_;
};

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
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

// One frame for each `every` bytes, wherever that cuts a line.
std::string zstd(std::string_view text, std::size_t every) {
  std::string all;
  do {
    const std::string_view part = text.substr(0, every);
    std::string packed(::ZSTD_compressBound(part.size()), '\0');
    packed.resize(::ZSTD_compress(packed.data(), packed.size(), part.data(), part.size(), 1));
    all += packed;
    text.remove_prefix(part.size());
  } while (!text.empty());
  return all;
}

// Lines of random lengths, with blank ones, "\r\n" and a cost behind some.
std::string costed_lines(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text;
  for (std::uint64_t i = 0; text.size() < bytes; ++i) {
    const std::uint64_t dice = random() % 64;
    if (dice == 0) text += "\n";
    if (dice == 1) text += "\r\n";
    text += "key" + std::to_string(i % 1000 == 7 ? 5 : i) + std::string(random() % 60, 'x');
    if (dice == 2) text += std::string(random() % 2000, 'y');
    if (dice % 3 == 0) text += "\t" + std::to_string(random() % 100'000);
    if (dice % 3 == 1) text += "\t0." + std::to_string(random() % 1000) + "e-" + std::to_string(random() % 9);
    text += dice % 2 ? "\n" : "\r\n";
  }
  return text;
}

// What one thread makes of it, line by line.
struct LineByLine {
  std::vector<Digest> digests;
  std::vector<float> costs;
  std::vector<std::string> keys;
  LineTally tally;
  std::string error;
};
LineByLine line_by_line(std::span<const KeyFile> files, bool costed, const Hasher& hasher) {
  LineByLine all;
  for (const KeyFile& file : files) {
    auto ok = for_each_line(file, {}, [&](const Line& line) -> Result<Ok> {
      all.tally.see(line.text);
      CostedKey key{line.text, 1};
      if (costed) {
        NAYSAY_TRY(key, parse_negative(line.text));
      }
      all.digests.push_back(hasher(key.key));
      all.costs.push_back(key.cost);
      all.keys.emplace_back(key.key);
      return Ok{};
    });
    if (!ok) {
      all.error = ok.error().message;
      return all;
    }
  }
  return all;
}

void expect_same(const LineTally& a, const LineTally& b) {
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.tabs, b.tabs);
  EXPECT_EQ(a.tab_costs, b.tab_costs);
  EXPECT_EQ(a.other_costs, b.other_costs);
}

// Keys, negatives and texts by 1, 2 and 7 threads.
void expect_as_line_by_line(const std::vector<KeyFile>& files, const Hasher& hasher = {.seed = 3}) {
  const LineByLine keys = line_by_line(files, false, hasher), negatives = line_by_line(files, true, hasher);
  ASSERT_EQ(keys.error, "");
  ASSERT_EQ(negatives.error, "");
  for (const unsigned threads : {1u, 2u, 7u})
    for (const std::uint64_t ahead : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
      const ReadingOptions options{.threads = threads, .ahead_bytes = ahead};
      LineTally tally;
      const auto read = read_keys(files, hasher, options, &tally);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_TRUE(std::equal(read->begin(), read->end(), keys.digests.begin(), keys.digests.end())) << threads;
      expect_same(tally, keys.tally);
      tally = {};
      const auto costed = read_negatives(files, hasher, options, &tally);
      ASSERT_TRUE(costed) << costed.error().message;
      EXPECT_TRUE(std::equal(costed->digests.begin(), costed->digests.end(), negatives.digests.begin(),
                             negatives.digests.end()));
      EXPECT_TRUE(
          std::equal(costed->costs.begin(), costed->costs.end(), negatives.costs.begin(), negatives.costs.end()));
      expect_same(tally, negatives.tally);
      const auto texts = read_texts(files, Lines::costed_keys, hasher, options);
      ASSERT_TRUE(texts) << texts.error().message;
      const auto views = texts->texts.views();
      EXPECT_TRUE(std::equal(views.begin(), views.end(), negatives.keys.begin(), negatives.keys.end()));
    }
}

TEST_F(PiecesThread, GiveWhatLineByLineGives) {
  for (const std::size_t bytes : {0u, 1u, 63u, 262'144u, 262'145u, 900'000u})
    expect_as_line_by_line({write("k", costed_lines(bytes, bytes))});
  const std::string text = costed_lines(600'000, 5);
  expect_as_line_by_line({write("k", text.substr(0, text.size() - 3))});  // the last line without its end
  expect_as_line_by_line({write("k", text)}, {.id = HashId::siphash, .secret = {1, 2}});
}

TEST_F(PiecesThread, FindLinesAcrossEveryKindOfCut) {
  constexpr std::size_t kCut = 262'144;
  for (const std::size_t before : {kCut - 2, kCut - 1, kCut, kCut + 1, 2 * kCut, 3 * kCut + 5})
    for (const std::string end : {"\n", "\r\n\r\n"})
      expect_as_line_by_line({write("k", std::string(before, 'x') + end + "second" + end + "third")});
}

TEST_F(PiecesThread, TakeEveryByteBetweenNulBytes) {
  std::string text = costed_lines(1'000'000, 6);
  for (char& c : text)
    if (c == 'x') c = '\0';
  const KeyFile file = write("k", text, Separator::nul);
  const LineByLine one = line_by_line({&file, 1}, false, {});
  for (const unsigned threads : {1u, 4u}) {
    const auto keys = read_keys({&file, 1}, {}, {.threads = threads});
    ASSERT_TRUE(keys);
    EXPECT_TRUE(std::equal(keys->begin(), keys->end(), one.digests.begin(), one.digests.end()));
  }
}

TEST_F(PiecesThread, OfSeveralFilesComeInTheOrderOfTheFiles) {
  std::vector<KeyFile> files;
  for (std::uint64_t i = 0; i < 18; ++i) {
    const std::string text = costed_lines(i % 7 == 0 ? 0 : 40'000 * (i % 5) + i, i);
    const std::string name = std::to_string(i);
    files.push_back(write(name, i % 3 == 0 ? text : i % 3 == 1 ? gzip(text) : zstd(text, 997 + 30'000 * (i % 4))));
  }
  expect_as_line_by_line(files);
}

TEST_F(PiecesThread, OfPackedFilesAreThoseOfTheText) {
  const std::string text = costed_lines(800'000, 7);
  expect_as_line_by_line({write("gz", gzip(text.substr(0, 300'000)) + gzip(text.substr(300'000)))});
  for (const std::size_t every : {100u, 100'000u, 800'000u})
    expect_as_line_by_line({write("zst", zstd(every == 100 ? text.substr(0, 50'000) : text, every))});
}

TEST_F(PiecesThread, OfManyZstdFramesAreRefusedWhereTheyAreDamagedOrCutOff) {
  const std::string text = costed_lines(1'000'000, 8), packed = zstd(text, 50'000);
  const std::size_t frame = zstd(text.substr(0, 500'000), 50'000).size();  // where one in the middle begins
  std::string bad = packed;
  bad[frame + 4] = '\x7f';
  const KeyFile damaged = write("bad", bad), cut = write("cut", packed.substr(0, packed.size() - 9));
  for (const unsigned threads : {1u, 4u}) {
    EXPECT_TRUE(sample::refused(read_keys({&damaged, 1}, {}, {.threads = threads}), Errc::corrupt,
                                {damaged.path, "damaged", "zstd"}));
    EXPECT_TRUE(
        sample::refused(read_keys({&cut, 1}, {}, {.threads = threads}), Errc::corrupt, {cut.path, "zstd", "cut off"}));
  }
}

TEST_F(PiecesThread, NameTheFirstBadLineOfTheFirstBadFile) {
  const std::string good = costed_lines(900'000, 9);
  const std::string bad = good + "\nworse\tcheap\n" + good + "later\t-1\n" + good;
  const std::vector<KeyFile> files = {
      write("good", good), write("bad", bad), write("worse", "k\tnan\n"), {path("none")}};
  const std::string expected = line_by_line(files, true, {}).error;
  ASSERT_TRUE(sample::says(expected, {path("bad") + ":", "cheap"}));
  for (const bool packed : {false, true}) {
    if (packed) write("bad", gzip(bad));
    for (const unsigned threads : {1u, 2u, 8u}) {
      const auto read = read_negatives(files, {}, {.threads = threads, .ahead_bytes = 1 << 30});
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().message, expected) << threads;
    }
  }
}

TEST_F(PiecesThread, OfAMissingFileAreRefusedInItsTurn) {
  const std::vector<KeyFile> files = {write("good", costed_lines(700'000, 1)), {path("none")}};
  for (const unsigned threads : {1u, 4u})
    EXPECT_TRUE(sample::refused(read_keys(files, {}, {.threads = threads}), Errc::io, {path("none"), "No such file"}));
}

TEST_F(PiecesThread, ComeThroughAPipeHoweverItIsWritten) {
  const std::string text = costed_lines(400'000, 10);
  const KeyFile plain = write("k", text);
  const LineByLine expected = line_by_line({&plain, 1}, false, {});
  for (const std::string& bytes : {text, gzip(text), zstd(text, 70'000)})
    for (const unsigned threads : {1u, 4u})
      for (const std::size_t step : {std::size_t{997}, std::size_t{1} << 20}) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        std::thread writer([&] {
          for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t n = ::write(ends[1], bytes.data() + at, std::min(step, bytes.size() - at));
            ASSERT_GT(n, 0);
            at += static_cast<std::size_t>(n);
          }
          ::close(ends[1]);
        });
        const KeyFile file{"/dev/fd/" + std::to_string(ends[0])};
        const auto keys = read_keys({&file, 1}, {}, {.threads = threads});
        writer.join();
        ::close(ends[0]);
        ASSERT_TRUE(keys) << keys.error().message;
        EXPECT_TRUE(std::equal(keys->begin(), keys->end(), expected.digests.begin(), expected.digests.end()));
      }
}

TEST_F(PiecesThread, AnswerALineOfAPipeBeforeTheNextIsWritten) {
  int to[2];
  ASSERT_EQ(::pipe(to), 0);
  const KeyFile file{"/dev/fd/" + std::to_string(to[0])};
  struct Count {
    std::uint64_t lines = 0;
    void clear() { lines = 0; }
    std::uint64_t bytes() const { return 0; }
  };
  // Each line is written only after the one before it was taken: whoever waits for more never ends.
  constexpr int kLines = 5;
  int taken = 0;
  ASSERT_EQ(::write(to[1], "line\n", 5), 5);
  const auto work = [](PieceLines& lines, Count& out) -> std::optional<LineFault> {
    lines.for_each([&](std::string_view, std::uint64_t) { return ++out.lines > 0; });
    return {};
  };
  ASSERT_TRUE(for_each_piece<Count>({&file, 1}, {.threads = 3}, work, [&](Count& out, const PiecePlace&) -> Result<Ok> {
    for (; out.lines > 0; --out.lines) {
      if (++taken < kLines)
        EXPECT_EQ(::write(to[1], "line\n", 5), 5);
      else
        ::close(to[1]);
    }
    return Ok{};
  }));
  EXPECT_EQ(taken, kLines);
  ::close(to[0]);
}

TEST_F(PiecesThread, LeaveOutAByteOrderMarkAndRefuseUtf16) {
  const std::string mark = "\xef\xbb\xbf", text = costed_lines(300'000, 11);
  expect_as_line_by_line({write("a", mark + text), write("b", mark), write("c", mark + "\n" + mark + "x\n")});
  for (const std::string& bytes : {std::string("\xff\xfe") + text, std::string("\xfe\xff")}) {
    const KeyFile file = write("u", bytes);
    EXPECT_TRUE(sample::refused(read_keys({&file, 1}, {}, {.threads = 4}), Errc::unsupported, {file.path, "UTF-16"}));
  }
}

// What a thread makes of a piece: its lines, which must stay until take() and what that left are done with them.
struct Kept {
  std::vector<std::string> lines;
  void clear() { lines.clear(); }
  std::uint64_t bytes() const { return lines.size(); }
};

TEST_F(PiecesThread, LeaveWorkToAnyThreadAndEndAfterTheLastOfIt) {
  const KeyFile file = write("lines", costed_lines(3'000'000, 5));
  for (unsigned threads : {1u, 2u, 5u}) {
    std::vector<std::string> expected, got;
    const auto work = [](PieceLines& lines, Kept& out) -> std::optional<LineFault> {
      lines.for_each([&](std::string_view line, std::uint64_t) {
        out.lines.emplace_back(line);
        return true;
      });
      return {};
    };
    const auto now = [&](const Kept& kept, const PiecePlace&) -> Result<Ok> {
      expected.insert(expected.end(), kept.lines.begin(), kept.lines.end());
      return Ok{};
    };
    ASSERT_TRUE(for_each_piece<Kept>({&file, 1}, {}, work, now));
    got.resize(expected.size());
    std::size_t at = 0;
    const auto later = [&](const Kept& kept, const PiecePlace&) -> Result<Later> {
      const std::size_t first = std::exchange(at, at + kept.lines.size());
      return Later([&got, &lines = kept.lines, first] {
        std::this_thread::yield();
        std::copy(lines.begin(), lines.end(), got.begin() + static_cast<std::ptrdiff_t>(first));
      });
    };
    ASSERT_TRUE(for_each_piece<Kept>({&file, 1}, {.threads = threads}, work, later));
    EXPECT_EQ(got, expected) << threads << " threads";
  }
}

TEST_F(PiecesThread, MayWaitInTakeForAllThatTakeLeft) {
  // The last line has no separator, so it is taken after the piece before it by the same thread.
  std::string text = costed_lines(1'000'000, 6);
  while (text.ends_with('\n')) text.pop_back();
  const KeyFile file = write("lines", text);
  for (unsigned threads : {1u, 3u}) {
    Negatives all;
    NegativesAppend append(all);
    const PlaceNegatives take = [&](std::span<const Digest> digests, std::span<const float> costs) {
      append.wait();
      return append(digests, costs);
    };
    ASSERT_TRUE(for_each_negative({&file, 1}, Hasher{}, {.threads = threads}, take));
    const auto expected = read_negatives(file, Hasher{});
    ASSERT_TRUE(expected);
    EXPECT_TRUE(std::ranges::equal(all.digests, expected->digests)) << threads << " threads";
    EXPECT_TRUE(std::ranges::equal(all.costs, expected->costs)) << threads << " threads";
  }
}

TEST_F(PiecesThread, EndWhenProgressCancels) {
  const std::vector<KeyFile> files = {write("a", costed_lines(1'500'000, 12)), write("b", costed_lines(900'000, 12))};
  for (const unsigned threads : {1u, 4u}) {
    std::uint64_t calls = 0;
    const Progress progress = [&](std::string_view stage, std::uint64_t done, std::uint64_t total) {
      EXPECT_TRUE(sample::says(std::string(stage), {"reading", path("a")}));
      EXPECT_LE(done, total);
      return ++calls < 3;
    };
    EXPECT_TRUE(sample::refused(read_keys(files, {}, {.threads = threads, .progress = progress}), Errc::cancelled,
                                {path("a"), "cancelled"}));
    EXPECT_EQ(calls, 3u);
  }
}

TEST_F(PiecesThread, EndWhenWorkOrTakeThrows) {
  struct Nothing {
    void clear() {}
    std::uint64_t bytes() const { return 0; }
  };
  const KeyFile file = write("k", costed_lines(1'500'000, 13));
  const auto work = [](PieceLines& lines, Nothing&) -> std::optional<LineFault> {
    lines.for_each([](std::string_view, std::uint64_t) { return true; });
    return {};
  };
  const auto throws = [](PieceLines& lines, Nothing&) -> std::optional<LineFault> {
    if (lines.text().size() > 10'000) throw std::bad_alloc();
    return {};
  };
  const auto take = [](Nothing&, const PiecePlace&) -> Result<Ok> { return Ok{}; };
  const auto take_throws = [](Nothing&, const PiecePlace& place) -> Result<Ok> {
    if (place.lines_before > 5000) throw std::bad_alloc();
    return Ok{};
  };
  for (const unsigned threads : {1u, 4u}) {
    EXPECT_THROW((void)for_each_piece<Nothing>({&file, 1}, {.threads = threads}, throws, take), std::bad_alloc);
    EXPECT_THROW((void)for_each_piece<Nothing>({&file, 1}, {.threads = threads}, work, take_throws), std::bad_alloc);
  }
}

}  // namespace
}  // namespace naysay
