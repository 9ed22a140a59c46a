# SPDX-License-Identifier: Apache-2.0
"""The module in a real server: commands, persistence, replication, hostile payloads."""
import os
import random
import subprocess
import sys
import unittest

from servers import (SKIPPED, Client, ReplyError, Server, find_server, replica_of, tail_of, wait_for_replica, wait_until)

MODULE, TOOL, SEALER = sys.argv[1:4]
ITEMS = 3000


def items(n=ITEMS, prefix="item"):
    return ["%s:%d" % (prefix, i) for i in range(n)]


def lost(client, key, wanted):
    return [i for i, maybe in zip(wanted, client.call("NS.MEXISTS", key, *wanted)) if not maybe]


class OneServer(unittest.TestCase):
    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(MODULE, *cls.OPTIONS, port=True)

    @classmethod
    def tearDownClass(cls):
        cls.server.remove()

    def setUp(self):
        self.c = self.server.client()
        self.c.call("FLUSHALL")

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), "the server died:\n" + self.server.log()[-4000:])
        self.c.close()

    def refused(self, start, *call):
        with self.assertRaises(ReplyError) as e:
            self.c.call(*call)
        self.assertTrue(str(e.exception).startswith(start), str(e.exception))
        return str(e.exception)

    def false_positives(self, key, n=40000):
        strangers = items(n, "stranger")
        answers = []
        for at in range(0, n, 5000):
            answers += self.c.call("NS.MEXISTS", key, *strangers[at:at + 5000])
        return [s for s, maybe in zip(strangers, answers) if maybe]

    def filled(self, key="k", rate=0.05, n=ITEMS):
        self.c.call("NS.RESERVE", key, rate, n, "EXPANSION", 1)
        self.c.call("NS.MADD", key, *items(n))
        return key


