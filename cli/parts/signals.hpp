// SPDX-License-Identifier: Apache-2.0
// Signals: what a run leaves when it is ended from outside.
#pragma once

namespace naysay::cli {

// From now on, a signal that ends the process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU) removes the temporary
// files first; the process still ends by that signal. Signals that were ignored (nohup) stay ignored. A file larger than
// the limit of the shell becomes an error of the write, not a signal.
void remove_temporaries_on_signals();

}  // namespace naysay::cli
