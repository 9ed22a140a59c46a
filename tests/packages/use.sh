#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# use.sh FOLDER: on a bare Debian, as root: installs the packages in FOLDER, runs the examples of README.md and c.md in it
# that they are for, removes the packages, and sees that nothing of them is left. ./dev bare runs it.
set -eu
folder=$1
export DEBIAN_FRONTEND=noninteractive
say() { printf 'packages: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# block LANGUAGE FILE: the first example in that language.
block() {
  awk -v start="\`\`\`$1" '$0 == start && !done { inside = 1; next } /^```/ && inside { done = 1; exit } inside' "$folder/$2"
}
# run NAME COMMAND...: a failure says which example it was.
run() {
  say "$1"
  shift
  "$@" >"$work/output" 2>&1 || {
    cat "$work/output" >&2
    fail "failed: $*"
  }
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
files_of_the_system() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var -o -path "$work" \
  -o -path "$folder" -o -path /root \) -prune -o -print | sort; }

apt-get update -qq
apt-get install -y -qq --no-install-recommends g++ cmake make pkgconf python3 redis-tools >/dev/null 2>&1
files_of_the_system >"$work/before"
dpkg-query -W -f '${Package}\n' | sort >"$work/packages_before"
say "installing $(basename -a "$folder"/*.deb | tr '\n' ' ')"
apt-get install -y -qq --no-install-recommends "$folder"/*.deb >"$work/output" 2>&1 || { cat "$work/output" >&2; fail "cannot be installed"; }

run "the tool" sh -euc 'printf "%s\n" evil.example worse.example worst.example > blocked.txt
  printf "%s\t%s\n" popular.example 1000 niche.example 2 > allowed.tsv
  naysay build --keys blocked.txt --negatives allowed.tsv --bits-per-key 10 -o blocked.nsy
  naysay query blocked.nsy blocked.txt
  naysay verify blocked.nsy --keys blocked.txt
  test -f /usr/share/man/man1/naysay-build.1.gz
  test -f /usr/share/bash-completion/completions/naysay'
block cpp README.md >example.cpp
run "C++ through pkg-config" sh -euc 'g++ -std=c++20 example.cpp $(pkg-config --cflags --libs naysay) -o shared
  ./shared
  ldd ./shared | grep -q libnaysay.so'
mkdir project
cp example.cpp project/
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(example CXX)' 'find_package(naysay REQUIRED)' \
  'add_executable(example example.cpp)' 'target_link_libraries(example PRIVATE naysay::naysay)' >project/CMakeLists.txt
run "C++ through CMake" sh -euc 'cmake -S project -B made >/dev/null && cmake --build made && made/example'
block c c.md >example.c
run "C" sh -euc 'gcc -std=c99 -Wall -Werror example.c $(pkg-config --cflags --libs naysay-c) -o c_example && ./c_example'
case $(echo "$folder"/*.deb) in
  *python3-naysay*)
    block python README.md >example.py
    [ -s example.py ] || fail "README.md has no example in Python"
    run "Python" python3 example.py
    ;;
esac
case $(echo "$folder"/*.deb) in
  *naysay-redis*)
    ln -s "$(command -v redis-check-rdb)" redis-server
    module=$(dpkg -L naysay-redis | grep 'naysay-redis\.so$')
    run "Redis" sh -euc './redis-server --port 0 --unixsocket "$PWD/socket" --save "" --daemonize yes --logfile log --loadmodule "$1"
      for i in 1 2 3 4 5 6 7 8 9 10; do redis-cli -s socket ping >/dev/null 2>&1 && break; sleep 1; done
      cat log
      test "$(redis-cli -s socket NS.ADD set evil.example)" = 1
      test "$(redis-cli -s socket NS.EXISTS set evil.example)" = 1
      redis-cli -s socket shutdown nosave || true' redis "$module"
    ;;
esac

say "removing them"
dpkg-query -W -f '${Package}\n' | sort | comm -13 "$work/packages_before" - >"$work/installed"
# shellcheck disable=SC2046
apt-get purge -y -qq $(cat "$work/installed") >"$work/output" 2>&1 || { cat "$work/output" >&2; fail "cannot be removed"; }
files_of_the_system >"$work/after"
left=$(comm -13 "$work/before" "$work/after" | grep -v -e __pycache__ -e '^/etc/ld.so.cache' || true)
[ -z "$left" ] || fail "left behind: $left"
say "all examples ran"