class Commands(OneServer):
    def test_an_item_that_was_added_exists(self):
        self.assertEqual(self.c.call("NS.EXISTS", "k", "a"), 0)
        self.assertEqual(self.c.call("NS.ADD", "k", "a"), 1)
        self.assertEqual(self.c.call("NS.ADD", "k", "a"), 0)
        self.assertEqual(self.c.call("NS.EXISTS", "k", "a"), 1)
        self.assertEqual(self.c.call("NS.MADD", "k", "a", "b", b"\x00\xff"), [0, 1, 1])
        self.assertEqual(self.c.call("NS.MEXISTS", "k", "a", "b", b"\x00\xff", "z"), [1, 1, 1, 0])
        self.assertEqual(self.c.call("NS.CARD", "k"), 5)
        self.assertEqual(self.c.call("TYPE", "k"), "naysayset")

    def test_items_are_a_multiset(self):
        self.c.call("NS.MADD", "k", "a", "a", "a")
        for left in (2, 1, 0):
            self.assertEqual(self.c.call("NS.DEL", "k", "a"), 1)
            self.assertEqual(self.c.call("NS.EXISTS", "k", "a"), 1 if left else 0)
        self.assertEqual(self.c.call("NS.DEL", "k", "a"), 0)
        self.assertEqual(self.c.call("NS.CARD", "k"), 0)
        self.assertEqual(self.c.call("NS.DEL", "nothing", "a"), 0)

    def test_adds_only_what_is_absent_if_told_so(self):
        self.assertEqual([self.c.call("NS.ADDNX", "k", i) for i in "aba"], [1, 1, 0])
        self.assertEqual(self.c.call("NS.INSERT", "k", "NX", "ITEMS", "b", "c", "c"), [0, 1, 0])
        self.assertEqual(self.c.call("NS.CARD", "k"), 3)

    def test_a_filter_grows_and_loses_nothing(self):
        self.c.call("NS.RESERVE", "k", 0.01, 100)
        size = 8000
        for at in range(0, size, 2000):
            self.c.call("NS.MADD", "k", *items(size)[at:at + 2000])
        self.assertEqual(lost(self.c, "k", items(size)), [])
        # 100 items with EXPANSION 16 are planned to be 1600; beyond that it has a second table.
        self.assertEqual(self.c.call("NS.INFO", "k", "FILTERS"), 2)
        for i in items(size)[::2]:
            self.c.send("NS.DEL", "k", i)
        self.assertEqual([self.c.read() for _ in items(size)[::2]], [1] * (size // 2))
        self.assertEqual(lost(self.c, "k", items(size)[1::2]), [])

    def test_the_error_rate_is_kept(self):
        self.filled(rate=0.02, n=5000)
        # 0.02 is the most at this size; five standard deviations above it
        self.assertLess(len(self.false_positives("k")), 40000 * 0.02 + 5 * (40000 * 0.02) ** 0.5)

    def test_a_reported_false_positive_is_refused(self):
        self.filled()
        wrong = self.false_positives("k")
        self.assertGreater(len(wrong), 100)
        room = self.c.call("NS.INFO", "k")
        room = room[room.index(b"Guard room") + 1]
        reported = wrong[:room // 2]
        self.assertGreater(len(reported), 5)
        for i in reported:
            self.assertEqual(self.c.call("NS.REPORT", "k", i, 3), 1)
        self.assertEqual(self.c.call("NS.MEXISTS", "k", *reported), [0] * len(reported))
        self.assertEqual(lost(self.c, "k", items()), [])
        metrics = self.c.call("INFO", "naysay_metrics").decode()
        self.assertIn("naysay_false_positives_avoided:%d" % len(reported), metrics)
        # the guard keeps costs with a few bits each, right on average
        self.assertAlmostEqual(float(metrics.split("naysay_cost_avoided:")[1].split()[0]) / (3 * len(reported)), 1, delta=0.15)
        # as a key it exists again
        self.c.call("NS.ADD", "k", reported[0])
        self.assertEqual(self.c.call("NS.EXISTS", "k", reported[0]), 1)

    def test_pinned_items_are_refused_whatever_is_added(self):
        self.c.call("NS.RESERVE", "k", 0.05, ITEMS, "PINNED")
        pinned = items(300, "never")
        self.assertEqual(self.c.call("NS.PIN", "k", *pinned[:150]), [1] * 150)
        self.assertEqual(self.c.call("NS.NEGATIVES", "k", *[x for i in pinned[150:] for x in (i, 1)]), 150)
        self.assertEqual(self.c.call("NS.INFO", "k", "PINNED"), 300)
        for at in range(0, ITEMS, 1000):
            self.c.call("NS.MADD", "k", *items()[at:at + 1000])
            self.assertEqual(self.c.call("NS.MEXISTS", "k", *pinned), [0] * 300)
        self.c.call("DEBUG", "RELOAD")
        self.c.call("NS.MADD", "k", *items(ITEMS, "more"))
        self.assertEqual(self.c.call("NS.MEXISTS", "k", *pinned), [0] * 300)
        self.assertEqual(lost(self.c, "k", items() + items(ITEMS, "more")), [])
        self.assertEqual(self.c.call("NS.UNPIN", "k", pinned[0], "other"), [1, 0])
        self.assertEqual(self.c.call("NS.INFO", "k", "PINNED"), 299)
        self.c.call("NS.RESERVE", "c", 0.05, 10, "FILTER", "cuckoo")
        self.refused("ERR cuckoo cannot pin", "NS.PIN", "c", "a")

    def test_filters_are_merged(self):
        for name in ("a", "b", "c"):
            self.c.call("NS.RESERVE", name, 0.02, 1000)
            self.c.call("NS.MADD", name, *items(1500, name))
        never = items(200, "never")
        self.c.call("NS.PIN", "a", *never)
        gone = [i for i, maybe in zip(never, self.c.call("NS.MEXISTS", "b", *never)) if maybe]
        gone += [i for i, maybe in zip(never, self.c.call("NS.MEXISTS", "c", *never)) if maybe]
        self.assertEqual(self.c.call("NS.MERGE", "a", "b", "c"), "OK")
        every = items(1500, "a") + items(1500, "b") + items(1500, "c")
        self.assertEqual(lost(self.c, "a", every), [])
        self.assertEqual(self.c.call("NS.CARD", "a"), 4500)
        kept = [i for i in never if i not in gone]
        self.assertEqual(self.c.call("NS.MEXISTS", "a", *kept), [0] * len(kept))
        self.assertEqual(self.c.call("NS.MERGE", "new", "b", "c"), "OK")
        self.assertEqual(lost(self.c, "new", every[1500:]), [])
        for i in items(1500, "b"):
            self.assertEqual(self.c.call("NS.DEL", "new", i), 1)
        self.assertEqual(lost(self.c, "new", items(1500, "c")), [])
        before = self.c.call("DUMP", "a")
        self.c.call("NS.RESERVE", "other", 0.0001, 1000)
        self.refused("ERR growing-cuckoo: the other filter sees other bits", "NS.MERGE", "a", "b", "other")
        self.refused("ERR the key does not exist", "NS.MERGE", "a", "b", "nothing")
        self.refused("ERR the key is one of its own sources", "NS.MERGE", "a", "b", "a")
        self.c.call("NS.RESERVE", "fixed", 0.02, 1000, "FILTER", "cuckoo")
        self.refused("ERR cuckoo", "NS.MERGE", "fixed", "a")
        self.refused("ERR cuckoo cannot be merged", "NS.MERGE", "nothing", "fixed")
        self.assertEqual(self.c.call("DUMP", "a"), before)
        self.c.call("SET", "text", "x")
        self.refused("WRONGTYPE", "NS.MERGE", "a", "text")

    def test_known_negatives_are_refused(self):
        self.filled()
        wrong = self.false_positives("k")[:10]
        args = [x for i in wrong for x in (i, 2.5)]
        self.assertEqual(self.c.call("NS.NEGATIVES", "k", *args), len(wrong))
        self.assertEqual(self.c.call("NS.MEXISTS", "k", *wrong), [0] * len(wrong))
        self.refused("ERR cost is 'x'", "NS.NEGATIVES", "k", "a", "x")
        self.refused("ERR wrong number", "NS.NEGATIVES", "k", "a", 1, "b")

    def test_a_filter_that_must_not_scale_becomes_full(self):
        self.c.call("NS.RESERVE", "k", 0.01, 100, "NONSCALING")
        replies = self.c.call("NS.MADD", "k", *items(1000))
        full = [r for r in replies if isinstance(r, ReplyError)]
        self.assertGreater(len(full), 800)
        self.assertTrue(all(str(r).startswith("FULL ") for r in full))
        self.refused("FULL ", "NS.ADD", "k", items(1000)[replies.index(full[0])])
        self.assertEqual(lost(self.c, "k", [i for i, r in zip(items(1000), replies) if not isinstance(r, ReplyError)]), [])

    def test_insert_creates_with_options(self):
        self.refused("ERR the key does not exist, and NOCREATE", "NS.INSERT", "k", "NOCREATE", "ITEMS", "a")
        self.assertEqual(self.c.call("NS.INSERT", "k", "CAPACITY", 50, "ERROR", 0.001, "FILTER", "cuckoo", "ITEMS", "a", "b"),
                         [1, 1])
        self.assertEqual(self.c.call("NS.INFO", "k", "FILTER"), b"cuckoo")
        self.assertEqual(self.c.call("NS.INSERT", "k", "NOCREATE", "ITEMS", "a"), [0])
        self.refused("ERR 'SIZE' is no option", "NS.INSERT", "k", "SIZE", 3, "ITEMS", "a")

    def test_errors_have_a_code_and_say_what_is_right(self):
        self.c.call("SET", "text", "x")
        for call in (["NS.ADD", "text", "a"], ["NS.EXISTS", "text", "a"], ["NS.INFO", "text"], ["NS.DEL", "text", "a"],
                     ["NS.RESERVE", "text", 0.1, 10], ["NS.CARD", "text"], ["NS.SCANDUMP", "text", 0],
                     ["NS.LOADCHUNK", "text", 1, "x"], ["NS.BUILD", "text", "ITEMS", "a"], ["NS.REPORT", "text", "a"]):
            self.refused("WRONGTYPE ", *call)
        for call in (["NS.ADD", "k"], ["NS.ADD", "k", "a", "b"], ["NS.EXISTS", "k"], ["NS.MADD", "k"], ["NS.MEXISTS", "k"],
                     ["NS.RESERVE", "k", 0.1], ["NS.CARD"], ["NS.INFO"], ["NS.DEL", "k"], ["NS.REPORT", "k"],
                     ["NS.INSERT", "k", "ITEMS"], ["NS.LOADCHUNK", "k", 1], ["NS.SCANDUMP", "k"], ["NS.LOAD", "k"]):
            self.assertIn("wrong number of arguments", self.refused("ERR ", *call))
        for rate in ("0", "1", "-1", "x", "nan", "0,1", ""):
            self.refused("ERR error_rate is '", "NS.RESERVE", "k", rate, 10)
        for capacity in ("0", "-1", "1.5", "x", "99999999999999999999"):
            self.refused("ERR capacity is '", "NS.RESERVE", "k", 0.1, capacity)
        self.refused("ERR FILTER is 'x'; it must be one of", "NS.RESERVE", "k", 0.1, 10, "FILTER", "x")
        self.refused("ERR NONSCALING is given, but", "NS.RESERVE", "k", 0.1, 10, "NONSCALING", "FILTER", "growing-cuckoo")
        self.refused("ERR EXPANSION is given, but", "NS.RESERVE", "k", 0.1, 10, "EXPANSION", 2, "FILTER", "cuckoo")
        self.refused("ERR 'FAST' is no option", "NS.RESERVE", "k", 0.1, 10, "FAST")
        self.refused("ERR an argument is missing", "NS.RESERVE", "k", 0.1, 10, "FILTER")
        self.c.call("NS.RESERVE", "k", 0.1, 10)
        self.refused("ERR the key exists", "NS.RESERVE", "k", 0.1, 10)
        self.refused("ERR the key does not exist", "NS.INFO", "nothing")
        self.refused("ERR the key does not exist", "NS.REPORT", "nothing", "a")
        self.refused("ERR NS.INFO has no field 'COLOUR'", "NS.INFO", "k", "COLOUR")
        self.assertEqual(self.c.call("NS.CARD", "nothing"), 0)

    def test_resp3_replies_are_typed(self):
        c = self.server.client(3)
        self.assertIs(c.call("NS.ADD", "k", "a"), True)
        self.assertIs(c.call("NS.EXISTS", "k", "z"), False)
        self.assertEqual(c.call("NS.MEXISTS", "k", "a", "z"), [True, False])
        info = c.call("NS.INFO", "k")
        self.assertIsInstance(info, dict)
        self.assertEqual(info[b"Number of items inserted"], 1)
        self.assertEqual(info[b"Filter"], b"guarded-growing")
        self.assertIsInstance(info[b"Expected error rate"], float)

    def test_a_key_has_a_limit_of_memory(self):
        self.c.call("CONFIG", "SET", "naysay.max-memory-per-key", "64kb")
        try:
            self.refused("OOM the filter needs", "NS.RESERVE", "big", 0.01, 1000000)
            self.c.call("NS.RESERVE", "k", 0.01, 1000)
            replies = self.c.pipeline(["NS.MADD", "k", *items(1000, "p%d" % p)] for p in range(100))
            self.assertTrue(any(isinstance(r, ReplyError) and str(r).startswith("OOM ") for r in replies))
            self.assertLess(self.c.call("MEMORY", "USAGE", "k"), 80 * 1024)
        finally:
            self.c.call("CONFIG", "SET", "naysay.max-memory-per-key", "0")

    def test_settings_are_checked(self):
        self.assertEqual(self.c.call("CONFIG", "GET", "naysay.default-error-rate")[1], b"0.01")
        for name, value in (("default-error-rate", "2"), ("default-error-rate", "x"), ("default-filter", "taught-ribbon"),
                            ("default-capacity", "0")):
            self.refused("ERR CONFIG SET failed", "CONFIG", "SET", "naysay." + name, value)
        self.c.call("CONFIG", "SET", "naysay.default-filter", "growing-cuckoo")
        self.c.call("NS.ADD", "k", "a")
        self.assertEqual(self.c.call("NS.INFO", "k", "FILTER"), b"growing-cuckoo")
        self.refused("ERR growing-cuckoo takes no reports", "NS.REPORT", "k", "a")
        self.c.call("CONFIG", "SET", "naysay.default-filter", "guarded-growing")

    def test_the_server_counts_the_memory(self):
        used = lambda: int(self.c.call("INFO", "memory").split(b"used_memory:")[1].split(b"\r\n")[0])
        before = used()
        self.c.call("NS.RESERVE", "k", 0.01, 4000000)
        grown, said = used() - before, self.c.call("MEMORY", "USAGE", "k")
        self.assertGreater(said, 4000000)
        # the server counts what its allocator adds to large blocks, and that those are whole pages of 2 MiB
        self.assertLess(abs(grown - said), 0.3 * said)
        self.c.call("DEL", "k")
        self.assertLess(used() - before, 0.05 * said)

    def test_events_are_published(self):
        self.c.call("CONFIG", "SET", "notify-keyspace-events", "Kd")
        listener = self.server.client()
        listener.call("SUBSCRIBE", "__keyspace@0__:k")
        self.c.call("NS.ADD", "k", "a")
        self.c.call("NS.DEL", "k", "a")
        self.assertEqual([listener.read()[2] for _ in range(3)], [b"ns.reserve", b"ns.add", b"ns.del"])

    def test_commands_are_documented(self):
        docs = self.c.call("COMMAND", "DOCS", "NS.INSERT")
        self.assertIn(b"summary", docs[1])
        self.assertIn(b"arguments", docs[1])
        self.assertEqual(self.c.call("COMMAND", "INFO", "NS.ADD")[0][1], 3)
        self.assertEqual(self.c.call("COMMAND", "GETKEYS", "NS.BUILD", "a", "FROM", "b", "NEGATIVES", "c", "ITEMS", "FROM", "d"),
                         [b"a", b"b", b"c"])

    def test_works_in_transactions_and_scripts(self):
        self.c.call("MULTI")
        self.c.call("NS.ADD", "k", "a")
        self.c.call("NS.EXISTS", "k", "a")
        self.c.call("NS.BUILD", "s", "ITEMS", "x", "y")
        self.assertEqual(self.c.call("EXEC"), [1, 1, "OK"])
        self.assertEqual(self.c.call("EVAL", "return redis.call('NS.EXISTS', KEYS[1], 'x')", 1, "s"), 1)


class Builds(OneServer):
    def test_builds_from_a_set_and_negatives_with_costs(self):
        self.c.call("SADD", "in", *items())
        out = items(ITEMS, "out")
        self.c.call("ZADD", "out", *[x for n, i in enumerate(out) for x in (1 + n % 9, i)])
        self.assertEqual(self.c.call("NS.BUILD", "k", "ERROR", 0.02, "FROM", "in", "NEGATIVES", "out"), "OK")
        self.assertEqual(self.c.call("NS.INFO", "k", "FILTER"), b"taught-ribbon")
        self.assertEqual(lost(self.c, "k", items()), [])
        known = sum(self.c.call("NS.MEXISTS", "k", *out)) / ITEMS
        self.assertLess(known, 0.01)
        self.assertLess(len(self.false_positives("k")) / 40000, 0.05)
        self.refused("ERR taught-ribbon accepts no more keys", "NS.ADD", "k", "a")
        self.c.call("RPUSH", "list", "p", "q")
        self.assertEqual(self.c.call("NS.BUILD", "k", "FILTER", "bloom", "BITS", 12, "FROM", "list", "ITEMS", "r"), "OK")
        self.assertEqual(self.c.call("NS.MEXISTS", "k", "p", "q", "r", "item:1"), [1, 1, 1, 0])

    def test_refuses_what_cannot_be_built(self):
        self.refused("ERR NS.BUILD has no items", "NS.BUILD", "k", "ERROR", 0.1)
        self.refused("ERR the source 'nothing' does not exist", "NS.BUILD", "k", "FROM", "nothing")
        self.c.call("SET", "text", "x")
        self.refused("WRONGTYPE a source", "NS.BUILD", "k", "FROM", "text")
        self.refused("ERR FILTER is 'x'", "NS.BUILD", "k", "FILTER", "x", "ITEMS", "a")
        self.c.call("ZADD", "cheap", -1, "a")
        self.refused("ERR a negative's cost", "NS.BUILD", "k", "NEGATIVES", "cheap", "ITEMS", "b")
        self.assertEqual(self.c.call("EXISTS", "k"), 0)

    def test_a_build_can_be_cancelled_and_leaves_the_key_as_it_was(self):
        self.c.call("EVAL", "for i = 1, 100000 do redis.call('RPUSH', KEYS[1], 'item:' .. i) end", 1, "list")
        self.c.call("NS.ADD", "k", "old")
        self.refused("ERR the build was cancelled", "NS.BUILD", "k", "TIMEOUT", 1, "FROM", "list")
        self.assertEqual(self.c.call("NS.INFO", "k", "FILTER"), b"guarded-growing")
        self.assertEqual(self.c.call("NS.EXISTS", "k", "old"), 1)
        # so does a client that leaves: the server goes on
        gone = self.server.client()
        gone.send("NS.BUILD", "k", "FROM", "list")
        gone.close()
        self.assertEqual(self.c.call("NS.BUILD", "other", "FROM", "list"), "OK")
        self.assertEqual(lost(self.c, "other", ["item:%d" % i for i in range(1, 100000, 97)]), [])


class Persistence(OneServer):
    OPTIONS = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "always",
               "--auto-aof-rewrite-percentage", "0")

    def learned(self):
        """A filter with items, deletions and reports; returns what must be refused."""
        self.filled()
        for i in items()[:500]:
            self.c.send("NS.DEL", "k", i)
        [self.c.read() for _ in range(500)]
        wrong = self.false_positives("k")[:12]
        self.c.pipeline(["NS.REPORT", "k", i, 2] for i in wrong)
        self.assertEqual(self.c.call("NS.MEXISTS", "k", *wrong), [0] * 12)
        return wrong

    def as_it_was(self, wrong, key="k"):
        self.assertEqual(lost(self.c, key, items()[500:]), [])
        self.assertEqual(self.c.call("NS.MEXISTS", key, *wrong), [0] * len(wrong))
        self.assertEqual(self.c.call("NS.CARD", key), ITEMS - 500)

    def test_rdb(self):
        wrong = self.learned()
        digest = self.c.call("DEBUG", "DIGEST-VALUE", "k")
        self.c.call("DEBUG", "RELOAD")
        self.as_it_was(wrong)
        self.assertEqual(self.c.call("DEBUG", "DIGEST-VALUE", "k"), digest)

    def test_aof_of_commands_and_rewritten(self):
        wrong = self.learned()
        self.c.call("SADD", "in", *items())
        self.c.call("NS.BUILD", "built", "FROM", "in")
        dumps = [self.c.call("DUMP", k) for k in ("k", "built")]
        self.c.call("DEBUG", "LOADAOF")
        self.as_it_was(wrong)
        self.assertEqual([self.c.call("DUMP", k) for k in ("k", "built")], dumps)
        self.c.call("BGREWRITEAOF")
        wait_until("the rewrite", lambda: b"aof_rewrite_in_progress:0" in self.c.call("INFO", "persistence"))
        self.assertIn(b"aof_last_bgrewrite_status:ok", self.c.call("INFO", "persistence"))
        self.c.call("DEBUG", "LOADAOF")
        self.as_it_was(wrong)
        self.assertEqual([self.c.call("DUMP", k) for k in ("k", "built")], dumps)

    def test_what_was_acknowledged_survives_a_kill(self):
        self.c.call("NS.RESERVE", "k", 0.01, 1000)
        acknowledged = [i for i in items(300) if self.c.call("NS.ADD", "k", i) in (0, 1)]
        self.server.kill()
        self.server.start()
        self.c = self.server.client()
        self.assertEqual(lost(self.c, "k", acknowledged), [])
        self.assertEqual(self.c.call("NS.CARD", "k"), len(acknowledged))

    def test_copy_rename_dump_and_restore(self):
        wrong = self.learned()
        digest = self.c.call("DEBUG", "DIGEST-VALUE", "k")
        self.assertEqual(self.c.call("COPY", "k", "copy"), 1)
        self.c.call("RENAME", "copy", "copied")
        self.c.call("RESTORE", "restored", 0, self.c.call("DUMP", "k"))
        for key in ("copied", "restored"):
            self.as_it_was(wrong, key)
            self.assertEqual(self.c.call("DEBUG", "DIGEST-VALUE", key), digest)
        self.c.call("NS.ADD", "copied", "only here")
        self.assertNotEqual(self.c.call("DEBUG", "DIGEST-VALUE", "copied"), digest)
        self.assertEqual(self.c.call("DEBUG", "DIGEST-VALUE", "k"), digest)

    def test_chunks_move_a_filter(self):
        self.c.call("NS.RESERVE", "k", 0.01, 1500000)
        self.c.call("NS.MADD", "k", *items())
        chunks, at = [], 0
        while True:
            at, data = self.c.call("NS.SCANDUMP", "k", at)
            if at == 0:
                break
            chunks.append((at, data))
            self.c.call("NS.ADD", "k", "added during the dump")
        self.assertGreater(len(chunks), 2)
        self.refused("ERR no dump is at this iterator", "NS.SCANDUMP", "k", 5)
        self.refused("ERR the chunk begins at byte", "NS.LOADCHUNK", "to", *chunks[1])
        self.refused("ERR the first chunk does not begin", "NS.LOADCHUNK", "to", 100, b"x" * 100)
        self.assertEqual(self.c.call("EXISTS", "to"), 0)
        self.c.call("NS.LOADCHUNK", "to", *chunks[0])
        self.refused("NOTREADY ", "NS.EXISTS", "to", "a")
        self.c.call("DEBUG", "RELOAD")  # what has come so far is saved
        for chunk in chunks[1:-1]:
            self.c.call("NS.LOADCHUNK", "to", *chunk)
        broken = bytearray(chunks[-1][1])
        broken[len(broken) // 2] ^= 1
        self.refused("ERR the checksum does not match", "NS.LOADCHUNK", "to", chunks[-1][0], bytes(broken))
        self.c.call("NS.LOADCHUNK", "to", *chunks[-1])
        self.assertEqual(self.c.call("NS.CARD", "to"), ITEMS)
        self.assertEqual(lost(self.c, "to", items()), [])
        # again, over a filter: that one answers until the last chunk has come
        self.c.call("NS.ADD", "to", "new")
        self.c.call("NS.LOADCHUNK", "to", *chunks[0])
        self.assertEqual(self.c.call("NS.EXISTS", "to", "new"), 1)
        self.c.call("DEBUG", "LOADAOF")
        self.assertEqual(self.c.call("NS.EXISTS", "to", "new"), 1)
        for chunk in chunks[1:]:
            self.c.call("NS.LOADCHUNK", "to", *chunk)
        self.assertEqual(self.c.call("NS.EXISTS", "to", "new"), 0)


class Files(OneServer):
    def nsy(self, name="set.nsy"):
        path = os.path.join(self.server.folder, name)
        keys = path + ".txt"
        with open(keys, "w") as f:
            f.write("\n".join(items()))
        subprocess.run([TOOL, "build", "--keys", keys, "--filter", "taught-ribbon", "--bits-per-key", "10", "-o", path],
                       check=True, stdout=subprocess.DEVNULL)
        return path

    def test_a_file_is_mapped(self):
        path = self.nsy()
        self.assertEqual(self.c.call("NS.LOAD", "k", path), "OK")
        self.assertEqual(lost(self.c, "k", items()), [])
        self.assertLess(len(self.false_positives("k")), 40000 * 0.01)
        self.assertLess(self.c.call("MEMORY", "USAGE", "k"), 2000)
        self.refused("ERR the filter is mapped", "NS.ADD", "k", "a")
        self.refused("ERR ", "NS.LOAD", "k", path + ".no")
        self.refused("ERR ", "NS.LOAD", "k", path + ".txt")
        self.refused("ERR " + path + ": it is another file", "NS.LOAD", "k", path, "CHECKSUM", 7)
        self.c.call("COPY", "k", "copy")
        self.assertEqual(lost(self.c, "copy", items()), [])
        self.c.call("DEBUG", "RELOAD")
        self.assertEqual(lost(self.c, "k", items()), [])
        # the same bytes as chunks
        with open(path, "rb") as f:
            data = f.read()
        self.c.call("NS.LOADCHUNK", "chunks", len(data), data)
        self.assertEqual(lost(self.c, "chunks", items()), [])

    def test_without_its_file_a_key_answers_maybe(self):
        path = self.nsy("gone.nsy")
        self.c.call("NS.LOAD", "k", path)
        dump = self.c.call("DUMP", "k")
        os.remove(path)
        self.c.call("DEBUG", "RELOAD")
        self.assertEqual(self.c.call("NS.MEXISTS", "k", "item:1", "stranger"), [1, 1])
        self.assertEqual(self.c.call("NS.EXISTS", "k", "stranger"), 1)
        self.assertIn(b"Trouble", self.c.call("NS.INFO", "k"))
        self.refused("ERR " + path, "NS.ADD", "k", "a")
        self.nsy("gone.nsy")  # back again
        self.c.call("RESTORE", "k", 0, dump, "REPLACE")
        self.assertEqual(self.c.call("NS.MEXISTS", "k", "item:1", "stranger"), [1, 0])

    def test_files_can_be_confined_to_a_folder(self):
        path = self.nsy("inside.nsy")
        folder = os.path.join(self.server.folder, "allowed")
        os.makedirs(folder)
        other = Server(MODULE, "--naysay.load-directory", folder)
        c = other.client()
        with self.assertRaises(ReplyError) as e:
            c.call("NS.LOAD", "k", path)
        self.assertIn("is not below naysay.load-directory", str(e.exception))
        os.symlink(path, os.path.join(folder, "link.nsy"))
        with self.assertRaises(ReplyError):
            c.call("NS.LOAD", "k", os.path.join(folder, "link.nsy"))
        # nor does a payload reach out of it
        self.c.call("NS.LOAD", "k", path)
        c.call("RESTORE", "k", 0, self.c.call("DUMP", "k"))
        self.assertIn(b"Trouble", c.call("NS.INFO", "k"))
        self.assertEqual(c.call("NS.EXISTS", "k", "stranger"), 1)
        os.rename(path, os.path.join(folder, "inside.nsy"))
        self.assertEqual(c.call("NS.LOAD", "k", os.path.join(folder, "inside.nsy")), "OK")
        other.remove()


class Replicas(OneServer):
    def test_a_replica_has_the_same_bytes(self):
        # its settings differ: what was created here by default must be the same there
        replica = replica_of(MODULE, self.server, "--naysay.default-error-rate", "0.2", "--naysay.default-filter", "cuckoo")
        c = replica.client()
        self.c.call("NS.MADD", "by default", *items())
        self.filled()
        wrong = self.false_positives("k")[:10]
        self.c.pipeline([["NS.REPORT", "k", i] for i in wrong] + [["NS.DEL", "k", i] for i in items()[:100]])
        self.c.call("SADD", "in", *items())
        self.c.call("NS.BUILD", "built", "FROM", "in")
        self.c.call("NS.RESERVE", "fixed", 0.01, 10, "NONSCALING")
        self.c.call("NS.MADD", "fixed", *items(100))
        self.c.call("NS.RESERVE", "pinned", 0.05, 100, "PINNED")
        self.c.call("NS.PIN", "pinned", *items(50, "never"))
        self.c.call("NS.MADD", "pinned", *items(500))
        self.c.call("NS.RESERVE", "like pinned", 0.05, 100)
        self.c.call("NS.MADD", "like pinned", *items(500, "like"))
        self.c.call("NS.MERGE", "merged", "pinned", "like pinned")
        path = os.path.join(self.server.folder, "f.nsy")
        with open(path, "wb") as f:
            f.write(self.c.call("NS.SCANDUMP", "built", 0)[1])
        self.c.call("NS.LOAD", "mapped", path)
        wait_for_replica(self.server, replica)
        for key in ("by default", "k", "built", "fixed", "pinned", "merged", "mapped"):
            self.assertEqual(c.call("DUMP", key), self.c.call("DUMP", key), key)
        self.assertEqual(c.call("NS.MEXISTS", "k", *wrong), [0] * len(wrong))
        self.assertEqual(lost(c, "k", items()[100:]), [])
        with self.assertRaises(ReplyError) as e:
            c.call("NS.ADD", "k", "a")
        self.assertTrue(str(e.exception).startswith("READONLY"))
        replica.remove()


class HostilePayloads(OneServer):
    """Whoever may call RESTORE can make any bytes, with the right checksums: the server's and the file's own."""
    OPTIONS = ("--rdbcompression", "no")

    def setUp(self):
        super().setUp()
        self.sealer = subprocess.Popen([SEALER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tearDown(self):
        self.sealer.stdin.close()
        self.sealer.stdout.close()
        self.sealer.wait()
        super().tearDown()

    def sealed(self, file):
        self.sealer.stdin.write(len(file).to_bytes(4, "little") + file)
        self.sealer.stdin.flush()
        return self.sealer.stdout.read(len(file))

    def use(self, key):
        """Everything that could read or write out of bounds. Errors are fine, the end of the server is not."""
        self.c.pipeline([["NS.MEXISTS", key, *items(20)], ["NS.MADD", key, *items(60, "new")], ["NS.INFO", key],
                         ["NS.DEL", key, "item:1"], ["NS.REPORT", key, "z"], ["MEMORY", "USAGE", key],
                         ["DEBUG", "DIGEST-VALUE", key], ["COPY", key, "copy", "REPLACE"], ["DUMP", key]])

    def sources(self):
        self.c.call("NS.RESERVE", "guarded-growing", 0.05, 60, "EXPANSION", 2)
        self.c.call("NS.MADD", "guarded-growing", *items(200))
        self.c.pipeline(["NS.REPORT", "guarded-growing", i] for i in self.false_positives("guarded-growing", 2000)[:5])
        self.c.call("NS.RESERVE", "guarded", 0.05, 60, "NONSCALING")
        for name in ("taught-ribbon", "quotient", "counting-bloom", "habf", "xor"):
            self.c.call("NS.BUILD", name, "FILTER", name, "ITEMS", *items(50))
        return ("guarded-growing", "guarded", "taught-ribbon", "quotient", "counting-bloom", "habf", "xor")

    def test_restore_of_crafted_payloads_does_no_harm(self):
        random.seed(19)
        accepted = refused = 0
        for key in self.sources():
            dump = self.c.call("DUMP", key)
            body, version = dump[:-10], dump[-10:-8]
            self.assertEqual(tail_of(body + version), dump[-8:])
            start = body.index(b"naysay\r\n")
            size = int.from_bytes(body[start + 16:start + 24], "little")
            for n in range(200):
                b = bytearray(body)
                for _ in range(random.choice((1, 1, 2, 8))):
                    # mostly the first fields, where numbers and lengths stand
                    at = start + (8 + random.randrange(300) if n % 4 else random.randrange(size))
                    at = min(at, start + size - 1)
                    b[at] = random.choice((b[at] ^ (1 << random.randrange(8)), 0, 255, random.randrange(256)))
                b[start:start + size] = self.sealed(bytes(b[start:start + size]))
                if n % 10 == 0:  # the server's own framing
                    at = random.randrange(1, start) if n % 20 else random.randrange(1, len(b))
                    b[at] = random.randrange(256)
                b = bytes(b) + version
                if isinstance(self.c.pipeline([["RESTORE", "x", 0, b + tail_of(b), "REPLACE"]])[0], ReplyError):
                    refused += 1
                else:
                    accepted += 1
                    self.use("x")
        self.assertGreater(accepted, 100)
        self.assertGreater(refused, 100)

    def test_chunks_of_crafted_files_do_no_harm(self):
        random.seed(20)
        accepted = 0
        for key in self.sources():
            end, file = self.c.call("NS.SCANDUMP", key, 0)
            for size in (1, 79):
                self.refused("ERR the first chunk does not begin", "NS.LOADCHUNK", "x", size, file[:size])
            for n in range(50):
                b = bytearray(file)
                b[random.randrange(80, end)] ^= 1 << random.randrange(8)
                reply = self.c.pipeline([["NS.LOADCHUNK", "x", end, self.sealed(bytes(b))]])[0]
                if not isinstance(reply, ReplyError):
                    accepted += 1
                    self.use("x")
        self.assertGreater(accepted, 50)


if __name__ == "__main__":
    if find_server() is None:
        print("there is no server: install redis-tools, or name one in NAYSAY_SERVER")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2, warnings="ignore")
