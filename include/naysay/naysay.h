// SPDX-License-Identifier: Apache-2.0
// naysay.h: the C API. Membership filters that know what is not in the set, for C99 and every language that calls C.
//
//   naysay_error error;
//   naysay_build_options options = NAYSAY_BUILD_OPTIONS;
//   options.bits_per_key = 10;
//   naysay_filter* filter = NULL;
//   if (naysay_build("auto", naysay_texts(blocked, 2), naysay_texts(allowed, 2), costs, &options, &filter, &error))
//     return fprintf(stderr, "%s\n", error.message), 1;
//   if (naysay_contains_text(filter, "evil.example", 12)) block();
//   if (naysay_save(filter, "blocked.nsy", &error)) ...
//   naysay_free(filter);
//
// Results     Every function that can fail returns a naysay_code, 0 if it worked, and writes the same code and one
//             sentence to *error. `error` may be NULL. After a failure the outputs and the filter are as they were.
//             A call that filters of this type cannot do is an error (NAYSAY_UNSUPPORTED), never a silent "no".
// Exceptions  None leaves the library, and it neither aborts nor prints: out of memory is NAYSAY_NO_MEMORY.
// Keys        Integers, or bytes of any kind ("text"). One filter holds keys of one kind; a call with the other kind is
//             NAYSAY_WRONG_KIND. A signed integer is cast to uint64_t. Text in UTF-8 is what other languages send.
// Threads     Calls that take a const naysay_filter* may run at the same time on one filter, from any number of threads.
//             A call that takes a naysay_filter* needs the filter alone. Different filters are independent.
// Memory      What a caller passes in is read during the call and not kept, except by naysay_view. A path is a
//             NUL-terminated name of a file in the encoding of the operating system.
// Versions    Structures that may grow begin with their size, which their initialiser sets. Functions and enumerators
//             keep their meaning within a SOVERSION (docs/versions.md).
#ifndef NAYSAY_NAYSAY_H_
#define NAYSAY_NAYSAY_H_

#include <stddef.h>
#include <stdint.h>

#include "naysay/core/export.hpp"
#include "naysay/version.hpp"

