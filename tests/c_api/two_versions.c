// SPDX-License-Identifier: Apache-2.0
// two_versions A.so B.so: loads two naysay libraries into one process, both for everybody to see, uses both, and unloads
// them. symbols.sh watches that neither binds to the other.
#include <dlfcn.h>
#include <naysay/naysay.h>
#include <stdio.h>

static const char* use(void* library) {
  naysay_code (*build)(const char*, naysay_keys, naysay_keys, const float*, const naysay_build_options*,
                       naysay_filter**, naysay_error*);
  int (*contains)(const naysay_filter*, uint64_t);
  void (*release)(naysay_filter*);
  naysay_filter* f = NULL;
  naysay_error error;
  uint64_t key, keys[100];
  int denied = 0;
  // As POSIX has it: ISO C has no conversion from an object to a function.
  *(void**)&build = dlsym(library, "naysay_build");
  *(void**)&contains = dlsym(library, "naysay_contains_integer");
  *(void**)&release = dlsym(library, "naysay_free");
  if (!build || !contains || !release) return "a function is missing";
  for (key = 0; key < 100; ++key) keys[key] = key;
  if (build("taught-ribbon", naysay_integers(keys, 100), naysay_no_keys(), NULL, NULL, &f, &error)) return "no build";
  for (key = 0; key < 100; ++key) denied += contains(f, key) != 1;
  release(f);
  return denied ? "keys are denied" : NULL;
}

int main(int argc, char** argv) {
  void* libraries[2];
  int i;
  if (argc != 3) return 2;
  for (i = 0; i < 2; ++i) {
    libraries[i] = dlopen(argv[i + 1], RTLD_NOW | RTLD_GLOBAL);
    if (!libraries[i]) return fprintf(stderr, "%s\n", dlerror()), 1;
  }
  if (dlsym(libraries[0], "naysay_build") == dlsym(libraries[1], "naysay_build"))
    return fprintf(stderr, "one library\n"), 1;
  for (i = 0; i < 2; ++i) {
    const char* problem = use(libraries[i]);
    if (problem) return fprintf(stderr, "%s: %s\n", argv[i + 1], problem), 1;
  }
  for (i = 0; i < 2; ++i) {
    dlclose(libraries[i]);
    if (dlopen(argv[i + 1], RTLD_NOW | RTLD_NOLOAD)) return fprintf(stderr, "%s stays loaded\n", argv[i + 1]), 1;
  }
  return 0;
}
