#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev results keeps no measurement of a commit with changes that are not in it: results_are_clean.py RESULTS_PY"""
import json
import os
import subprocess
import sys
import tempfile


def take(folder, commits):
    """Rows of one experiment by these commits, one after the other; what --take keeps of them."""
    os.makedirs(os.path.join(folder, "docs", "results"), exist_ok=True)
    measured = os.path.join(folder, "measured.jsonl")
    with open(measured, "w") as file:
        for commit in commits:
            row = {"experiment": "speed", "size": "quick", "machine": {"naysay": "1", "commit": commit}}
            file.write(json.dumps(row) + "\n")
    kept = os.path.join(folder, "docs", "results", "quick.jsonl")
    if os.path.exists(kept):
        os.remove(kept)
    ran = subprocess.run([sys.executable, sys.argv[1], folder, "--take", "quick", measured], capture_output=True, text=True)
    rows = open(kept).read().splitlines() if os.path.exists(kept) else None
    return ran.returncode, ran.stderr, rows


with tempfile.TemporaryDirectory() as folder:
    code, said, rows = take(folder, ["abc-dirty", "abc"])
    assert code == 0 and len(rows) == 1 and "dirty" not in rows[0], "the last version counts, and it is clean"
    code, said, rows = take(folder, ["abc", "abc-dirty"])
    assert code != 0 and rows is None, "rows of a changed tree are refused, and nothing is written"
    assert "abc-dirty" in said and "commit" in said, said
