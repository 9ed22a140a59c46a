#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pipeline: a day's blocklist and yesterday's traffic become a filter, and today's traffic goes through it.
# Needs naysay in PATH. Writes into the current folder.
set -eu

# Whatever lists there are, in whatever form: here 5,000 made-up addresses, packed.
naysay generate urls --count 5000 -o - | gzip >blocked.gz

# Yesterday's traffic says which other addresses matter: key<TAB>cost, from "address count" lines.
naysay generate urls --count 5000 --first 5000 --zipf 1 -o allowed.tsv

naysay build --keys blocked.gz --negatives allowed.tsv --bits-per-key 10 -o blocked.nsy
naysay inspect blocked.nsy

# Today's traffic: what the filter accepts goes to the exact check, the rest passes.
cut -f 1 allowed.tsv | head -n 1000 >traffic.txt
gzip -dc blocked.gz | head -n 10 >>traffic.txt
naysay query blocked.nsy traffic.txt >check.txt
echo "$(wc -l <check.txt) of $(wc -l <traffic.txt) addresses need the exact check"
