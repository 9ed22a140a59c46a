#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh LIBRARY OTHER VERSION LIST PROGRAM: the binary interface of a shared libnaysay changes only on purpose.
#   LIBRARY, OTHER   the library, and the same with another version of its symbols
#   VERSION          the version that every symbol of LIBRARY must have
#   LIST             the functions of the C API, one per line
#   PROGRAM          two_versions
set -eu
library=$1 other=$2 version=$3 list=$4 program=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}

# "TYPE NAME@@VERSION" of what it exports, demangled where it is C++.
LC_ALL=C nm -D --defined-only --with-symbol-versions "$library" | sed 's/^[0-9a-f]* //' | LC_ALL=C sort >"$work/all"
! grep -v -e "@@$version\$" -e "^A $version" "$work/all" | grep . || fail "these symbols have no version $version"
! grep '^u ' "$work/all" || fail "these symbols are unique in a process"
sed -n 's/^[A-Za-z] \(naysay_[a-z0-9_]*\)@@.*/\1/p' "$work/all" >"$work/c"
diff "$list" "$work/c" || fail "the C API has other functions than $list; if that is meant, change the list and CHANGELOG.md"
sed 's/^[A-Za-z] //; s/@@.*//' "$work/all" | grep -v '^naysay_' | c++filt | grep -v -e '^naysay::' -e "^$version" &&
  fail "these symbols are not naysay's"
grep -q _ZN6naysay "$work/all" || fail "the C++ interface is missing"

# Two libraries in one process.
"$program" "$library" "$other"
"$program" "$other" "$library"
LD_DEBUG=bindings "$program" "$library" "$other" 2>"$work/bindings" || fail "two libraries do not live together"
a=$(basename "$library") b=$(basename "$other")
grep -q "binding file .*$b.* to .*$b.*normal symbol" "$work/bindings" || fail "the linker says nothing of $b"
! grep -e "binding file [^ ]*$a [^ ]* to [^ ]*$b " -e "binding file [^ ]*$b [^ ]* to [^ ]*$a " "$work/bindings" ||
  fail "one library uses the other"
