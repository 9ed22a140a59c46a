// SPDX-License-Identifier: Apache-2.0
// The C API from C99: what naysay.h promises, and conformance of every registered filter through it.
//
//   c_api_test            all tests
//   c_api_test NAME       one of them
#include <math.h>
#include <naysay/naysay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static const char* context = "";

#define CHECK(condition)                                                                                  \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      if (++failures <= 20) printf("%s:%d: %s: not true: %s\n", __FILE__, __LINE__, context, #condition); \
    }                                                                                                     \
  } while (0)

// Ends the test function if it fails.
#define MUST(call)                                                                      \
  do {                                                                                  \
    const naysay_code code_ = (call);                                                   \
    if (code_ != NAYSAY_OK) {                                                           \
      ++failures;                                                                       \
      printf("%s:%d: %s: %s: %s\n", __FILE__, __LINE__, context, #call, error.message); \
      return;                                                                           \
    }                                                                                   \
  } while (0)

#define FAILS(wanted, call)                               \
  do {                                                    \
    memset(&error, 0, sizeof error);                      \
    CHECK((call) == (wanted));                            \
    CHECK(error.code == (wanted));                        \
    CHECK(strlen(error.message) > 10);                    \
    CHECK(error.message[0]<'A' || error.message[0]> 'Z'); \
  } while (0)

enum { kKeys = 3000, kNegatives = 3000, kStrangers = 20000 };
static uint64_t numbers[kKeys + kNegatives + kStrangers];
static const uint64_t *const keys = numbers, *const negatives = numbers + kKeys,
                             *const strangers = numbers + kKeys + kNegatives;

static void fill(void) {
  uint64_t i;
  for (i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) numbers[i] = i * 2654435761u + 17;
}

// The same numbers as texts "k17", in the layout of pairs and in one buffer.
typedef struct Texts {
  char* bytes;
  naysay_text* pairs;
  int32_t* offsets32;
  int64_t* offsets64;
  uint64_t count;
} Texts;

static Texts make_texts(const uint64_t* from, uint64_t count) {
  Texts t;
  uint64_t i;
  int32_t at = 0;
  t.count = count;
  t.bytes = malloc((size_t)count * 24 + 1);
  t.pairs = malloc((size_t)count * sizeof *t.pairs + 1);
  t.offsets32 = malloc((size_t)(count + 1) * sizeof *t.offsets32);
  t.offsets64 = malloc((size_t)(count + 1) * sizeof *t.offsets64);
  if (!t.bytes || !t.pairs || !t.offsets32 || !t.offsets64) exit(2);
  for (i = 0; i < count; ++i) {
    const int size = sprintf(t.bytes + at, "k%llu", (unsigned long long)from[i]);
    t.pairs[i].data = t.bytes + at;
    t.pairs[i].size = (size_t)size;
    t.offsets32[i] = at;
    t.offsets64[i] = at;
    at += size;
  }
  t.offsets32[count] = at;
  t.offsets64[count] = at;
  return t;
}
static void free_texts(Texts* t) {
  free(t->bytes);
  free(t->pairs);
  free(t->offsets32);
  free(t->offsets64);
}

typedef struct Bytes {
  unsigned char* data;
  size_t size;
} Bytes;
static int append(void* user, const void* data, size_t size) {
  Bytes* to = user;
  unsigned char* larger = realloc(to->data, to->size + size);
  if (!larger) return 1;
  memcpy(larger + to->size, data, size);
  to->data = larger;
  to->size += size;
  return 0;
}
static Bytes bytes_of(const naysay_filter* f) {
  Bytes b = {NULL, 0};
  naysay_error error;
  if (naysay_save_to(f, append, &b, &error)) {
    ++failures;
    printf("%s\n", error.message);
  }
  return b;
}
static int same(const naysay_filter* a, const naysay_filter* b) {
  Bytes x = bytes_of(a), y = bytes_of(b);
  const int equal = x.size == y.size && x.size > 0 && memcmp(x.data, y.data, x.size) == 0;
  free(x.data);
  free(y.data);
  return equal;
}

static int count_params(void* user, const char* name, const char* value) {
  if (strlen(name) > 0 && value) ++*(int*)user;
  return 0;
}
static int stop_params(void* user, const char* name, const char* value) {
  (void)name;
  (void)value;
  ++*(int*)user;
  return 7;
}

// ---- conformance: every registered filter --------------------------------------------------------------------------

static void one_filter(const naysay_type* type) {
  naysay_error error;
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  naysay_filter *f = NULL, *g = NULL, *view = NULL, *from_text = NULL, *other = NULL;
  const uint32_t can = naysay_type_abilities(type);
  uint8_t* answers = malloc(kStrangers);
  Texts key_texts = make_texts(keys, kKeys), negative_texts = make_texts(negatives, kNegatives);
  Bytes b;
  uint64_t i, accepted = 0, done = 0;
  int params = 0;
  context = naysay_type_name(type);
  if (!answers) exit(2);

  CHECK(strlen(naysay_type_about(type)) > 10);
  CHECK(naysay_find_type(naysay_type_name(type)) == type);
  MUST(naysay_type_params(type, count_params, &params, &error));
  CHECK(params > 0);

  options.capacity = can & NAYSAY_CAN_INSERT ? kKeys + 100 : 0;
  MUST(naysay_build(context, naysay_integers(keys, kKeys), naysay_integers(negatives, kNegatives), NULL, &options, &f,
                    &error));
  CHECK(naysay_type_of(f) == type);
  CHECK(naysay_key_count(f) == kKeys);
  CHECK(naysay_kind_of(f) == NAYSAY_KIND_INTEGER);
  CHECK(naysay_size_bits(f) > 0);
  CHECK(!naysay_is_borrowed(f));
  params = 0;
  MUST(naysay_params(f, count_params, &params, &error));
  CHECK(params > 0);
  MUST(naysay_describe(f, count_params, &params, &error));
  CHECK(naysay_params(f, stop_params, &params, &error) == NAYSAY_CANCELLED);

  // No key is denied, one by one and in a batch, and both say the same of strangers.
  for (i = 0; i < kKeys; ++i) CHECK(naysay_contains_integer(f, keys[i]) == 1);
  memset(answers, 9, kStrangers);
  MUST(naysay_contains(f, naysay_integers(keys, kKeys), answers, &error));
  for (i = 0; i < kKeys; ++i) CHECK(answers[i] == 1);
  MUST(naysay_contains(f, naysay_integers(strangers, kStrangers), answers, &error));
  for (i = 0; i < kStrangers; ++i) {
    CHECK(answers[i] == naysay_contains_integer(f, strangers[i]));
    accepted += answers[i];
  }
  CHECK((double)accepted <= kStrangers * (1.2 * naysay_expected_fpr(f)) + 60);
  if (can & NAYSAY_EXACT_ON_NEGATIVES && !(can & NAYSAY_READS_BYTES)) {
    MUST(naysay_contains(f, naysay_integers(negatives, kNegatives), answers, &error));
    for (i = 0, accepted = 0; i < kNegatives; ++i) accepted += answers[i];
    CHECK(accepted == 0);
  }

  // The other kind of keys is an error, and "maybe".
  CHECK(naysay_contains_text(f, "k17", 3) == -NAYSAY_WRONG_KIND);
  FAILS(NAYSAY_WRONG_KIND, naysay_contains(f, naysay_texts(key_texts.pairs, kKeys), answers, &error));

  // Through bytes and back.
  b = bytes_of(f);
  MUST(naysay_file_bytes(f, &done, &error));
  CHECK(done == b.size);
  MUST(naysay_bytes_for(context, kKeys, &options, &done, &error));
  CHECK(done >= b.size - naysay_index_bits(f) / 8 && done < b.size + 4 * kKeys + 65536);
  MUST(naysay_load_bytes(b.data, b.size, &g, &error));
  MUST(naysay_view(b.data, b.size, &view, &error));
  CHECK(same(f, g) && same(f, view));
  CHECK(naysay_is_borrowed(view) && !naysay_is_borrowed(g));
  CHECK(naysay_kind_of(g) == NAYSAY_KIND_INTEGER);
  MUST(naysay_contains(view, naysay_integers(keys, kKeys), answers, &error));
  for (i = 0; i < kKeys; ++i) CHECK(answers[i] == 1);

  // All layouts of text give the same filter and the same answers.
  MUST(naysay_build(context, naysay_texts(key_texts.pairs, kKeys), naysay_texts(negative_texts.pairs, kNegatives), NULL,
                    NULL, &from_text, &error));
  CHECK(naysay_kind_of(from_text) == NAYSAY_KIND_TEXT);
  for (i = 0; i < kKeys; ++i)
    CHECK(naysay_contains_text(from_text, key_texts.pairs[i].data, key_texts.pairs[i].size) == 1);
  MUST(naysay_build(context, naysay_offsets32(key_texts.bytes, key_texts.offsets32, kKeys),
                    naysay_offsets64(negative_texts.bytes, negative_texts.offsets64, kNegatives), NULL, NULL, &other,
                    &error));
  CHECK(same(from_text, other));
  MUST(naysay_contains(from_text, naysay_texts(key_texts.pairs, kKeys), answers, &error));
  for (i = 0; i < kKeys; ++i) CHECK(answers[i] == 1);
  memset(answers, 0, kStrangers);
  MUST(naysay_contains(from_text, naysay_offsets32(key_texts.bytes, key_texts.offsets32, kKeys), answers, &error));
  for (i = 0; i < kKeys; ++i) CHECK(answers[i] == 1);
  memset(answers, 0, kStrangers);
  MUST(naysay_contains(from_text, naysay_offsets64(key_texts.bytes, key_texts.offsets64, kKeys), answers, &error));
  for (i = 0; i < kKeys; ++i) CHECK(answers[i] == 1);

  // A call that the filter cannot do is an error, and one that it can do works.
  if (can & NAYSAY_CAN_INSERT) {
    MUST(naysay_insert(view, naysay_integers(strangers, 100), &done, &error));
    CHECK(done == 100 && naysay_key_count(view) == kKeys + 100 && !naysay_is_borrowed(view));
    MUST(naysay_contains(view, naysay_integers(strangers, 100), answers, &error));
    for (i = 0; i < 100; ++i) CHECK(answers[i] == 1);
    CHECK(same(f, g));
    FAILS(NAYSAY_WRONG_KIND, naysay_insert_text(f, "k17", 3, &error));
    CHECK(same(f, g));
    MUST(naysay_insert_integer(f, strangers[0], &error));
    CHECK(naysay_contains_integer(f, strangers[0]) == 1);
  } else {
    FAILS(NAYSAY_UNSUPPORTED, naysay_insert_integer(f, strangers[0], &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_insert_text(from_text, "later", 5, &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_insert(f, naysay_integers(strangers, 2), &done, &error));
    CHECK(done == 0);
  }
  if (can & NAYSAY_CAN_ERASE) {
    MUST(naysay_erase(view, naysay_integers(strangers, 100), &done, &error));
    CHECK(done == 100 && naysay_key_count(view) == kKeys);
    MUST(naysay_erase_integer(f, strangers[0], &error));
    for (i = 0; i < kStrangers && naysay_contains_integer(f, strangers[i]); ++i) continue;
    FAILS(NAYSAY_ABSENT, naysay_erase_integer(f, strangers[i], &error));
    MUST(naysay_contains(view, naysay_integers(keys, kKeys), answers, &error));
    for (i = 0; i < kKeys; ++i) CHECK(answers[i] == 1);
  } else {
    FAILS(NAYSAY_UNSUPPORTED, naysay_erase_integer(f, keys[0], &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_erase_text(from_text, "k17", 3, &error));
  }
  if (can & NAYSAY_ADAPTS_WITH_KEY_FILE) {
    CHECK(can & NAYSAY_CAN_ADAPT);
    FAILS(NAYSAY_UNSUPPORTED, naysay_adapt_integer(f, strangers[0], 1.0f, &error));
    CHECK(strstr(error.message, "attach_key_file") != NULL);
    FAILS(NAYSAY_IO, naysay_attach_key_file(f, "c_api_test.none", &error));
    MUST(naysay_write_key_file(f, "c_api_test.keys", naysay_integers(keys, kKeys), &error));
    FAILS(NAYSAY_INVALID_ARGUMENT, naysay_attach_key_file(from_text, "c_api_test.keys", &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_sync_key_file(f, &error));
    MUST(naysay_attach_key_file(f, "c_api_test.keys", &error));
    FAILS(NAYSAY_IO, naysay_write_key_file(f, "c_api_test.keys", naysay_integers(keys, kKeys), &error));
    FAILS(NAYSAY_INVALID_ARGUMENT,
          naysay_write_key_file(f, "c_api_test.none", naysay_integers(keys, kKeys - 1), &error));
    FAILS(NAYSAY_IO, naysay_attach_key_file(view, "c_api_test.keys", &error));
    CHECK(strstr(error.message, "lock") != NULL);
    MUST(naysay_write_key_file(view, "c_api_test.view.keys", naysay_integers(keys, kKeys), &error));
    MUST(naysay_attach_key_file(view, "c_api_test.view.keys", &error));
  } else {
    FAILS(NAYSAY_UNSUPPORTED, naysay_write_key_file(f, "c_api_test.keys", naysay_integers(keys, kKeys), &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_attach_key_file(f, "c_api_test.keys", &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_sync_key_file(f, &error));
  }
  if (can & NAYSAY_CAN_ADAPT) {
    for (i = 0, accepted = 0, done = 0; i < kStrangers && accepted < 20; ++i) {
      naysay_code code;
      if (naysay_contains_integer(f, strangers[i]) != 1) continue;
      ++accepted;
      code = naysay_adapt_integer(f, strangers[i], 5.0f, &error);
      CHECK(code == NAYSAY_OK || code == NAYSAY_NO_ROOM);
      if (code == NAYSAY_OK) {
        ++done;
        CHECK(naysay_contains_integer(f, strangers[i]) == 0);
      }
    }
    CHECK(accepted == 0 || done > 0 || can & NAYSAY_ADAPTS_WITH_CHURN);
    MUST(naysay_adapt(view, naysay_integers(strangers, 20), NULL, &done, &error));
    CHECK(done <= 20);
    FAILS(NAYSAY_INVALID_ARGUMENT, naysay_adapt_integer(f, strangers[0], -1.0f, &error));
    FAILS(NAYSAY_INVALID_ARGUMENT, naysay_adapt_integer(f, strangers[0], (float)NAN, &error));
    for (i = 0; i < kKeys; ++i) CHECK(naysay_contains_integer(f, keys[i]) == 1);
  } else {
    FAILS(NAYSAY_UNSUPPORTED, naysay_adapt_integer(f, strangers[0], 1.0f, &error));
    FAILS(NAYSAY_UNSUPPORTED, naysay_adapt_text(from_text, "no", 2, 1.0f, &error));
  }
  if (can & NAYSAY_CAN_WARM) {
    CHECK(naysay_is_full(f) == 0 || naysay_is_full(f) == 1);
    // Exactly the keys that it holds: strangers[0] was inserted above.
    if (can & NAYSAY_CAN_INSERT && !(can & NAYSAY_CAN_ERASE)) {
      uint64_t* held = malloc((kKeys + 1) * sizeof *held);
      if (!held) exit(2);
      memcpy(held, keys, kKeys * sizeof *held);
      held[kKeys] = strangers[0];
      MUST(naysay_warm(f, naysay_integers(held, kKeys + 1), &error));
      free(held);
    } else {
      MUST(naysay_warm(f, naysay_integers(keys, kKeys), &error));
    }
    for (i = 0; i < kKeys; ++i) CHECK(naysay_contains_integer(f, keys[i]) == 1);
  } else {
    CHECK(naysay_is_full(f) == 0);
    FAILS(NAYSAY_UNSUPPORTED, naysay_warm(f, naysay_integers(keys, kKeys), &error));
  }
  if (can & NAYSAY_CAN_PRICE) {
    naysay_filter* priced = NULL;
    options.fpr = 0.02;
    MUST(naysay_build(context, naysay_integers(keys, kKeys), naysay_no_keys(), NULL, &options, &priced, &error));
    CHECK(naysay_expected_fpr(priced) <= 0.05);
    naysay_free(priced);
  }

  if (can & NAYSAY_ADAPTS_WITH_KEY_FILE) {  // what f has learned is in its file
    MUST(naysay_sync_key_file(f, &error));
    CHECK(!same(f, g));
    MUST(naysay_contains(f, naysay_integers(strangers, kStrangers), answers, &error));
    naysay_free(f);
    f = NULL;
    MUST(naysay_attach_key_file(g, "c_api_test.keys", &error));
    for (i = 0; i < kStrangers; ++i) CHECK(naysay_contains_integer(g, strangers[i]) == answers[i]);
    for (i = 0; i < kKeys; ++i) CHECK(naysay_contains_integer(g, keys[i]) == 1);
    remove("c_api_test.keys");
    remove("c_api_test.view.keys");
  }

  naysay_free(view);
  free(b.data);
  naysay_free(g);
  naysay_free(f);
  naysay_free(from_text);
  naysay_free(other);
  free(answers);
  free_texts(&key_texts);
  free_texts(&negative_texts);
}

static void every_filter_conforms(void) {
  size_t i;
  CHECK(naysay_type_count() >= 30);
  CHECK(naysay_type_at(naysay_type_count()) == NULL);
  for (i = 0; i < naysay_type_count(); ++i) one_filter(naysay_type_at(i));
}

// ---- what is not about one filter ----------------------------------------------------------------------------------

static void version_is_that_of_the_header(void) { CHECK(strcmp(naysay_version(), NAYSAY_VERSION) == 0); }

// These stand in the binary interface, next to the list of functions.
static void structures_keep_their_layout(void) {
  CHECK(sizeof(naysay_error) == 512 && offsetof(naysay_error, message) == 4);
  if (sizeof(void*) != 8) return;
  CHECK(sizeof(naysay_keys) == 32 && offsetof(naysay_keys, offsets) == 24);
  CHECK(sizeof(naysay_param) == 24);
  CHECK(sizeof(naysay_build_options) == 120 && offsetof(naysay_build_options, nul_separated) == 112);
  CHECK(offsetof(naysay_build_options, threads) == 40 && offsetof(naysay_build_options, params) == 80);
  CHECK(sizeof(naysay_row) == 88 && offsetof(naysay_row, bytes) == 80);
}

static void files_are_built_saved_opened_and_loaded(void) {
  naysay_error error;
  naysay_filter *built = NULL, *from_file = NULL, *opened = NULL, *loaded = NULL, *copy = NULL;
  naysay_text names[] = {{"evil.example", 12}, {"worse.example", 13}}, allowed[] = {{"popular.example", 15}};
  const float costs[] = {1000};
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  const char *keys_path = "c_api_keys.txt", *negatives_path = "c_api_negatives.tsv", *path = "c_api_test.nsy";
  FILE* file = fopen(keys_path, "wb");
  if (!file) exit(2);
  fputs("evil.example\nworse.example\n", file);
  fclose(file);
  file = fopen(negatives_path, "wb");
  if (!file) exit(2);
  fputs("popular.example\t1000\n", file);
  fclose(file);
  options.bits_per_key = 12;
  MUST(
      naysay_build("taught-ribbon", naysay_texts(names, 2), naysay_texts(allowed, 1), costs, &options, &built, &error));
  CHECK(error.code == NAYSAY_OK && error.message[0] == '\0');
  MUST(naysay_build_from_files("taught-ribbon", keys_path, negatives_path, &options, &from_file, &error));
  CHECK(same(built, from_file));
  MUST(naysay_save(built, path, &error));
  MUST(naysay_open(path, &opened, &error));
  MUST(naysay_load(path, &loaded, &error));
  MUST(naysay_clone(opened, &copy, &error));
  CHECK(same(built, opened) && same(built, loaded) && same(built, copy));
  CHECK(naysay_is_borrowed(opened) && !naysay_is_borrowed(loaded) && !naysay_is_borrowed(copy));
  CHECK(naysay_contains_text(opened, "evil.example", 12) == 1);
  CHECK(naysay_contains_text(opened, "popular.example", 15) == 0);
  FAILS(NAYSAY_IO, naysay_open("no/such/file.nsy", &opened, &error));
  FAILS(NAYSAY_IO, naysay_save(built, "no/such/folder/f.nsy", &error));
  FAILS(NAYSAY_IO, naysay_build_from_files("bloom", "no/such/file", NULL, NULL, &copy, &error));
  FAILS(NAYSAY_CORRUPT, naysay_open(keys_path, &opened, &error));
  naysay_free(built);
  naysay_free(from_file);
  naysay_free(opened);
  naysay_free(loaded);
  naysay_free(copy);
  remove(keys_path);
  remove(negatives_path);
  remove(path);
}

static void auto_uses_the_negatives_and_makes_room(void) {
  naysay_error error;
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  naysay_filter* f = NULL;
  uint64_t i, accepted = 0;
  MUST(naysay_build("auto", naysay_integers(keys, kKeys), naysay_integers(negatives, kNegatives), NULL, NULL, &f,
                    &error));
  CHECK(naysay_type_abilities(naysay_type_of(f)) & NAYSAY_EXACT_ON_NEGATIVES);
  CHECK((double)naysay_size_bits(f) < 11.0 * kKeys);
  for (i = 0; i < kNegatives; ++i) accepted += (uint64_t)naysay_contains_integer(f, negatives[i]);
  CHECK(accepted == 0);
  naysay_free(f);
  options.capacity = 2 * kKeys;
  MUST(naysay_build("auto", naysay_integers(keys, kKeys), naysay_no_keys(), NULL, &options, &f, &error));
  CHECK(naysay_type_abilities(naysay_type_of(f)) & NAYSAY_CAN_INSERT);
  naysay_free(f);
  options.fpr = 0.01;
  MUST(naysay_build("auto", naysay_integers(keys, kKeys), naysay_no_keys(), NULL, &options, &f, &error));
  CHECK(naysay_expected_fpr(f) <= 0.0105);
  naysay_free(f);
}

static void what_makes_no_sense_is_refused_with_a_sentence(void) {
  naysay_error error;
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  naysay_filter* const untouched = (naysay_filter*)&error;
  naysay_filter* f = untouched;
  const int32_t falling[] = {0, 5, 2};
  const int64_t below_zero[] = {-1, 0};
  const float costs[] = {1, -2};
  naysay_keys odd = naysay_integers(keys, 2);
  naysay_param param = {"fingerprint_bits", NULL, 3};
  char long_name[600];
  uint8_t answers[4];

  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("no-such", odd, naysay_no_keys(), NULL, NULL, &f, &error));
  CHECK(strstr(error.message, "no-such") != NULL);
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build(long_name, odd, naysay_no_keys(), NULL, NULL, &f, &error));
  CHECK(strlen(error.message) == sizeof error.message - 1);
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build(NULL, odd, naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, NULL, NULL, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT,
        naysay_build("bloom", naysay_integers(NULL, 2), naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT,
        naysay_build("bloom", naysay_integers(keys, UINT64_MAX), naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT,
        naysay_build("bloom", naysay_offsets32("abcde", falling, 2), naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT,
        naysay_build("bloom", naysay_offsets64("abcde", below_zero, 1), naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT,
        naysay_build("bloom", naysay_offsets64("abcde", NULL, 1), naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("taught-ribbon", odd, odd, costs, NULL, &f, &error));
  {
    naysay_text text = {"a", 1};
    FAILS(NAYSAY_WRONG_KIND, naysay_build("bloom", odd, naysay_texts(&text, 1), NULL, NULL, &f, &error));
  }
  odd.layout = 77;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, NULL, &f, &error));
  odd.layout = NAYSAY_INTEGERS;
  options.size = 0;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, &options, &f, &error));
  options.size = sizeof options;
  options.fpr = 2;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, &options, &f, &error));
  options.fpr = 0.1;
  options.bits_per_key = 8;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, &options, &f, &error));
  options.bits_per_key = 0;
  FAILS(NAYSAY_UNSUPPORTED, naysay_build("habf", odd, naysay_no_keys(), NULL, &options, &f, &error));
  options.fpr = 0;
  options.bits_per_key = -1;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, &options, &f, &error));
  options.bits_per_key = 0;
  options.hash = 9;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, &options, &f, &error));
  options.hash = 0;
  param.name = "no_such_parameter";
  options.params = &param;
  options.param_count = 1;
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_build("bloom", odd, naysay_no_keys(), NULL, &options, &f, &error));
  CHECK(strstr(error.message, "no_such_parameter") != NULL);
  CHECK(f == untouched);
  // Without an error structure the code alone says it.
  CHECK(naysay_build("no-such", odd, naysay_no_keys(), NULL, NULL, &f, NULL) == NAYSAY_INVALID_ARGUMENT);
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_contains(NULL, odd, answers, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_insert_integer(NULL, 1, &error));
  FAILS(NAYSAY_CORRUPT, naysay_load_bytes("not a filter", 12, &f, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_load_bytes(NULL, 12, &f, &error));
  naysay_free(NULL);
  CHECK(naysay_find_type("no-such") == NULL && naysay_find_type(NULL) == NULL);
}