#ifdef __cplusplus
extern "C" {
#endif

// The version of the library that is running, as "0.1.0". NAYSAY_VERSION is that of this header.
NAYSAY_EXPORT const char* naysay_version(void);

// ---- errors --------------------------------------------------------------------------------------------------------

typedef int32_t naysay_code;
enum {
  NAYSAY_OK = 0,
  NAYSAY_INVALID_ARGUMENT = 1,  // a parameter, a key or a cost that makes no sense
  NAYSAY_OUT_OF_BUDGET = 2,     // no filter of this kind fits into the bits it was given
  NAYSAY_BUILD_FAILED = 3,      // every seed was tried; the message says what could be changed
  NAYSAY_CORRUPT = 4,           // bytes that no naysay wrote, or that changed since
  NAYSAY_UNSUPPORTED = 5,       // of another version, filter or machine; or a call that this filter cannot do
  NAYSAY_IO = 6,                // the operating system refused
  NAYSAY_NO_MEMORY = 7,         // an allocation failed
  NAYSAY_NO_ROOM = 8,           // insert: the filter is full. adapt: the negative is not refused (yet)
  NAYSAY_ABSENT = 9,            // erase: the filter denies the key
  NAYSAY_WRONG_KIND = 10,       // text was given to a filter of integers, or integers to one of text
  NAYSAY_CANCELLED = 11,        // a callback asked for it
  NAYSAY_INTERNAL = 12,         // a fault of the library; please report it
  NAYSAY_CHOSEN_KEYS = 13       // as NAYSAY_BUILD_FAILED; the keys look chosen, and a secret hash key would help
};

typedef struct naysay_error {
  naysay_code code;
  char message[508];  // one lower-case sentence, NUL-terminated; "" after a success
} naysay_error;

// ---- keys ----------------------------------------------------------------------------------------------------------

typedef struct naysay_text {
  const char* data;
  size_t size;
} naysay_text;

// Many keys, in one of these layouts. The functions below fill it.
typedef int32_t naysay_layout;
enum {
  NAYSAY_NO_KEYS = 0,
  NAYSAY_INTEGERS = 1,  // data: count integers of 64 bits
  NAYSAY_TEXTS = 2,     // data: count naysay_texts
  NAYSAY_OFFSETS32 =
      3,  // data: bytes; offsets: count + 1 of int32_t; text i is [offsets[i], offsets[i + 1]). As Arrow's
  NAYSAY_OFFSETS64 = 4,  // the same with int64_t
  NAYSAY_DIGESTS = 5     // data: 2 * count integers of 64 bits, the halves of 128-bit digests that the caller made
};
typedef struct naysay_keys {
  naysay_layout layout;
  uint64_t count;
  const void* data;
  const void* offsets;
} naysay_keys;

static inline naysay_keys naysay_no_keys(void) {
  naysay_keys keys = {NAYSAY_NO_KEYS, 0, NULL, NULL};
  return keys;
}
static inline naysay_keys naysay_integers(const uint64_t* data, uint64_t count) {
  naysay_keys keys = {NAYSAY_INTEGERS, count, data, NULL};
  return keys;
}
static inline naysay_keys naysay_texts(const naysay_text* data, uint64_t count) {
  naysay_keys keys = {NAYSAY_TEXTS, count, data, NULL};
  return keys;
}
static inline naysay_keys naysay_offsets32(const char* data, const int32_t* offsets, uint64_t count) {
  naysay_keys keys = {NAYSAY_OFFSETS32, count, data, offsets};
  return keys;
}
static inline naysay_keys naysay_offsets64(const char* data, const int64_t* offsets, uint64_t count) {
  naysay_keys keys = {NAYSAY_OFFSETS64, count, data, offsets};
  return keys;
}
static inline naysay_keys naysay_digests(const uint64_t* data, uint64_t count) {
  naysay_keys keys = {NAYSAY_DIGESTS, count, data, NULL};
  return keys;
}

typedef int32_t naysay_key_kind;
enum { NAYSAY_KIND_UNKNOWN = 0, NAYSAY_KIND_TEXT = 1, NAYSAY_KIND_INTEGER = 2 };

// ---- the registered filters ----------------------------------------------------------------------------------------

typedef struct naysay_type naysay_type;  // lives as long as the library

enum {
  NAYSAY_CAN_INSERT = 1,             // keys can be inserted later
  NAYSAY_CAN_ERASE = 2,              // keys can be erased
  NAYSAY_CAN_ADAPT = 4,              // a reported false positive is refused from then on
  NAYSAY_CAN_WARM = 8,               // collects reports until it is full; naysay_warm puts them to use
  NAYSAY_CAN_PRICE = 16,             // knows the bits per key for a rate: fpr of naysay_build_options
  NAYSAY_USES_NEGATIVES = 32,        // a build reads the known negatives
  NAYSAY_EXACT_ON_NEGATIVES = 64,    // at its default budget it accepts none of them
  NAYSAY_READS_BYTES = 128,          // learns from the bytes of texts
  NAYSAY_ADAPTS_WITH_CHURN = 256,    // adapt takes effect as keys are erased and inserted
  NAYSAY_ADAPTS_WITH_KEY_FILE = 512  // adapt needs a file of the keys: naysay_attach_key_file
};

NAYSAY_EXPORT size_t naysay_type_count(void);
NAYSAY_EXPORT const naysay_type* naysay_type_at(size_t index);          // NULL if there are not that many
NAYSAY_EXPORT const naysay_type* naysay_find_type(const char* name);    // NULL if no filter has this name
NAYSAY_EXPORT const char* naysay_type_name(const naysay_type* type);    // permanent
NAYSAY_EXPORT const char* naysay_type_about(const naysay_type* type);   // one sentence for those who have to choose
NAYSAY_EXPORT uint32_t naysay_type_id(const naysay_type* type);         // permanent
NAYSAY_EXPORT uint32_t naysay_type_abilities(const naysay_type* type);  // of the NAYSAY_CAN_ and following enumerators

// Called with names and values. A result other than 0 ends the visit with NAYSAY_CANCELLED.
typedef int (*naysay_visit)(void* user, const char* name, const char* value);

// The parameters of a type of filter, with their defaults.
NAYSAY_EXPORT naysay_code naysay_type_params(const naysay_type* type, naysay_visit visit, void* user,
                                             naysay_error* error);

// ---- build ---------------------------------------------------------------------------------------------------------

typedef struct naysay_filter naysay_filter;

typedef struct naysay_param {
  const char* name;
  const char* text;  // the value; NULL: it is `number`
  double number;
} naysay_param;

// Called now and then during a build, from one thread at a time, which may be one that the library started. A result
// other than 0 ends the build with NAYSAY_CANCELLED.
typedef int (*naysay_progress)(void* user, const char* stage, uint64_t done, uint64_t total);

enum { NAYSAY_HASH_XXH3 = 0, NAYSAY_HASH_SIPHASH = 1 };

typedef struct naysay_build_options {
  size_t size;                 // of this structure
  double bits_per_key;         // 0: the default of the filter
  double fpr;                  // instead of bits_per_key, for filters that can price a rate. 0: not given
  uint64_t capacity;           // a dynamic filter has room for max(capacity, number of keys)
  uint64_t seed;               // same keys, parameters and seed: same bytes
  uint32_t threads;            // any number gives the same bytes; 0: as many as there are cores
  int32_t hash;                // NAYSAY_HASH_SIPHASH: against chosen keys, with `secret`
  uint64_t hash_seed;          // of xxh3
  uint64_t secret[2];          // of siphash
  double stranger_share;       // the share of the negative queries that will be about strangers
  const naysay_param* params;  // more parameters of the filter
  size_t param_count;
  naysay_progress progress;  // may be NULL
  void* progress_user;
  int32_t nul_separated;  // naysay_build_from_files: keys end with NUL instead of a line's end
} naysay_build_options;

// The defaults: naysay_build_options options = NAYSAY_BUILD_OPTIONS;
#define NAYSAY_BUILD_OPTIONS \
  { sizeof(naysay_build_options), 0.0, 0.0, 0, 0, 1, NAYSAY_HASH_XXH3, 0, {0, 0}, 0.01, NULL, 0, NULL, NULL, 0 }

// Builds a filter from keys and known negatives. `filter` is a name, or "auto": the filter that should accept the least
// cost at this budget. `costs` has one cost for each negative, or is NULL: each costs 1. `options` may be NULL.
NAYSAY_EXPORT naysay_code naysay_build(const char* filter, naysay_keys keys, naysay_keys negatives, const float* costs,
                                       const naysay_build_options* options, naysay_filter** out, naysay_error* error);

// At most this many bytes has such a filter with room for this many keys, in memory and as a file; before it is built.
// What pinned negatives add (naysay_index_bits) is not counted.
NAYSAY_EXPORT naysay_code naysay_bytes_for(const char* filter, uint64_t keys, const naysay_build_options* options,
                                           uint64_t* bytes, naysay_error* error);

// naysay_build from files: one key per line, negatives as key<TAB>cost; plain, gzip or zstd. `negatives_path` may be NULL.
NAYSAY_EXPORT naysay_code naysay_build_from_files(const char* filter, const char* keys_path, const char* negatives_path,
                                                  const naysay_build_options* options, naysay_filter** out,
                                                  naysay_error* error);

// ---- files ---------------------------------------------------------------------------------------------------------

// From a file: open queries it in place, load copies it. An open file must not be truncated or overwritten meanwhile;
// replace it by rename, as naysay_save does.
NAYSAY_EXPORT naysay_code naysay_open(const char* path, naysay_filter** out, naysay_error* error);
NAYSAY_EXPORT naysay_code naysay_load(const char* path, naysay_filter** out, naysay_error* error);
// From the bytes of a file: load_bytes copies; view borrows, and the bytes must outlive the filter.
NAYSAY_EXPORT naysay_code naysay_load_bytes(const void* data, size_t size, naysay_filter** out, naysay_error* error);
NAYSAY_EXPORT naysay_code naysay_view(const void* data, size_t size, naysay_filter** out, naysay_error* error);
// The file appears whole, by rename, or not at all.
NAYSAY_EXPORT naysay_code naysay_save(const naysay_filter* filter, const char* path, naysay_error* error);
// The bytes of the file, in one piece or several. A result other than 0 ends it with NAYSAY_CANCELLED.
typedef int (*naysay_write)(void* user, const void* data, size_t size);
NAYSAY_EXPORT naysay_code naysay_save_to(const naysay_filter* filter, naysay_write write, void* user,
                                         naysay_error* error);
// How many there are.
NAYSAY_EXPORT naysay_code naysay_file_bytes(const naysay_filter* filter, uint64_t* bytes, naysay_error* error);
// A copy with memory of its own.
NAYSAY_EXPORT naysay_code naysay_clone(const naysay_filter* filter, naysay_filter** out, naysay_error* error);
// NULL is allowed.
NAYSAY_EXPORT void naysay_free(naysay_filter* filter);

// ---- query ---------------------------------------------------------------------------------------------------------

// 0: the key is not in the set. 1: it may be. -NAYSAY_WRONG_KIND: the filter holds keys of the other kind; as a truth
// value that is "maybe" too.
NAYSAY_EXPORT int naysay_contains_text(const naysay_filter* filter, const char* data, size_t size);
NAYSAY_EXPORT int naysay_contains_integer(const naysay_filter* filter, uint64_t key);
// A batch: answers[i] becomes 0 or 1. Requires keys.count bytes at answers. Faster than one by one.
NAYSAY_EXPORT naysay_code naysay_contains(const naysay_filter* filter, naysay_keys keys, uint8_t* answers,
                                          naysay_error* error);

// ---- change --------------------------------------------------------------------------------------------------------

// A filter that naysay_open mapped copies itself at its first change; the file stays as it is.
NAYSAY_EXPORT naysay_code naysay_insert_text(naysay_filter* filter, const char* data, size_t size, naysay_error* error);
NAYSAY_EXPORT naysay_code naysay_insert_integer(naysay_filter* filter, uint64_t key, naysay_error* error);
// Erase a key that is in the set. To erase one that was never inserted, but that the filter accepts, may remove another.
NAYSAY_EXPORT naysay_code naysay_erase_text(naysay_filter* filter, const char* data, size_t size, naysay_error* error);
NAYSAY_EXPORT naysay_code naysay_erase_integer(naysay_filter* filter, uint64_t key, naysay_error* error);
// Report a false positive that cost this much: a key that was accepted and is not in the set.
NAYSAY_EXPORT naysay_code naysay_adapt_text(naysay_filter* filter, const char* data, size_t size, float cost,
                                            naysay_error* error);
NAYSAY_EXPORT naysay_code naysay_adapt_integer(naysay_filter* filter, uint64_t key, float cost, naysay_error* error);
// Batches. They end at the first key that fails; *done (may be NULL) becomes the number of keys before it.
NAYSAY_EXPORT naysay_code naysay_insert(naysay_filter* filter, naysay_keys keys, uint64_t* done, naysay_error* error);
NAYSAY_EXPORT naysay_code naysay_erase(naysay_filter* filter, naysay_keys keys, uint64_t* done, naysay_error* error);
// Does not end at NAYSAY_NO_ROOM: *done becomes the number of negatives that are refused from now on.
NAYSAY_EXPORT naysay_code naysay_adapt(naysay_filter* filter, naysay_keys negatives, const float* costs, uint64_t* done,
                                       naysay_error* error);
// For NAYSAY_CAN_WARM: is it full of reports; and put them to use, given the keys of the build again.
NAYSAY_EXPORT int naysay_is_full(const naysay_filter* filter);
NAYSAY_EXPORT naysay_code naysay_warm(naysay_filter* filter, naysay_keys keys, naysay_error* error);
// For NAYSAY_ADAPTS_WITH_KEY_FILE: until a file of its keys is attached, naysay_adapt is NAYSAY_UNSUPPORTED.
// naysay_write_key_file makes it from exactly the keys of the build (with a wrong one in the place of a key, a later
// naysay_adapt may deny this key). An old file is replaced with its records, unless a filter has it attached.
NAYSAY_EXPORT naysay_code naysay_write_key_file(const naysay_filter* filter, const char* path, naysay_keys keys,
                                                naysay_error* error);
// naysay_attach_key_file applies what the file has recorded. From then on it records what the filter adapts to, and it
// is locked until the filter is freed; a clone has none, and a child process does not adapt. NAYSAY_INVALID_ARGUMENT:
// it is another filter's. NAYSAY_CORRUPT: it is damaged.
NAYSAY_EXPORT naysay_code naysay_attach_key_file(naysay_filter* filter, const char* path, naysay_error* error);
// Returns when what was recorded is on the disk. NAYSAY_UNSUPPORTED: no file is attached.
NAYSAY_EXPORT naysay_code naysay_sync_key_file(const naysay_filter* filter, naysay_error* error);

// ---- inspect -------------------------------------------------------------------------------------------------------

NAYSAY_EXPORT const naysay_type* naysay_type_of(const naysay_filter* filter);
NAYSAY_EXPORT uint64_t naysay_key_count(const naysay_filter* filter);  // built from, plus inserted, less erased
NAYSAY_EXPORT naysay_key_kind naysay_kind_of(const naysay_filter* filter);
NAYSAY_EXPORT uint64_t naysay_size_bits(const naysay_filter* filter);   // of what a query needs
NAYSAY_EXPORT uint64_t naysay_index_bits(const naysay_filter* filter);  // of what only insert needs
NAYSAY_EXPORT double naysay_expected_fpr(const naysay_filter* filter);  // on strangers; may read the whole filter
NAYSAY_EXPORT int naysay_is_borrowed(const naysay_filter* filter);      // 1: it lies in a mapped file or in a view
NAYSAY_EXPORT naysay_code naysay_params(const naysay_filter* filter, naysay_visit visit, void* user,
                                        naysay_error* error);
// What the filter says of itself beyond that; nothing for most filters.
NAYSAY_EXPORT naysay_code naysay_describe(const naysay_filter* filter, naysay_visit visit, void* user,
                                          naysay_error* error);

// ---- compare -------------------------------------------------------------------------------------------------------

// One filter on the caller's keys. Rates are NaN if there is nothing to count.
typedef struct naysay_row {
  size_t size;          // of this structure, as the library knows it
  const char* filter;   // its name
  const char* problem;  // why there are no numbers; NULL: there are
  double bits_per_key;
  double fpr;        // share of the strangers that it accepts
  double known_fpr;  // share of the known negatives
  double wfpr;       // share of their cost
  uint64_t false_negatives;
  double build_ns;  // per key
  double batch_ns;  // per query, in batches
  uint64_t bytes;
} naysay_row;
typedef int (*naysay_take_row)(void* user, const naysay_row* row);

// Builds the named filters (all, if `filter_count` is 0) one after the other and calls take for each. A tenth of the
// negatives, chosen by a hash of key and seed, is not given to the filters: these are the strangers. The rates are those
// of `naysay compare`. A result of take other than 0 ends it with NAYSAY_CANCELLED.
NAYSAY_EXPORT naysay_code naysay_compare(const char* const* filters, size_t filter_count, naysay_keys keys,
                                         naysay_keys negatives, const float* costs, const naysay_build_options* options,
                                         naysay_take_row take, void* user, naysay_error* error);

#ifdef __cplusplus
}
#endif

#endif  // NAYSAY_NAYSAY_H_
