#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of measured rates in README.md and docs/filters.md: table.py ROOT ROWS.json [--write]

Compares the tables between the two `demo` marks of both files with the rows that `naysay demo --json ROWS.json` wrote,
or writes them there. The README shows five filters, docs/filters.md all. Only what is the same on every machine is in
the tables: space and rates, no times.
"""
import json
import os
import sys

BEGIN, END = "<!-- demo: ./dev readme -->\n", "<!-- /demo -->\n"


def percent(rate):
    return "-" if rate is None else "0" if rate == 0 else f"{100 * rate:.3g} %"


STORY = ["bloom", "habf", "stacked-bloom", "ribbon", "taught-ribbon"]


def table(rows):
    lines = ["| filter | bits per key | strangers accepted | known negatives accepted | the same by cost |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        if "problem" in row:
            continue
        lines.append(f"| `{row['filter']}` | {row['bits_per_key']:.2f} | {percent(row['fpr'])} | "
                     f"{percent(row['known_fpr'])} | {percent(row['wfpr'])} |")
    return "\n".join(lines) + "\n"


def main():
    root, path, *flags = sys.argv[1:]
    with open(path) as file:
        rows = json.load(file)
    story = [row for name in STORY for row in rows if row["filter"] == name]
    stale = 0
    for name, shown in (("README.md", story), ("docs/filters.md", rows)):
        with open(os.path.join(root, name)) as file:
            text = file.read()
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
        new = before + BEGIN + table(shown) + END + after
        if new == text:
            continue
        if flags == ["--write"]:
            with open(os.path.join(root, name), "w") as file:
                file.write(new)
        else:
            print(f"the table of {name} is not what naysay demo gives; ./dev readme writes it again. It should be:\n"
                  f"{table(shown)}")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
