#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outside.sh BUILD_DIR SOURCE_DIR COMPILER C_COMPILER
set -eu
build=$1 source=$2 compiler=$3 c_compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/project" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
cmake --build "$work/cmake" >/dev/null
"$work/cmake/outside"
flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name naysay.pc)") pkg-config --static --cflags --libs naysay)
# shellcheck disable=SC2086
"$compiler" "$source/project/outside.cpp" $flags -o "$work/outside"
"$work/outside"
# The first C example of docs/c.md, in C99, against the install tree.
sed -n '/^```c$/,/^```$/p' "$source/../../docs/c.md" | sed '/^```/d' >"$work/blocked.c"
grep -q naysay_build "$work/blocked.c"
flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name naysay-c.pc)") pkg-config --static --cflags --libs naysay-c)
# shellcheck disable=SC2086
"$c_compiler" -std=c99 -Wall -Wextra -Werror -pedantic "$work/blocked.c" $flags -o "$work/blocked"
printf 'evil.example: maybe\npopular.example: no\n' >"$work/expected"
(cd "$work" && ./blocked >answers && cmp answers expected)
