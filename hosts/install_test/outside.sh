#!/bin/sh
# outside.sh BUILD_DIR SOURCE_DIR COMPILER COMPONENT...: installs what was built into a fresh prefix, and builds and runs
# an outside project that finds the components there.
set -eu
build=$1 source=$2 compiler=$3
shift 3
components=$(printf '%s;' "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/project" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" "-DCOMPONENTS=${components%;}" >/dev/null
cmake --build "$work/cmake" >/dev/null
ctest --test-dir "$work/cmake" --output-on-failure
