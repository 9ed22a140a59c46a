# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds per query from C++, C and Python, one JSON line per filter and kind of keys.

    bindings.py NATIVE.so [--size quick|smoke]

All are timed in this process, in turns, on the same filter and the same queries (half of them keys), in time of the
processor; each number is the median of the rounds. c_ratio and python_ratio are those of the batches to C++, round by round, and their median.
"""

import argparse
import array
import ctypes
import json
import os
import statistics
import tempfile
import time

import naysay

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("native")
parser.add_argument("--size", choices=["quick", "smoke"], default="quick")
options = parser.parse_args()
keys_count, rounds = (1_000_000, 15) if options.size == "quick" else (2_000, 3)
native = ctypes.CDLL(options.native)
native.bench_open.restype = ctypes.c_void_p
for name in ("cpp_batch", "c_batch", "cpp_one", "c_one", "cpp_texts", "c_texts"):
    getattr(native, "bench_" + name).restype = ctypes.c_double


def pointer(buffer):
    return (ctypes.c_char * len(memoryview(buffer).cast("B"))).from_buffer(buffer)


def timed(body, count):
    start = time.thread_time_ns()
    body()
    return (time.thread_time_ns() - start) / count


def one_by_one(f, keys):
    for key in keys:
        key in f


def measure(name, kind, functions):
    rows = {function: [] for function in functions}
    for _ in range(rounds):
        for function, body in functions.items():
            rows[function].append(body())
    line = {"filter": name, "keys": kind, "count": keys_count, "rounds": rounds}
    line |= {f"{function}_ns": round(statistics.median(values), 2) for function, values in rows.items()}
    for language in ("c", "python"):
        ratios = [ours / cpp for ours, cpp in zip(rows[f"{language}_batch"], rows["cpp_batch"])]
        line[f"{language}_ratio"] = round(statistics.median(ratios), 3)
    print(json.dumps(line), flush=True)


def run(name, folder):
    path = os.path.join(folder, "f.nsy")
    numbers = array.array("Q", (i * 2654435761 for i in range(keys_count)))
    queries = array.array("Q", (i * 2654435761 for i in range(keys_count // 2, keys_count // 2 + keys_count)))
    members = set(numbers)  # what a set of Python needs for the same
    some = list(queries[: max(1000, keys_count // 10)])
    naysay.build(numbers, filter=name).save(path)
    f, both = naysay.open(path, map=False), ctypes.c_void_p(native.bench_open(path.encode()))
    answers, expected = bytearray(keys_count), bytearray(keys_count)
    native_args = (both, pointer(queries), ctypes.c_uint64(keys_count), pointer(answers))
    native.bench_cpp_batch(both, pointer(queries), ctypes.c_uint64(keys_count), pointer(expected))
    f.contains(queries, out=answers)
    assert answers == expected, "Python and C++ must agree"
    measure(name, "integers", {
        "cpp_batch": lambda: native.bench_cpp_batch(*native_args),
        "c_batch": lambda: native.bench_c_batch(*native_args),
        "python_batch": lambda: timed(lambda: f.contains(queries), keys_count),
        "cpp_one": lambda: native.bench_cpp_one(*native_args),
        "c_one": lambda: native.bench_c_one(*native_args),
        "python_one": lambda: timed(lambda: one_by_one(f, some), len(some)),
        "python_set": lambda: timed(lambda: one_by_one(members, some), len(some)),
    })
    native.bench_close(both)

    texts = [f"https://host{i * 7919}.example/path" for i in range(keys_count // 2)]
    naysay.build(texts, filter=name).save(path)
    f, both = naysay.open(path, map=False), ctypes.c_void_p(native.bench_open(path.encode()))
    data, offsets = bytearray(), array.array("q", [0])
    for text in texts:
        data += text.encode()
        offsets.append(len(data))
    native.bench_texts(both, pointer(data), pointer(offsets), ctypes.c_uint64(len(texts)))
    strings = naysay.Strings(data, offsets)
    measure(name, "texts", {
        "cpp_batch": lambda: native.bench_cpp_texts(both, pointer(answers)),
        "c_batch": lambda: native.bench_c_texts(both, pointer(answers)),
        "python_batch": lambda: timed(lambda: f.contains(texts), len(texts)),
        "python_arrow": lambda: timed(lambda: f.contains(strings), len(texts)),
    })
    native.bench_close(both)


with tempfile.TemporaryDirectory() as folder:
    for name in ("blocked-bloom", "cuckoo", "ribbon", "taught-ribbon"):
        run(name, folder)
