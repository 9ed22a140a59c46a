#!/usr/bin/env python3
"""The README's table of measured rates: table.py README ROWS.json [--write]

Compares the table between the two `demo` marks of README with the rows that `naysay demo --json ROWS.json` wrote, or
writes it there. Only what is the same on every machine is in the table: space and rates, no times.
"""
import json
import sys

BEGIN, END = "<!-- demo: ./dev readme -->\n", "<!-- /demo -->\n"


def percent(rate):
    return "-" if rate is None else "0" if rate == 0 else f"{100 * rate:.3g} %"


def table(rows):
    lines = ["| filter | bits a key | strangers accepted | known negatives accepted | the same by cost |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        if "problem" in row:
            continue
        lines.append(f"| `{row['filter']}` | {row['bits_per_key']:.2f} | {percent(row['fpr'])} | "
                     f"{percent(row['known_fpr'])} | {percent(row['wfpr'])} |")
    return "\n".join(lines) + "\n"


def main():
    readme, rows, *flags = sys.argv[1:]
    with open(readme) as file:
        text = file.read()
    with open(rows) as file:
        made = table(json.load(file))
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    new = before + BEGIN + made + END + after
    if new == text:
        return 0
    if flags != ["--write"]:
        print(f"the table of {readme} is not what naysay demo gives; ./dev readme writes it anew. It should be:\n{made}")
        return 1
    with open(readme, "w") as file:
        file.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
