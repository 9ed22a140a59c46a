# SPDX-License-Identifier: Apache-2.0
"""What the module costs in a real server, as JSON lines. ./dev bench redis builds what it needs and calls it.

Every speed stands next to GET and SET of the same server in the same run: the protocol costs more than any filter, and
the machine may be busy with other things. Rounds alternate between the commands; a line has the median, the least and
the most of them. Memory is what the server itself counts (used_memory), for all keys of a filter.
"""
import argparse
import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test"))
from servers import Cluster, Server, find_server  # noqa: E402

SIZES = {"smoke": (2000, 1), "quick": (200000, 3), "full": (1000000, 5)}
BATCH = 100


def say(**line):
    print(json.dumps(line), flush=True)


def requests_per_second(server, n, numbers, command):
    out = subprocess.run(["redis-benchmark", "-s", server.path, "-P", "32", "-n", str(n), "-r", str(numbers), "--csv",
                          *command], check=True, stdout=subprocess.PIPE, text=True).stdout
    return float(list(csv.reader(io.StringIO(out)))[-1][1])


def speeds(server, n, rounds):
    c = server.client()
    c.call("NS.RESERVE", "seen", 0.01, n)
    for at in range(0, n, 1000):  # as redis-benchmark writes its numbers
        c.call("NS.MADD", "seen", *("item:%012d" % i for i in range(at, min(n, at + 1000))))
    few, many = n, 2000000000  # many: hardly any item is added twice
    commands = {
        "SET": (1, few, ["SET", "k:__rand_int__", "1"]),
        "GET": (1, few, ["GET", "k:__rand_int__"]),
        "NS.ADD": (1, many, ["NS.ADD", "added", "item:__rand_int__"]),
        "NS.EXISTS of items": (1, few, ["NS.EXISTS", "seen", "item:__rand_int__"]),
        "NS.EXISTS of strangers": (1, few, ["NS.EXISTS", "seen", "other:__rand_int__"]),
        "NS.MADD": (BATCH, many, ["NS.MADD", "added by many", *["item:__rand_int__"] * BATCH]),
        "NS.MEXISTS": (BATCH, few, ["NS.MEXISTS", "seen", *["item:__rand_int__"] * BATCH]),
    }
    found = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (items, numbers, command) in commands.items():
            found[name].append(items * requests_per_second(server, max(100, n // items), numbers, command))
    get = statistics.median(found["GET"])
    for name, (items, _, _) in commands.items():
        middle = statistics.median(found[name])
        say(measure="speed", command=name, items_per_command=items, items_per_second=round(middle),
            least=round(min(found[name])), most=round(max(found[name])), rounds=rounds, of_get=round(middle / get, 2))


def memory(server, n):
    c = server.client()
    used = lambda: int(c.call("INFO", "memory").split(b"used_memory:")[1].split(b"\r\n")[0])
    for name, reserve in (("guarded-growing, reserved for all", [n]), ("guarded-growing, reserved for 1/16", [n // 16]),
                          ("guarded, NONSCALING", [n, "NONSCALING"])):
        c.call("FLUSHALL")
        before = used()
        c.call("NS.RESERVE", "k", 0.01, *reserve)
        for at in range(0, n, 1000):
            c.call("NS.MADD", "k", *("item:%d" % i for i in range(at, min(n, at + 1000))))
        strangers = 100000
        accepted = sum(sum(c.call("NS.MEXISTS", "k", *("stranger:%d" % i for i in range(at, at + 1000))))
                       for at in range(0, strangers, 1000))
        say(measure="memory", filter=name, items=n, asked_error_rate=0.01, error_rate=accepted / strangers,
            bits_per_item=round(8 * (used() - before) / n, 2),
            bits_per_item_by_memory_usage=round(8 * c.call("MEMORY", "USAGE", "k") / n, 2))


def cluster(module, tool, n, masters):
    servers = Cluster(module, masters=masters)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as keys:
        keys.writelines("item:%d\n" % i for i in range(n))
        keys.flush()
        for action, more in (("add", ["--capacity", str(n)]), ("query", ["--count"]), ("build", [])):
            start = time.monotonic()
            subprocess.run([tool, "redis", action, keys.name, "--cluster", servers.seeds(), "--set", "bench-" + action
                            if action == "build" else "bench", *more], check=True, stdout=subprocess.DEVNULL)
            say(measure="cluster", masters=masters, action=action, items=n,
                items_per_second=round(n / (time.monotonic() - start)))
    servers.remove()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("module")
    p.add_argument("tool")
    p.add_argument("--size", choices=SIZES, default="full")
    o = p.parse_args()
    n, rounds = SIZES[o.size]
    if find_server() is None or shutil.which("redis-benchmark") is None:
        sys.exit("redis_bench: there is no server; install redis-tools")
    server = Server(o.module)
    say(measure="server", version=server.client().call("INFO", "server").decode().split("redis_version:")[1].split()[0],
        module=server.client().call("MODULE", "LIST")[0][3], cores=os.cpu_count(), size=o.size)
    speeds(server, n, rounds)
    memory(server, n)
    server.remove()
    for masters in (1, 3):
        cluster(o.module, o.tool, n, masters)


main()
