# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header that names the commit of SOURCE; touches it only when that changes.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
     "// Made by cmake/commit.cmake.\n#pragma once\n\ninline constexpr const char* kCommit = \"${commit}\";\n")
