// SPDX-License-Identifier: Apache-2.0
// System calls that fail on demand, for a program that links failing_calls.cpp.
//
//   FailingCalls calls(Fault::no_space, 3);      // from the fourth write on, the disk is full
//   auto saved = filter.save(path);
//   calls.seen()                                 // how many calls could have failed; more than 3: some did
//
// The library calls write, fsync, rename and others by their names, so a program that defines them is asked first.
// Calls about the standard streams always work.
#pragma once

// TSan follows files and mappings through these names, so under it no call can fail.
#if defined(__SANITIZE_THREAD__)
#define NAYSAY_CALLS_CAN_FAIL 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NAYSAY_CALLS_CAN_FAIL 0
#endif
#endif
#ifndef NAYSAY_CALLS_CAN_FAIL
#define NAYSAY_CALLS_CAN_FAIL 1
#endif

enum class Fault : int {
  none,
  no_space,     // write, pwrite, posix_fallocate, ftruncate: ENOSPC, from the n-th call on
  no_sync,      // fsync, fdatasync, msync: EIO
  no_rename,    // rename: EACCES
  no_file,      // open, mkstemp: EMFILE
  no_mapping,   // mmap of a file: ENOMEM
  no_close,     // close: EIO
  no_chmod,     // fchmod, fchown: EPERM
  short_write,  // write, pwrite: at most one byte per call, from the n-th call on; that is no error
  interrupted,  // write, pwrite: EINTR; that is no error either
};
inline constexpr Fault kFaults[] = {Fault::no_space, Fault::no_sync,     Fault::no_rename,
                                    Fault::no_file,  Fault::no_mapping,  Fault::no_close,
                                    Fault::no_chmod, Fault::short_write, Fault::interrupted};
inline constexpr const char* kFaultNames[] = {"none",       "no_space", "no_sync",  "no_rename",   "no_file",
                                              "no_mapping", "no_close", "no_chmod", "short_write", "interrupted"};

extern "C" void naysay_fail_calls(int fault, long after);  // after this many calls that work
extern "C" long naysay_calls_seen();                       // since then, of those that the fault is about

class FailingCalls {
 public:
  FailingCalls(Fault fault, long after) { naysay_fail_calls(static_cast<int>(fault), after); }
  ~FailingCalls() { naysay_fail_calls(0, 0); }
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;
  long seen() const { return naysay_calls_seen(); }
};