typedef struct Newer {
  naysay_build_options known;
  uint64_t of_a_newer_header;
} Newer;

static void options_of_a_newer_header_are_read_unless_they_ask_for_more(void) {
  naysay_error error;
  const naysay_build_options defaults = NAYSAY_BUILD_OPTIONS;
  Newer newer;
  naysay_filter* f = NULL;
  memset(&newer, 0, sizeof newer);
  newer.known = defaults;
  newer.known.size = sizeof newer;
  MUST(naysay_build("bloom", naysay_integers(keys, 9), naysay_no_keys(), NULL, &newer.known, &f, &error));
  naysay_free(f);
  newer.of_a_newer_header = 1;
  FAILS(NAYSAY_UNSUPPORTED,
        naysay_build("bloom", naysay_integers(keys, 9), naysay_no_keys(), NULL, &newer.known, &f, &error));
}

static void parameters_are_numbers_or_texts_and_hashes_are_chosen(void) {
  naysay_error error;
  naysay_build_options options = NAYSAY_BUILD_OPTIONS, keyed = NAYSAY_BUILD_OPTIONS;
  naysay_param as_number = {"bits_per_key", NULL, 16.5}, as_text = {"bits_per_key", "16.5", 0};
  naysay_filter *a = NULL, *b = NULL, *c = NULL;
  options.params = &as_number;
  options.param_count = 1;
  MUST(naysay_build("bloom", naysay_integers(keys, 999), naysay_no_keys(), NULL, &options, &a, &error));
  options.params = &as_text;
  MUST(naysay_build("bloom", naysay_integers(keys, 999), naysay_no_keys(), NULL, &options, &b, &error));
  CHECK(same(a, b));
  keyed.hash = NAYSAY_HASH_SIPHASH;
  keyed.secret[0] = 1;
  keyed.bits_per_key = 16.5;
  MUST(naysay_build("bloom", naysay_integers(keys, 999), naysay_no_keys(), NULL, &keyed, &c, &error));
  CHECK(!same(a, c));
  CHECK(naysay_contains_integer(c, keys[998]) == 1);
  naysay_free(a);
  naysay_free(b);
  naysay_free(c);
}

