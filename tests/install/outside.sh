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
pc=$(find "$work/prefix" -name naysay.pc)
libraries=$(dirname "$(dirname "$pc")")
# The C examples of docs/c.md and the README, in C99, against the install tree.
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs naysay-c)
for page in docs/c.md README.md; do
  awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$source/../../$page" >"$work/example.c"
  grep -q naysay_build "$work/example.c"
  # shellcheck disable=SC2086
  "$c_compiler" -std=c99 -Wall -Wextra -Werror -pedantic "$work/example.c" $flags -o "$work/example"
  (cd "$work" && LD_LIBRARY_PATH=$libraries ./example | grep -q '^evil.example: maybe$')
done
# compiles WAY [pkg-config options]: with what pkg-config says and nothing else.
compiles() {
  way=$1
  shift
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "$@" --cflags --libs naysay)
  for program in outside everything; do
    # shellcheck disable=SC2086
    { "$compiler" -fvisibility=hidden "$source/project/$program.cpp" $flags -o "$work/$program" &&
      LD_LIBRARY_PATH=$libraries "$work/$program"; } || {
      echo "$way: $program fails with what pkg-config $* says: $flags" >&2
      exit 1
    }
  done
}
# First the static library alone, then the shared one, made of the same objects if there is none.
mkdir "$work/aside"
find "$libraries" -maxdepth 1 -name 'libnaysay.so*' -exec mv {} "$work/aside" ';'
if [ -e "$libraries/libnaysay.a" ]; then
  compiles static
  compiles static --static
  [ -e "$work/aside/libnaysay.so" ] ||
    # shellcheck disable=SC2046
    "$compiler" -shared -Wl,--whole-archive "$libraries/libnaysay.a" -Wl,--no-whole-archive -Wl,-z,defs -pthread \
      $(pkg-config --libs zlib libzstd) -o "$work/aside/libnaysay.so"
  rm "$libraries/libnaysay.a"
fi
mv "$work/aside"/* "$libraries"
sed -i 's/^Requires:/Requires.private:/' "$pc"
compiles shared
