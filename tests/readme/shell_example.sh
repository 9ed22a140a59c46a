#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shell_example.sh README FOLDER_OF_NAYSAY: runs the README's sh blocks that call naysay, in order, in an empty folder.
set -eu
readme=$1
PATH=$2:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
awk '/^```sh$/ { inside = 1; block = ""; next }
     /^```$/   { if (inside && block ~ /(^|\n)naysay /) printf "%s", block; inside = 0; next }
     inside    { block = block $0 "\n" }' "$readme" >example.sh
grep -q '^naysay ' example.sh || { echo "README.md has no shell example" >&2; exit 1; }
sh -eux example.sh
