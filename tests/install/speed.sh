#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# speed.sh BUILD_DIR: installs what was built and compiles speed.cpp against it twice, with the interface options of
# naysay::naysay and with the optimisation that they switch off; prints one JSON line for each filter of each program.
set -eu
build=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name naysay.pc)") pkg-config --static --cflags --libs naysay)
# shellcheck disable=SC2086
g++ -O3 "$here/project/speed.cpp" $flags -o "$work/with"
# shellcheck disable=SC2086
g++ -O3 "$here/project/speed.cpp" $flags -ftree-slp-vectorize -o "$work/without"
"$work/with" "with the interface options"
"$work/without" "without"
