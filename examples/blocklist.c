// SPDX-License-Identifier: Apache-2.0
// The C API from beginning to end: build, save, open, query in batches, and a filter that changes.
//
//   blocklist FOLDER     writes blocked.nsy there
#include <naysay/naysay.h>
#include <stdio.h>
#include <string.h>

static naysay_text text(const char* from) {
  naysay_text t = {from, strlen(from)};
  return t;
}

int main(int argc, char** argv) {
  const naysay_text blocked[] = {text("evil.example"), text("worse.example"), text("worst.example")};
  const naysay_text allowed[] = {text("popular.example"), text("niche.example")};
  const float costs[] = {1000, 2};
  const naysay_text visits[] = {text("popular.example"), text("worse.example"), text("new.example")};
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  naysay_filter *filter = NULL, *live = NULL;
  naysay_error error;
  uint8_t answers[3];
  char path[4096];
  int i;
  snprintf(path, sizeof path, "%s/blocked.nsy", argc > 1 ? argv[1] : ".");

  options.bits_per_key = 12;
  if (naysay_build("auto", naysay_texts(blocked, 3), naysay_texts(allowed, 2), costs, &options, &filter, &error) ||
      naysay_save(filter, path, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  naysay_free(filter);

  if (naysay_open(path, &filter, &error) || naysay_contains(filter, naysay_texts(visits, 3), answers, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  printf("%s, %llu keys\n", naysay_type_name(naysay_type_of(filter)), (unsigned long long)naysay_key_count(filter));
  for (i = 0; i < 3; ++i) printf("%s: %s\n", visits[i].data, answers[i] ? "maybe blocked" : "not blocked");

  // A static filter accepts no more keys, and says so. One that does is another type.
  if (naysay_insert_text(filter, "newest.example", 14, &error) == NAYSAY_UNSUPPORTED)
    printf("%.60s...\n", error.message);
  naysay_free(filter);
  options.bits_per_key = 24;
  options.capacity = 1000;
  if (naysay_build("guarded", naysay_texts(blocked, 3), naysay_no_keys(), NULL, &options, &live, &error) ||
      naysay_insert_text(live, "newest.example", 14, &error) ||
      naysay_adapt_text(live, "unlucky.example", 15, 1000, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  i = naysay_contains_text(live, "newest.example", 14) == 1 && naysay_contains_text(live, "unlucky.example", 15) == 0;
  naysay_free(live);
  return answers[0] == 0 && answers[1] == 1 && i ? 0 : 1;
}