static int stop_at_once(void* user, const char* stage, uint64_t done, uint64_t total) {
  ++*(int*)user;
  return strlen(stage) > 0 && done <= total;
}

static void a_build_ends_when_its_progress_callback_asks_for_it(void) {
  naysay_error error;
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  naysay_filter* f = NULL;
  int calls = 0;
  options.progress = stop_at_once;
  options.progress_user = &calls;
  FAILS(NAYSAY_CANCELLED,
        naysay_build("cuckoo", naysay_integers(keys, kKeys), naysay_no_keys(), NULL, &options, &f, &error));
  CHECK(calls == 1 && f == NULL);
}

static void a_full_filter_says_so_and_how_many_went_in(void) {
  naysay_error error;
  naysay_filter* f = NULL;
  uint64_t done = 0, i;
  MUST(naysay_build("cuckoo", naysay_integers(keys, 100), naysay_no_keys(), NULL, NULL, &f, &error));
  FAILS(NAYSAY_NO_ROOM, naysay_insert(f, naysay_integers(strangers, kStrangers), &done, &error));
  CHECK(done < kStrangers && naysay_key_count(f) == 100 + done);
  for (i = 0; i < done; ++i) CHECK(naysay_contains_integer(f, strangers[i]) == 1);
  naysay_free(f);
}

