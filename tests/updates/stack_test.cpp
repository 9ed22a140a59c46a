// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/stack.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <tuple>

#include "naysay/naysay.hpp"
#include "sample.hpp"
#include "updates/keys.hpp"

namespace naysay {
namespace {

using sample::must;
using sample::numbers;

constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
constexpr std::int64_t kNow = 1'800'000'000;

using Bytes = std::vector<std::byte>;

HeldBytes held(const Bytes& bytes) { return HeldBytes::copy_of(bytes); }

// A list of 4,000 keys that loses and gains some with every update, and the deltas of it.
class Updates : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "naysay-updates-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    negatives_ = numbers(kFar, 20'000);
    base_ = must(AnyFilter::build("taught-ribbon", {.keys = keys(0), .negatives = negatives_}, {{"bits_per_key", 10}}))
                .to_bytes();
    write("key.pem", sample::kPrivateKey);
    write("key.pub", sample::kPublicKey);
    write("other.pem", sample::kOtherPrivateKey);
    write("other.pub", sample::kOtherPublicKey);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void write(const std::string& name, const Bytes& bytes) const {
    write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  // Update u: the first 40 u keys are gone, 60 u are new, of which some are old known negatives.
  std::vector<Digest> keys(std::uint64_t update) const {
    auto out = numbers(40 * update, 4'000 - 40 * update);
    const auto fresh = numbers(100'000, 59 * update), turned = numbers(kFar, update);
    out.insert(out.end(), fresh.begin(), fresh.end());
    out.insert(out.end(), turned.begin(), turned.end());
    return out;
  }
  std::vector<Digest> dropped(std::uint64_t update) const { return numbers(0, 40 * update); }

  DeltaTask task(std::uint64_t update) {
    keys_ = keys(update);
    dropped_ = dropped(update);
    return {
        .keys = keys_, .negatives = negatives_, .dropped = dropped_, .list = 7, .created = kNow, .expires = kNow + 100};
  }
  Stack base() const { return must(Stack::of(held(base_))); }
  // The deltas 1 to n; the stack after all of them.
  std::vector<Bytes> chain(std::uint64_t n) {
    Stack stack = base();
    std::vector<Bytes> out;
    for (std::uint64_t u = 1; u <= n; ++u) {
      out.push_back(must(make_delta(stack, task(u))));
      must(stack.push(held(out.back())));
    }
    return out;
  }
  void expect_right(const Stack& stack, std::uint64_t update, bool ghosts = false) const {
    const auto live = keys(update);
    std::uint64_t denied = 0, accepted = 0;
    for (const Digest& d : live) denied += !stack.may_contain(d);
    const auto not_live = [&](const std::vector<Digest>& some) {
      for (const Digest& d : some)
        accepted += stack.may_contain(d) && std::find(live.begin(), live.end(), d) == live.end();
    };
    not_live(negatives_);
    if (!ghosts) not_live(dropped(update));
    EXPECT_EQ(denied, 0u);
    EXPECT_EQ(accepted, 0u);
  }

  std::vector<Digest> negatives_, keys_, dropped_;
  Bytes base_;

 private:
  std::filesystem::path folder_;
};

TEST_F(Updates, AnswerEveryKeyKnownNegativeAndDroppedKeyRightAfterEachOfAChain) {
  Stack stack = base();
  std::uint64_t bytes = 0;
  for (std::uint64_t u = 1; u <= 8; ++u) {
    const Bytes delta = must(make_delta(stack, task(u)));
    bytes += delta.size();
    must(stack.push(held(delta), {.now = kNow}));
    expect_right(stack, u);
    EXPECT_EQ(stack.sequence(), u);
    EXPECT_EQ(stack.keys(), keys(u).size());
  }
  EXPECT_LT(static_cast<double>(bytes) / 8, 0.15 * static_cast<double>(base_.size()));
  EXPECT_EQ(stack.update_bytes(), bytes);
}

TEST_F(Updates, AnswerInBatchesAsOneByOne) {
  const auto deltas = chain(3);
  Stack stack = base();
  for (const Bytes& d : deltas) must(stack.push(held(d)));
  auto all = keys(3);
  for (const auto& more : {dropped(3), negatives_, numbers(2 * kFar, 50'000)})
    all.insert(all.end(), more.begin(), more.end());
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{257}, all.size()}) {
    std::vector<std::uint8_t> answers(n + 1, 9);
    stack.may_contain(std::span<const Digest>(all).first(n), answers.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(answers[i] != 0, stack.may_contain(all[i])) << i << " of " << n;
    EXPECT_EQ(answers[n], 9);
  }
  std::uint64_t strangers = 0;
  for (const Digest& d : numbers(3 * kFar, 100'000)) strangers += stack.may_contain(d);
  const double expected = stack.expected_fpr() * 100'000;
  EXPECT_NEAR(static_cast<double>(strangers), expected, 5 * std::sqrt(expected) + 0.05 * expected);
}

TEST_F(Updates, OfFewKeysAreSortedDigestsAndOfManyAFilter) {
  const auto all = keys(0);
  Stack stack = base();
  DeltaTask t{.keys = all, .negatives = negatives_};
  auto some = all;
  for (const Digest& d : numbers(100'000, 20)) some.push_back(d);
  t.keys = some;
  must(stack.push(held(must(make_delta(stack, t)))));
  EXPECT_FALSE(stack.updates()[0].add.is_filter());
  EXPECT_LE(stack.updates()[0].delta.add().size(), 20 * 5 + 8u);
  EXPECT_TRUE(stack.updates()[0].drop.empty());
  for (const Digest& d : numbers(200'000, 500)) some.push_back(d);
  t.keys = some;
  must(stack.push(held(must(make_delta(stack, t)))));
  EXPECT_TRUE(stack.updates()[1].add.is_filter());
  for (const Digest& d : some) ASSERT_TRUE(stack.may_contain(d));
}

TEST_F(Updates, OfNothingAreAHeader) {
  const auto all = keys(0);
  const Bytes delta = must(make_delta(base(), {.keys = all, .negatives = negatives_}));
  EXPECT_EQ(delta.size(), 144u);
  Stack stack = base();
  must(stack.push(held(delta)));
  EXPECT_EQ(stack.sequence(), 1u);
}

TEST_F(Updates, WithGhostsRefuseKnownNegativesAndLetDroppedKeysBe) {
  Stack stack = base();
  DeltaTask t = task(4);
  const Bytes full = must(make_delta(stack, t));
  t.ghosts = true;
  const Bytes small = must(make_delta(stack, t));
  EXPECT_LT(small.size(), full.size());
  must(stack.push(held(small)));
  EXPECT_TRUE(stack.updates()[0].delta.facts().ghosts);
  expect_right(stack, 4, true);
  for (const Digest& d : dropped(4)) ASSERT_TRUE(stack.may_contain(d)) << "nothing dropped it";
}

TEST_F(Updates, RolledUpLeadFromTheBaseToTheSameAnswers) {
  const auto deltas = chain(4);
  DeltaTask t = task(4);
  t.rollup = true;
  t.to_sequence = 4;
  const Bytes rollup = must(make_delta(base(), t));
  EXPECT_LT(rollup.size(), deltas[0].size() + deltas[1].size() + deltas[2].size() + deltas[3].size());
  Stack stack = base();
  must(stack.push(held(rollup)));
  EXPECT_EQ(stack.sequence(), 4u);
  expect_right(stack, 4);
  must(stack.push(held(must(make_delta(stack, task(5))))));
  expect_right(stack, 5);
}

// Every order of three deltas, with repetitions and gaps: only 1, 2, 3 is accepted, and a refusal changes nothing.
TEST_F(Updates, AreRefusedInEveryOrderButTheirOwn) {
  const auto deltas = chain(3);
  for (int code = 0; code < 64; ++code) {
    Stack stack = base();
    std::size_t next = 0;
    for (const int i : {code & 3, code >> 2 & 3, code >> 4 & 3}) {
      if (i == 3) continue;
      const StateId before = stack.state();
      const auto pushed = stack.push(held(deltas[static_cast<std::size_t>(i)]));
      const bool fits = static_cast<std::size_t>(i) == next;
      ASSERT_EQ(pushed.has_value(), fits) << code;
      if (!fits) {
        EXPECT_EQ(stack.state(), before);
        EXPECT_EQ(stack.updates().size(), next);
        EXPECT_EQ(pushed.error().code, Errc::invalid_argument) << pushed.error().message;
      }
      next += fits;
    }
  }
  Stack stack = base();
  must(stack.push(held(deltas[0])));
  EXPECT_TRUE(sample::refused(stack.push(held(deltas[2])), Errc::invalid_argument, {"missing"}));
  EXPECT_TRUE(sample::refused(stack.push(held(deltas[0])), Errc::invalid_argument, {"newer"}));
}

TEST_F(Updates, OfAnotherBaseListHashOrPartitionAreRefused) {
  const auto refuses = [&](Stack& stack, const Bytes& delta, const std::vector<std::string_view>& words) {
    const StateId before = stack.state();
    EXPECT_TRUE(sample::refused(stack.push(held(delta)), Errc::invalid_argument, words));
    EXPECT_EQ(stack.state(), before);
  };
  const auto all = keys(0);
  const auto other = must(AnyFilter::build("bloom", {.keys = all}, {{"bits_per_key", 10}})).to_bytes();
  Stack foreign = must(Stack::of(held(other)));
  const auto deltas = chain(1);
  refuses(foreign, deltas[0], {"another", "state"});
  const auto seeded =
      must(AnyFilter::build("bloom", {.keys = all}, {{"bits_per_key", 10}}, {.hasher = {.seed = 5}})).to_bytes();
  Stack hashed = must(Stack::of(held(seeded)));
  refuses(hashed, deltas[0], {"hash", "seed"});
  Stack stack = base();
  must(stack.push(held(deltas[0])));
  for (const auto& [list, partition, word] : {std::tuple{8u, 0u, "list"}, {7u, 1u, "partition"}}) {
    Stack theirs = base();
    DeltaTask t = task(1);
    t.list = list, t.partition = partition;
    must(theirs.push(held(must(make_delta(theirs, t)))));
    t = task(2);
    t.list = list, t.partition = partition;
    refuses(stack, must(make_delta(theirs, t)), {word});
    EXPECT_TRUE(sample::refused(make_delta(stack, t), Errc::invalid_argument, {word}));
  }
}

TEST_F(Updates, ThatExpiredAreRefusedWithTheStateUnchanged) {
  const auto deltas = chain(1);
  Stack stack = base();
  EXPECT_TRUE(sample::refused(stack.push(held(deltas[0]), {.now = kNow + 100}), Errc::invalid_argument, {"expired"}));
  EXPECT_TRUE(stack.updates().empty());
  must(stack.push(held(deltas[0]), {.now = kNow + 99}));
}

TEST_F(Updates, ThatAreForgedAreRefusedWithTheStateUnchanged) {
  const StackChecks checks{.verifier = must(read_verify_key(path("key.pub")))};
  Stack stack = base();
  DeltaTask t = task(1);
  const auto refuses = [&](const Bytes& delta, const std::vector<std::string_view>& words) {
    EXPECT_TRUE(sample::refused(stack.push(held(delta), checks), Errc::corrupt, words));
    EXPECT_TRUE(stack.updates().empty());
  };
  refuses(must(make_delta(stack, t)), {"no", "signature"});
  t.signer = must(read_sign_key(path("other.pem")));
  refuses(must(make_delta(stack, t)), {"another", "key"});
  const std::uint64_t real_id = must(read_sign_key(path("key.pem"))).key;
  t.signer.key = real_id;  // says that it is of the right key
  refuses(must(make_delta(stack, t)), {"signature", "wrong"});
  t.signer = must(read_sign_key(path("key.pem")));
  const Bytes good = must(make_delta(stack, t));
  EXPECT_EQ(good.size() % 8, 0u);
  // Another delta with the signature of this one.
  t.expires += 1;
  Bytes forged = must(make_delta(stack, t));
  ASSERT_EQ(forged.size(), good.size());
  std::copy(good.end() - 80, good.end(), forged.end() - 80);
  refuses(forged, {"signature", "wrong"});
  must(stack.push(held(good), checks));
}

TEST_F(Updates, ThatAreCutOffOrChangedInAnyByteAreRefusedWithTheStateUnchanged) {
  DeltaTask t = task(1);
  t.signer = must(read_sign_key(path("key.pem")));
  const StackChecks checks{.verifier = must(read_verify_key(path("key.pub")))};
  Stack stack = base();
  const Bytes delta = must(make_delta(stack, t));
  const StateId before = stack.state();
  for (std::size_t n = 0; n < delta.size(); n += n < 300 ? 1 : 13) {
    const Bytes cut(delta.begin(), delta.begin() + static_cast<std::ptrdiff_t>(n));  // memory of its own
    ASSERT_FALSE(stack.push(held(cut), checks)) << n;
  }
  for (std::size_t n = 0; n < delta.size(); n += n < 160 ? 1 : 13) {
    Bytes changed = delta;
    changed[n] ^= std::byte{1};
    ASSERT_FALSE(stack.push(held(changed), checks)) << n;
  }
  Bytes longer = delta;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(stack.push(held(longer), checks));
  EXPECT_EQ(stack.state(), before);
  EXPECT_TRUE(stack.updates().empty());
  must(stack.push(held(delta), checks));
}

TEST_F(Updates, WithAWrongSelfTestAreRefused) {
  const auto deltas = chain(1);
  Bytes wrong = deltas[0];
  wrong[128] ^= std::byte{1};  // the self-test; the checksum after it is mended
  std::array<std::byte, 144> header;
  std::memcpy(header.data(), wrong.data(), header.size());
  std::memset(header.data() + 136, 0, 8);
  const std::uint64_t sum = checksum(std::span<const std::byte>(wrong).subspan(144), checksum(header));
  std::memcpy(wrong.data() + 136, &sum, sizeof sum);
  Stack stack = base();
  EXPECT_TRUE(sample::refused(stack.push(held(wrong)), Errc::corrupt, {"self", "test"}));
  EXPECT_TRUE(stack.updates().empty());
  must(stack.push(held(wrong), {.self_test = false}));
}

TEST_F(Updates, OpenFromFilesAndAsOneFileToMap) {
  const auto deltas = chain(2);
  write("base.nsy", base_);
  write("d1.nsd", deltas[0]);
  write("d2.nsd", deltas[1]);
  const std::vector<std::string> both = {path("d1.nsd"), path("d2.nsd")};
  const Stack stack = must(Stack::open(path("base.nsy"), both));
  expect_right(stack, 2);
  must(stack.save(path("list.nst")));
  EXPECT_TRUE(is_stack_file(path("list.nst")));
  EXPECT_FALSE(is_stack_file(path("base.nsy")));
  const Stack again = must(open_stack(path("list.nst")));
  expect_right(again, 2);
  EXPECT_EQ(again.state(), stack.state());
  EXPECT_EQ(again.sequence(), 2u);
  // Its deltas have expired by the clock of this machine's future or not: opening with a time in it says so.
  EXPECT_TRUE(sample::refused(Stack::open(path("base.nsy"), both, {.now = kNow + 100}), Errc::invalid_argument,
                              {"d1.nsd", "expired"}));
  const auto wrong_order = naysay::open(path("base.nsy"), path("d2.nsd"), path("d1.nsd"));
  ASSERT_FALSE(wrong_order);
  EXPECT_TRUE(sample::says(wrong_order.error().message, {"d2.nsd"}));
}

TEST_F(Updates, OfADamagedStackFileAreRefused) {
  const auto deltas = chain(2);
  Stack stack = base();
  for (const Bytes& d : deltas) must(stack.push(held(d)));
  must(stack.save(path("list.nst")));
  std::ifstream in(path("list.nst"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t n = 0; n < whole.size(); n += n < 200 ? 1 : 101) {
    write("cut.nst", std::string_view(whole).substr(0, n));
    ASSERT_FALSE(open_stack(path("cut.nst"))) << n;
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ 1);
    write("changed.nst", changed);
    const auto opened = open_stack(path("changed.nst"));
    if (opened) ASSERT_EQ(opened->self_test(), stack.self_test()) << n << " is in padding";
  }
}

TEST_F(Updates, OfPartitionsHaveEachTheirOwnBaseChainAndRate) {
  const auto few = numbers(500'000, 300);
  const auto other = must(AnyFilter::build("bloom", {.keys = few}, {{"bits_per_key", 20}})).to_bytes();
  std::vector<Partition> both;
  both.push_back({2, base()});
  both.push_back({9, must(Stack::of(held(other), 40))});
  DeltaTask t = task(1);
  t.partition = 2;
  must(both[0].stack.push(held(must(make_delta(both[0].stack, t)))));
  const Bytes file = must(bytes_of_partitions(both));
  write("list.nst", file);
  const auto opened = must(open_partitions(path("list.nst")));
  ASSERT_EQ(opened.size(), 2u);
  EXPECT_EQ(opened[0].number, 2u);
  expect_right(opened[0].stack, 1);
  EXPECT_EQ(opened[1].number, 9u);
  EXPECT_EQ(opened[1].stack.sequence(), 40u);
  for (const Digest& d : few) ASSERT_TRUE(opened[1].stack.may_contain(d));
  EXPECT_TRUE(sample::refused(open_stack(path("list.nst")), Errc::invalid_argument, {"2", "partitions"}));
}

TEST_F(Updates, WorkForTextIntegersAndSecretHashes) {
  const std::vector<std::string> words = {"apple", "pear", "plum"};
  const Hasher secret{.id = HashId::siphash, .secret = {1, 2}};
  const auto f = must(naysay::build("taught-ribbon", words, std::vector<std::string>{"fig"}, {{"bits_per_key", 12}},
                                    {.hasher = secret}));
  Stack stack = must(Stack::of(held(f.to_bytes())));
  std::vector<Digest> now, gone = {secret("pear")};
  for (const char* word : {"apple", "plum", "quince"}) now.push_back(secret(std::string_view(word)));
  must(stack.push(held(must(make_delta(stack, {.keys = now, .dropped = gone})))));
  EXPECT_TRUE(stack.may_contain("quince") && stack.may_contain("apple") && stack.may_contain("plum"));
  EXPECT_FALSE(stack.may_contain("pear"));
  must(stack.save(path("secret.nst")));
  const auto access = [&] { return std::filesystem::status(path("secret.nst")).permissions(); };
  EXPECT_EQ(access(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::permissions(path("secret.nst"), std::filesystem::perms{0640});
  must(stack.save(path("secret.nst")));
  EXPECT_EQ(access(), std::filesystem::perms{0640}) << "the owner gave the group access";
  const std::vector<std::string> asked = {"quince", "pear"};
  std::vector<bool> answers(2);
  stack.may_contain(asked, answers);
  EXPECT_TRUE(answers[0] && !answers[1]);
}

TEST_F(Updates, SayWhatIsWrongWithATaskOrAKey) {
  DeltaTask t = task(1);
  t.add_rate = 1;
  EXPECT_TRUE(sample::refused(make_delta(base(), t), Errc::invalid_argument, {"add_rate"}));
  Stack stack = base();
  must(stack.push(held(must(make_delta(stack, task(1))))));
  t = task(2);
  t.to_sequence = 1;
  EXPECT_TRUE(sample::refused(make_delta(stack, t), Errc::invalid_argument, {"to_sequence"}));
  EXPECT_TRUE(sample::refused(read_sign_key(path("key.pub")), Errc::corrupt, {"private", "Ed25519"}));
  EXPECT_TRUE(sample::refused(read_verify_key(path("key.pem")), Errc::corrupt, {"public", "Ed25519"}));
  EXPECT_TRUE(sample::refused(read_verify_key(path("none")), Errc::io, {"none"}));
}

TEST_F(Updates, AnswerAboutIntegersAsTheirBaseDoes) {
  std::vector<std::uint64_t> some(2'000);
  for (std::uint64_t i = 0; i < some.size(); ++i) some[i] = 3 * i;
  const AnyFilter f = must(naysay::build("bloom", some, std::vector<std::uint64_t>{}, {{"bits_per_key", 8}}));
  const Stack stack = must(Stack::of(held(f.to_bytes())));
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(stack.may_contain(i), f.may_contain(i)) << i;
}

}  // namespace
}  // namespace naysay
