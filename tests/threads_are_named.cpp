// SPDX-License-Identifier: Apache-2.0
// Part of every test program: a test that starts a thread must have "Thread" in its name, because by that word CI finds
// the tests that it runs under TSan (preset `threads`). Slow suites, which CI leaves out, use threads to be quicker and
// need not say so. Counts calls of pthread_create by standing before libc's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <string>

namespace {

std::atomic<int> started = 0;

class ThreadsAreNamed : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { started = 0; }
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    if (started > 0 && name.find("Thread") == std::string::npos && name.find("Slow") == std::string::npos)
      ADD_FAILURE() << name << " starts threads; say so in its name, so that it runs under TSan too";
  }
};

// Before main: GoogleTest owns it.
const bool kAppended = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new ThreadsAreNamed);
  return true;
}();

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*body)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const Create real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  ++started;
  return real(thread, attributes, body, argument);
}