static void digests_fit_any_filter(void) {
  naysay_error error;
  naysay_filter* f = NULL;
  uint8_t answers[2] = {0, 0};
  MUST(naysay_build("ribbon", naysay_digests(numbers, 1000), naysay_digests(numbers + 4000, 1000), NULL, NULL, &f,
                    &error));
  CHECK(naysay_key_count(f) == 1000 && naysay_kind_of(f) == NAYSAY_KIND_UNKNOWN);
  MUST(naysay_contains(f, naysay_digests(numbers, 2), answers, &error));
  CHECK(answers[0] == 1 && answers[1] == 1);
  MUST(naysay_contains(f, naysay_no_keys(), NULL, &error));
  naysay_free(f);
}

typedef struct Rows {
  int count, problems;
  double exact_wfpr;
} Rows;
static int take_row(void* user, const naysay_row* row) {
  Rows* rows = user;
  ++rows->count;
  if (row->problem) {
    ++rows->problems;
    return 0;
  }
  CHECK(row->size == sizeof *row && row->false_negatives == 0 && row->bits_per_key > 5 && row->bytes > 0);
  CHECK(row->fpr >= 0 && row->fpr < 0.2 && row->build_ns > 0 && row->batch_ns > 0);
  if (strcmp(row->filter, "taught-ribbon") == 0) rows->exact_wfpr = row->wfpr;
  return 0;
}
static int stop_rows(void* user, const naysay_row* row) {
  (void)row;
  return ++*(int*)user;
}

