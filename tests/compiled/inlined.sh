#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inlined.sh COMPILER: a query that is compiled for a machine calls nothing and does not look up what the machine has.
# One that is compiled for all machines does, or this test could not fail.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# calls FLAGS...: how often the query calls or jumps to another function, or reads the level of this machine.
calls() {
  "$1" -std=c++20 -O2 -DNDEBUG -I"$here/../../include" -S "$here/inlined.cpp" -o "$work/query.s" $2
  awk '/^_Z5query.*:/ { inside = 1 } /\.size[ \t]+_Z5query/ { inside = 0 } inside' "$work/query.s" |
    grep -cE 'cpu_detail|[ \t](call|jmp)q?[ \t]+\**_Z' || true
}
avx512='-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vbmi2 -mavx512vpopcntdq -mbmi -mbmi2'
for flags in -mavx2 '-mavx2 -mbmi -mbmi2' "$avx512"; do
  count=$(calls "$1" "$flags")
  [ "$count" = 0 ] || { echo "compiled with $flags, a query calls other functions $count times; it must not" >&2; exit 1; }
done
[ "$(calls "$1" '')" != 0 ] || { echo "a query compiled for all machines must decide at run time" >&2; exit 1; }
