// SPDX-License-Identifier: Apache-2.0
#include "parts/signals.hpp"

#include <csignal>

#include "naysay/core/files.hpp"

namespace naysay::cli {

namespace {

// The default action is back when this runs (SA_RESETHAND), so the signal that is raised here ends the process as soon
// as this returns.
extern "C" void clean_up(int signal) {
  files::remove_temporaries();
  ::raise(signal);
}

}  // namespace

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = clean_up;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigfillset(&ours.sa_mask);
    ::sigaction(signal, &ours, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace naysay::cli
