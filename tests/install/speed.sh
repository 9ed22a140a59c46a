#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# speed.sh BUILD_DIR: installs what was built and compiles speed.cpp against it three times: with the interface options of
# naysay::naysay, with the optimisation that they switch off, and for this machine; prints one JSON line for each filter of
# each program.
set -eu
build=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name naysay.pc)") pkg-config --static --cflags --libs naysay)
# A build for packages installs a shared library too, which would be linked instead and not be found.
flags=$(printf '%s' "$flags" | sed 's/-lnaysay\>/-l:libnaysay.a/')
# shellcheck disable=SC2086
g++ -O3 "$here/project/speed.cpp" $flags -o "$work/with"
# shellcheck disable=SC2086
g++ -O3 "$here/project/speed.cpp" $flags -ftree-slp-vectorize -o "$work/without"
# shellcheck disable=SC2086
g++ -O3 -march=native "$here/project/speed.cpp" $flags -o "$work/native"
"$work/with" "with the interface options"
"$work/without" "without"
"$work/native" "for this machine"
