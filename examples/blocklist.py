#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A blocklist in Python, step by step; nothing is downloaded.

    blocklist.py [--keys N] [--plot curves.png]

It makes a blocklist and a day of traffic, builds a filter, compares all candidates on this very data, and draws what more
bits buy. Without matplotlib the curves are printed.
"""

import argparse
import random
import sys

import naysay

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--keys", type=int, default=20_000)
parser.add_argument("--plot", help="write the curves to this picture")
options = parser.parse_args()

# 1. A blocklist, and the traffic of other sites. Few sites have most of the visits, as everywhere (Zipf).
rng = random.Random(1)


def hosts(prefix, count):
    return [f"{prefix}{rng.randrange(16 ** 6):06x}.{rng.choice(['com', 'net', 'org'])}" for _ in range(count)]


blocked = hosts("ads", options.keys)
visits = {host: 1e6 / rank for rank, host in enumerate(hosts("www", options.keys), 1)}

# 2. A filter in one line. Every visit to a site that it accepts by mistake costs a lookup; so it is given the visits.
f = naysay.build(blocked, negatives=visits, bits_per_key=10)
about = f.info()
print(f"{f.name}: {about['keys']} keys in {about['bytes']:,} bytes, {about['bits_per_key']:.2f} bits per key")
assert all(f.contains(blocked)), "a filter never denies a key"
wrong = sum(visits[host] for host in visits if host in f)
print(f"visits that need a lookup for nothing: {100 * wrong / sum(visits.values()):.4f} %")

# 3. Which filter is the best here? A tenth of the sites is held back, to see what happens to strangers.
names = ["bloom", "blocked-bloom", "ribbon", "habf", "stacked-bloom", "taught-ribbon"]
print(f"\n{'filter':16}{'bits':>7}{'strangers':>12}{'visits':>12}{'ns per query':>14}")
for row in sorted(naysay.compare(blocked, visits, filters=names), key=lambda row: row.get("wfpr", 1)):
    if "problem" in row:
        print(f"{row['filter']:16}{row['problem']}")
        continue
    print(f"{row['filter']:16}{row['bits_per_key']:7.2f}{row['fpr']:11.4%} {row['wfpr']:11.4%} {row['batch_ns']:13.1f}")

# 4. What do more bits buy?
budgets = [6, 8, 10, 12]
curves = {name: [] for name in ("bloom", "habf", "taught-ribbon")}
for bits in budgets:
    for row in naysay.compare(blocked, visits, filters=curves, bits_per_key=bits):
        curves[row["filter"]].append(0.01 * row["fpr"] + 0.99 * row["wfpr"] if "problem" not in row else float("nan"))
try:
    if not options.plot:
        raise ImportError
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("\nshare of the visits accepted, if 1 % of them go to sites that nobody knew of")
    print(f"{'bits per key':16}" + "".join(f"{bits:>10}" for bits in budgets))
    for name, rates in curves.items():
        print(f"{name:16}" + "".join(f"{rate:10.4%}" for rate in rates))
else:
    for name, rates in curves.items():
        plt.plot(budgets, rates, marker="o", label=name)
    plt.yscale("log")
    plt.xlabel("bits per key")
    plt.ylabel("share of the visits accepted")
    plt.legend()
    plt.savefig(options.plot)
    print(f"\n{options.plot} has the curves")
sys.exit(0 if curves["taught-ribbon"][-1] < curves["bloom"][-1] else 1)
