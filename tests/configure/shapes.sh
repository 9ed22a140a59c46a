#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shapes.sh SOURCE_DIR COMPILER ZSTD_INCLUDE ZSTD_LIBRARY: configures the project in each shape that a user may choose.
# CMAKE_DISABLE_FIND_PACKAGE_* stands for what is not installed. Nothing is compiled.
set -eu
source=$1 compiler=$2 zstd_include=$3 zstd_library=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_BUILD_TYPE CMAKE_CXX_COMPILER_LAUNCHER CMAKE_EXPORT_COMPILE_COMMANDS

fail() {
  echo "$shape: $*" >&2
  exit 1
}
# configure SHAPE SOURCE [OPTION...]
configure() {
  shape=$1 from=$2
  shift 2
  cmake -G Ninja -S "$from" -B "$work/$shape" -DCMAKE_CXX_COMPILER="$compiler" "$@" >"$work/$shape.log" 2>&1 || {
    cat "$work/$shape.log" >&2
    fail "cannot be configured"
  }
}
has() { grep -q -e "$1" "$work/$shape/build.ninja"; }
no_tool='-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON'
no_tests='-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON -DRAPIDCHECK_INCLUDE=RAPIDCHECK_INCLUDE-NOTFOUND'

# shellcheck disable=SC2086
configure library "$source" -DNAYSAY_TOOL=OFF -DNAYSAY_TESTS=OFF -DNAYSAY_CUDA=OFF $no_tool $no_tests
has libnaysay.a || fail "has no library"
! has naysay_tool || fail "has the tool"
! has naysay_python || fail "has the Python package"

# The preset that ./dev demo uses. An empty prefix cannot hide a header in /usr/include: whoever looks for rapidcheck
# leaves a trace in the cache.
# shellcheck disable=SC2086
configure tool "$source" --preset release -DNAYSAY_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON
has 'cli/naysay' || fail "has no tool"
! has _test || fail "has tests"
! grep -q RAPIDCHECK "$work/tool/CMakeCache.txt" || fail "looks for rapidcheck"

# shellcheck disable=SC2086
configure cuda_off "$source" -DNAYSAY_TESTS=OFF -DNAYSAY_CUDA=OFF -DNAYSAY_PYTHON=OFF
! has naysay_python || fail "has the Python package"
! has naysay_cuda || fail "has the CUDA builder"
! grep -q NAYSAY_NVCC "$work/cuda_off/CMakeCache.txt" || fail "looks for nvcc"

# Without OpenSSL there are no updates, and the tool says so.
configure without_updates "$source" -DNAYSAY_TESTS=OFF -DNAYSAY_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
! has naysay_updates || fail "has updates without OpenSSL"
configure updates_off "$source" -DNAYSAY_TESTS=OFF -DNAYSAY_CUDA=OFF -DNAYSAY_UPDATES=OFF
! has naysay_updates || fail "has updates"

# shellcheck disable=SC2086
configure embedded "$source/tests/configure/embedded" -DNAYSAY="$source" -DNAYSAY_CUDA=OFF $no_tool $no_tests
cmake --install "$work/embedded" --prefix "$work/prefix" >/dev/null || fail "cannot install nothing"
[ ! -e "$work/prefix" ] || fail "installs $(find "$work/prefix" -type f | head -n 3)"
# shellcheck disable=SC2086
configure embedded_install "$source/tests/configure/embedded" -DNAYSAY="$source" -DNAYSAY_INSTALL=ON -DNAYSAY_CUDA=OFF \
  $no_tool $no_tests
grep -q naysay-config.cmake "$work/embedded_install/naysay/cmake_install.cmake" || fail "installs nothing"

# zstd in a prefix of its own: the shared library is linked by that path, not by its name.
mkdir -p "$work/elsewhere/include" "$work/elsewhere/lib"
cp "$zstd_include"/z*.h "$work/elsewhere/include"
cp -L "$zstd_library" "$work/elsewhere/lib"
configure zstd "$source" -DNAYSAY_TOOL=OFF -DNAYSAY_TESTS=OFF -DNAYSAY_CUDA=OFF -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_PREFIX_PATH="$work/elsewhere"
has "$work/elsewhere/lib/$(basename "$zstd_library")" || fail "does not link the zstd of its prefix"
! has '-lzstd' || fail "links whatever is called zstd"
has "-isystem $work/elsewhere/include" || fail "does not include the zstd of its prefix"
