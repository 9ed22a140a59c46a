#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/filters.md show of docs/results: results.py ROOT [--write | --take SIZE MEASURED]

--take     makes docs/results/SIZE.jsonl from a file of measurements: of each experiment those of the last version. Refuses
           measurements of a commit with changes that are not in it: nobody could repeat them.
--write    draws docs/results/known.svg and writes the table of speed in docs/filters.md, both from docs/results/quick.jsonl.
(nothing)  fails if they are not what that file gives.
"""
import json
import math
import os
import sys

BEGIN, END = "<!-- speed: ./dev results -->\n", "<!-- /speed -->\n"

# The picture: known negatives accepted over space (habf-fig10 a), with what the HABF paper published.
CURVES = [("bloom", "#8a8f98"), ("xor", "#2f7ed8"), ("habf", "#e07b00"), ("ribbon", "#0f9fb5"), ("taught-ribbon", "#1b9e77")]
PUBLISHED = [("BF", 1.5, 0.0173, "#8a8f98"), ("Xor", 1.5, 0.0156, "#2f7ed8"), ("HABF", 1.5, 0.0036, "#e07b00")]


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def version(line):
    return line["machine"]["naysay"] + " " + line["machine"]["commit"]


def short(value):
    """Numbers with six digits: more is noise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: short(part) for key, part in value.items()}
    return [short(part) for part in value] if isinstance(value, list) else value


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(lines):
    rows = [line for line in lines if line["experiment"] == "speed" and line["panel"] == "b" and "values" in line]
    if not rows:
        return ""
    machine, workload = rows[0]["machine"], rows[0]["workload"]
    out = ["| filter | build, ns per key | one query, ns | in batches, ns | build | one | batch |",
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        v = row["values"]
        out.append(f"| `{row['filter']}` | {number(v['build_ns']['median'])} | {number(v['absent_ns']['median'])} | "
                   f"{number(v['batch_absent_ns']['median'])} | {v['build_over']:.2f}x | {v['absent_over']:.2f}x | "
                   f"{v['batch_absent_over']:.2f}x |")
    reads = sorted(row["values"]["random_read_ns"] for row in rows)
    out.append("")
    out.append(f"{workload['keys']:,} keys at 10 bits each, absent keys queried, one thread; the last three columns are compared "
               f"with Bloom in the same rounds. An")
    out.append(f"independent random read in as many bytes costs {number(reads[len(reads) // 2])} ns there "
               f"({machine['cpu']}, commit `{machine['commit']}`).")
    return "\n".join(out) + "\n"


def picture(lines):
    points = {name: [] for name, _ in CURVES}
    for line in lines:
        if line["experiment"] == "habf-fig10" and line["panel"] == "a" and line["series"] in points and "values" in line:
            points[line["series"]].append((line["x"], line["values"]["wfpr"]["mean"]))
    shown = [y for curve in points.values() for _, y in curve if y > 0] + [y for _, _, y, _ in PUBLISHED]
    if not shown:
        return ""
    low, high = math.floor(math.log10(min(shown))) - 1, math.ceil(math.log10(max(shown)))
    left, right, top, bottom = 76, 560, 34, 300
    x_of = lambda x: left + (x - 1.15) / (3.35 - 1.15) * (right - left)
    y_of = lambda y: top + (high - math.log10(max(y, 10.0 ** low))) / (high - low) * (bottom - top)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 350" font-family="system-ui, sans-serif" font-size="13">',
           '  <style>.t { fill: #808792 } .g { stroke: #8a8f98; stroke-opacity: .25 } .c { fill: none; stroke-width: 2.5 }</style>',
           '  <text class="t" x="20" y="18">known negatives accepted, costs equal</text>']
    for decade in range(low, high + 1):
        y = y_of(10.0 ** decade)
        label = "0" if decade == low else f"{100 * 10.0 ** decade:g} %"
        out.append(f'  <path class="g" d="M{left} {y:.1f}H{right}"/><text class="t" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for x in (1.25, 1.5, 2, 2.5, 3.25):
        out.append(f'  <text class="t" x="{x_of(x):.1f}" y="{bottom + 20}" text-anchor="middle">{x:g}</text>')
    out.append(f'  <text class="t" x="{(left + right) / 2:.1f}" y="{bottom + 40}" text-anchor="middle">MiB for 1.49 million keys</text>')
    row = 60
    for name, colour in CURVES:
        curve = sorted(points[name])
        if not curve:
            continue
        path = "L".join(f"{x_of(x):.1f} {y_of(y):.1f}" for x, y in curve)
        out.append(f'  <path class="c" stroke="{colour}" d="M{path}"/>')
        for x, y in curve:
            fill = colour if y > 0 else "none"
            out.append(f'  <circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2"/>')
        out.append(f'  <circle cx="586" cy="{row - 4}" r="5" fill="{colour}"/><text class="t" x="600" y="{row}">{name}</text>')
        row += 24
    for name, x, y, colour in PUBLISHED:
        cx, cy = x_of(x), y_of(y)
        out.append(f'  <path d="M{cx:.1f} {cy - 8:.1f}l8 8l-8 8l-8 -8z" fill="none" stroke="{colour}" stroke-width="2"/>')
    out.append(f'  <path d="M586 {row - 12}l8 8l-8 8l-8 -8z" fill="none" stroke="#808792" stroke-width="2"/><text class="t" x="600" y="{row}">published (HABF)</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    root, *flags = sys.argv[1:]
    path = lambda *parts: os.path.join(root, *parts)
    if flags[:1] == ["--take"]:
        size, measured = flags[1:]
        lines = [line for line in read(measured) if line["size"] == size]
        last = {line["experiment"]: version(line) for line in lines}
        dirty = sorted(name for name, made_by in last.items() if made_by.endswith("-dirty"))
        if dirty:
            print(f"{measured}: {', '.join(dirty)}: measured by {last[dirty[0]]}; commit the changes and measure again",
                  file=sys.stderr)
            return 1
        with open(path("docs", "results", size + ".jsonl"), "w") as file:
            for line in lines:
                if version(line) == last[line["experiment"]]:
                    file.write(json.dumps(short(line), separators=(",", ":")) + "\n")
        return 0
    lines = read(path("docs", "results", "quick.jsonl"))
    with open(path("docs", "filters.md")) as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = {path("docs", "filters.md"): before + BEGIN + table(lines) + END + after,
              path("docs", "results", "known.svg"): picture(lines)}
    wrong = []
    for name, body in wanted.items():
        old = ""
        if os.path.exists(name):
            with open(name) as file:
                old = file.read()
        if old == body:
            continue
        if flags == ["--write"]:
            with open(name, "w") as file:
                file.write(body)
        else:
            wrong.append(name)
    for name in wrong:
        print(f"{name} is not what docs/results/quick.jsonl gives; ./dev results --again writes it again")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
