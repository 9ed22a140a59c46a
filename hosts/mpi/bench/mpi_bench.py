#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""naysay-mpi on 1, 2 and 4 ranks next to naysay build on 1 and 2 threads, as JSON lines: mpi_bench.py NAYSAY MPI [ARGS]

--keys N        keys (1,000,000)
--negatives N   known negatives (2,000,000)
--bits X        bits per key (8)

Seconds are of the wall; `ratio` is to the first line. `cpu_seconds` is of all processes together. Every file is compared with
the first one.
"""
import argparse
import filecmp
import json
import os
import resource
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("naysay")
parser.add_argument("mpi")
parser.add_argument("--keys", type=int, default=1_000_000)
parser.add_argument("--negatives", type=int, default=2_000_000)
parser.add_argument("--bits", type=float, default=8)
options = parser.parse_args()

# One machine; more ranks than cores give way to each other.
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_plm_rsh_agent="false", OMPI_MCA_btl_vader_single_copy_mechanism="none")

with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name)

    def generate(name, count, first, *more):
        subprocess.run([options.naysay, "generate", "urls", "--count", str(count), "--first", str(first), *more, "-o",
                        path(name)], check=True)

    generate("keys", options.keys, 0)
    generate("known", options.negatives, options.keys, "--zipf", "1")
    build = ["build", "--filter", "taught-ribbon", "--keys", path("keys"), "--negatives", path("known"),
             "--bits-per-key", str(options.bits)]
    runs = [("threads", 1), ("threads", 2), ("ranks", 1), ("ranks", 2), ("ranks", 4)]
    first = None
    for kind, n in runs:
        if kind == "threads":
            command = [options.naysay, *build, "--threads", str(n)]
        else:
            command = ["mpirun", "--oversubscribe", "-n", str(n), options.mpi, *build]
        out = path(f"{kind}{n}.nsy")
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([*command, "-o", out], check=True, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        first = first or seconds
        assert filecmp.cmp(out, path("threads1.nsy"), shallow=False), f"{kind} {n} gave other bytes"
        print(json.dumps({
            "kind": kind, "n": n, "keys": options.keys, "negatives": options.negatives, "bits_per_key": options.bits,
            "seconds": round(seconds, 3), "ratio": round(first / seconds, 2),
            "cpu_seconds": round(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, 3),
            "cores": os.cpu_count()}), flush=True)
