#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outside.sh BUILD_DIR SOURCE_DIR COMPILER
set -eu
build=$1 source=$2 compiler=$3
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