static void compare_gives_a_row_for_each_filter(void) {
  naysay_error error;
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  const char* const some[] = {"bloom", "taught-ribbon"};
  const char* const unknown[] = {"bloom", "no-such"};
  Rows rows = {0, 0, 1};
  int calls = 0;
  options.bits_per_key = 12;
  MUST(naysay_compare(some, 2, naysay_integers(keys, kKeys), naysay_integers(negatives, kNegatives), NULL, &options,
                      take_row, &rows, &error));
  CHECK(rows.count == 2 && rows.problems == 0 && rows.exact_wfpr == 0);
  FAILS(NAYSAY_CANCELLED, naysay_compare(some, 2, naysay_integers(keys, kKeys), naysay_integers(negatives, kNegatives),
                                         NULL, &options, stop_rows, &calls, &error));
  CHECK(calls == 1);
  FAILS(NAYSAY_INVALID_ARGUMENT, naysay_compare(unknown, 2, naysay_integers(keys, kKeys), naysay_integers(negatives, 9),
                                                NULL, NULL, take_row, &rows, &error));
  FAILS(NAYSAY_INVALID_ARGUMENT,
        naysay_compare(some, 2, naysay_integers(keys, kKeys), naysay_no_keys(), NULL, NULL, take_row, &rows, &error));
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } tests[] = {
      {"every_filter_conforms", every_filter_conforms},
      {"version_is_that_of_the_header", version_is_that_of_the_header},
      {"structures_keep_their_layout", structures_keep_their_layout},
      {"files_are_built_saved_opened_and_loaded", files_are_built_saved_opened_and_loaded},
      {"auto_uses_the_negatives_and_makes_room", auto_uses_the_negatives_and_makes_room},
      {"what_makes_no_sense_is_refused_with_a_sentence", what_makes_no_sense_is_refused_with_a_sentence},
      {"options_of_a_newer_header_are_read_unless_they_ask_for_more",
       options_of_a_newer_header_are_read_unless_they_ask_for_more},
      {"parameters_are_numbers_or_texts_and_hashes_are_chosen", parameters_are_numbers_or_texts_and_hashes_are_chosen},
      {"a_build_ends_when_its_progress_callback_asks_for_it", a_build_ends_when_its_progress_callback_asks_for_it},
      {"a_full_filter_says_so_and_how_many_went_in", a_full_filter_says_so_and_how_many_went_in},
      {"digests_fit_any_filter", digests_fit_any_filter},
      {"compare_gives_a_row_for_each_filter", compare_gives_a_row_for_each_filter},
  };
  size_t i, ran = 0;
  fill();
  for (i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    context = tests[i].name;
    tests[i].run();
    ++ran;
  }
  if (ran == 0) printf("no test has this name\n");
  printf("%d failures in %d tests\n", failures, (int)ran);
  return failures > 0 || ran == 0;
}
