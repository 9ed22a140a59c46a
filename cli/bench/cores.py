#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build, query and verify of a taught ribbon with 1, 2, 4, ... threads, as JSON lines: cores.py NAYSAY [ARGS]

--keys N        keys (1,000,000; docs/scale.md: 50,000,000)
--negatives N   known negatives (2,000,000; docs/scale.md: 100,000,000)
--bits X        bits per key (8)
--runs N        runs of each command (3)

Seconds are of the wall, the median of the runs, with the fastest and the slowest; `ratio` is the median with one thread over
it. Fails if a file has other bytes, or an answer other text, than with one thread.

Example:
  ./dev bench cores --keys 50000000 --negatives 100000000        # the table of docs/scale.md
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("naysay")
parser.add_argument("--keys", type=int, default=1_000_000)
parser.add_argument("--negatives", type=int, default=2_000_000)
parser.add_argument("--bits", type=float, default=8)
parser.add_argument("--runs", type=int, default=3)
options = parser.parse_args()
if min(options.keys, options.negatives, options.runs) < 1:
    parser.error("--keys, --negatives and --runs must be at least 1")

cores = len(os.sched_getaffinity(0))
threads = [n for n in (2**i for i in range(20)) if n < cores] + [cores]


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name)

    def generate(name, count, first, *more):
        subprocess.run([options.naysay, "generate", "urls", "--count", str(count), "--seed", "7", "--first", str(first), *more,
                        "-o", path(name)], check=True)

    generate("keys", options.keys, 0)
    generate("known", options.negatives, options.keys, "--zipf", "1")
    both = ["--keys", path("keys"), "--negatives", path("known")]
    commands = {
        "build": ["build", "--filter", "taught-ribbon", "--bits-per-key", str(options.bits), *both, "-o", path("set.nsy")],
        "query": ["query", path("set.nsy"), path("keys")],
        "query --count": ["query", path("set.nsy"), "--negatives", path("known"), "--count"],
        "verify": ["verify", path("set.nsy"), *both],
    }
    for name, command in commands.items():
        alone = expected = None
        for n in threads:
            seconds = []
            for _ in range(options.runs):
                start = time.monotonic()
                with open(path("answer"), "wb") as answer:
                    code = subprocess.run([options.naysay, *command, "--threads", str(n)], stdout=answer).returncode
                # A query that accepts none ends with 1, as grep does.
                if code != 0 and not (code == 1 and command[0] == "query"):
                    sys.exit(f"cores: naysay {name} failed with {n} threads")
                seconds.append(time.monotonic() - start)
                given = checksum(path("set.nsy" if name == "build" else "answer"))
                expected = expected or given
                if given != expected:
                    sys.exit(f"cores: naysay {name} with {n} threads gave something else than with one")
            median = statistics.median(seconds)
            alone = alone or median
            print(json.dumps({
                "command": name, "threads": n, "keys": options.keys, "negatives": options.negatives,
                "bits_per_key": options.bits, "seconds": round(median, 3), "low": round(min(seconds), 3),
                "high": round(max(seconds), 3), "ratio": round(alone / median, 2), "cores": cores}), flush=True)
