// SPDX-License-Identifier: Apache-2.0
// A blocklist lookup as a proxy's module would have it: requests come in, a mapped filter answers, and a new file takes
// its place without a restart.
//
//   lookup FILTER.nsy < hosts      prints "HOST pass" or "HOST check" for each line
//
// "pass" is certain: the host is not blocked. "check" sends the request to the slow, exact list. The name of a host is
// looked up with its parent domains: ads.evil.example is blocked where evil.example is. The file is mapped, so workers of
// a server share its memory; naysay_save replaces it by rename, so a worker sees the old file or the new one.
#include <naysay/naysay.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Blocklist {
  const char* path;
  naysay_filter* filter;
  dev_t device;
  ino_t file;
} Blocklist;

// Opens the file again if it is another one than before. A file that cannot be opened leaves the old filter in use.
static int refresh(Blocklist* list, naysay_error* error) {
  struct stat now;
  naysay_filter* next = NULL;
  if (stat(list->path, &now) == 0 && list->filter && now.st_ino == list->file && now.st_dev == list->device) return 0;
  if (naysay_open(list->path, &next, error)) return list->filter ? 0 : -1;
  naysay_free(list->filter);  // a server with threads waits for its readers first
  list->filter = next;
  list->device = now.st_dev;
  list->file = now.st_ino;
  return 0;
}

// 1 if the host or one of its parents may be blocked.
static int may_be_blocked(const Blocklist* list, const char* host) {
  naysay_text names[32];
  uint8_t answers[32];
  uint64_t count = 0, i;
  const char* at = host;
  while (at && *at && count < 32) {
    names[count].data = at;
    names[count++].size = strlen(at);
    at = strchr(at, '.');
    if (at) ++at;
  }
  if (naysay_contains(list->filter, naysay_texts(names, count), answers, NULL))
    return 1;  // what cannot be known: check
  for (i = 0; i < count; ++i)
    if (answers[i]) return 1;
  return 0;
}

int main(int argc, char** argv) {
  Blocklist list = {NULL, NULL, 0, 0};
  naysay_error error;
  char host[1024];
  if (argc != 2) return fprintf(stderr, "usage: lookup FILTER.nsy < hosts\n"), 2;
  list.path = argv[1];
  while (fgets(host, sizeof host, stdin)) {
    host[strcspn(host, "\r\n")] = '\0';
    if (refresh(&list, &error)) return fprintf(stderr, "%s\n", error.message), 1;
    printf("%s %s\n", host, may_be_blocked(&list, host) ? "check" : "pass");
    fflush(stdout);
  }
  naysay_free(list.filter);
  return 0;
}
