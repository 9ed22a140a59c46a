# SPDX-License-Identifier: Apache-2.0
"""One set over many servers: sharding, bulk load, resharding during queries, failover during adds and reports."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from servers import SKIPPED, Client, Cluster, ReplyError, Server, StaleSeed, find_server, wait_for_replica, wait_until

MODULE, TOOL = sys.argv[1:3]
N, SHARDS = 20000, 32


def lines(path, n=N, prefix="item"):
    with open(path, "w") as f:
        f.writelines("%s:%d\n" % (prefix, i) for i in range(n))
    return path


class OverTheCluster(unittest.TestCase):
    REPLICAS = False

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="naysay-cluster-")
        cls.keys = lines(os.path.join(cls.folder.name, "keys.txt"))
        cls.strangers = lines(os.path.join(cls.folder.name, "strangers.txt"), prefix="stranger")
        cls.cluster = Cluster(MODULE, masters=3, replicas=3 if cls.REPLICAS else 0)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.remove()
        cls.folder.cleanup()

    def command(self, action, *options, name="set"):
        return [TOOL, "redis", action, *options, "--cluster", self.cluster.seeds(), "--set", name, "--shards", str(SHARDS)]

    def tool(self, *args, name="set", code=0):
        ran = subprocess.run(self.command(*args, name=name), capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran.stdout if code != 2 else ran.stderr

    def missing(self, name="set"):
        ran = subprocess.run(self.command("query", self.keys, "--invert", "--count", name=name), capture_output=True,
                             text=True, timeout=300)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return int(ran.stdout)


class ThreeMasters(OverTheCluster):
    def test_what_was_added_is_found_and_spread(self):
        said = json.loads(self.tool("add", self.keys, "--capacity", str(N), "--json"))
        self.assertEqual((said["items"], said["servers"], said["shards"]), (N, 3, SHARDS))
        self.assertGreater(said["new"], N * 0.98)
        self.assertEqual(self.tool("query", self.keys, "--count"), "%d\n" % N)
        self.assertEqual(len(self.tool("query", self.keys).splitlines()), N)
        accepted = int(subprocess.run(self.command("query", self.strangers, "--count"), capture_output=True).stdout)
        self.assertLess(accepted, N * 0.015)
        per_server = [len([k for k in c.call("KEYS", "set:{*}")]) for c in self.cluster.clients()]
        self.assertEqual(sum(per_server), SHARDS)
        self.assertTrue(all(n > 0 for n in per_server), per_server)

    def test_another_number_of_shards_is_refused(self):
        self.tool("add", self.keys, name="fixed")
        ran = subprocess.run([TOOL, "redis", "query", self.keys, "--cluster", self.cluster.seeds(), "--set", "fixed",
                              "--shards", "31"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("the set fixed has 32 shards, not 31", ran.stderr)

    def test_shards_are_built_here_and_loaded(self):
        negatives = os.path.join(self.folder.name, "negatives.tsv")
        with open(negatives, "w") as f:
            f.writelines("stranger:%d\t%d\n" % (i, 1 + i % 7) for i in range(N // 2))
        said = json.loads(self.tool("build", self.keys, "--negatives", negatives, "--json", name="built"))
        self.assertEqual(said["items"], N)
        self.assertEqual(self.missing("built"), 0)
        known = subprocess.run(self.command("query", "-", "--count", name="built"), capture_output=True, text=True,
                               input="".join("stranger:%d\n" % i for i in range(N // 2)))
        self.assertLess(int(known.stdout), N // 2 * 0.001)
        self.tool("build", self.keys, "--filter", "guarded-growing", "--capacity", str(N), name="live")
        self.tool("add", self.strangers, name="live")
        self.assertEqual(self.missing("live"), 0)
        self.assertEqual(int(self.tool("query", self.strangers, "--count", name="live")), N)

    def test_queries_and_adds_go_on_while_slots_move(self):
        self.tool("add", self.keys, name="moving")
        adds = lines(os.path.join(self.folder.name, "more.txt"), prefix="more")
        adding = subprocess.Popen(self.command("add", adds, name="moving"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True)
        moved = self.cluster.move_slots_of(["moving:{%d}" % i for i in range(0, SHARDS, 3)],
                                           meanwhile=lambda: self.assertEqual(self.missing("moving"), 0))
        self.assertGreater(moved, 5)
        out, err = adding.communicate(timeout=300)
        self.assertEqual(adding.returncode, 0, err)
        self.assertEqual(self.missing("moving"), 0)
        self.assertEqual(int(self.tool("query", adds, "--count", name="moving")), N)
        # nothing twice: no reply was lost, so every item was sent once
        cards = [r for c in self.cluster.clients() for k in c.call("KEYS", "moving:{*}") for r in [c.call("NS.CARD", k)]]
        self.assertEqual(sum(cards), 2 * N)

    def query_through(self, seed, *more, give_up=30):
        self.addCleanup(seed.close)
        seeds = ",".join("127.0.0.1:%d" % s.port for s in (seed, *more))
        return subprocess.run([TOOL, "redis", "query", self.keys, "--count", "--cluster", seeds, "--set", "stale",
                               "--shards", str(SHARDS), "--give-up", str(give_up)], capture_output=True, text=True,
                              timeout=300)

    def test_a_seed_that_hears_of_nothing_does_not_hold_up_a_query(self):
        self.tool("add", self.keys, name="stale")
        seed = StaleSeed(self.cluster.servers[0].address)
        ran = self.query_through(seed)
        self.assertEqual((ran.returncode, ran.stdout), (0, "%d\n" % N), ran.stderr)
        self.assertGreater(seed.queries, 0)

    def test_a_seed_that_names_a_dead_server_does_not_hold_up_a_query(self):
        self.tool("add", self.keys, name="stale")
        ran = self.query_through(StaleSeed(("127.0.0.1", 1)), self.cluster.servers[1])
        self.assertEqual((ran.returncode, ran.stdout), (0, "%d\n" % N), ran.stderr)

    def test_a_server_that_sends_everybody_in_circles_is_named(self):
        seed = StaleSeed()
        ran = self.query_through(seed, give_up=3)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("gave up after 3000 ms; 127.0.0.1:%d: MOVED" % seed.port, ran.stderr)

    def test_servers_that_are_not_there_are_named(self):
        ran = subprocess.run([TOOL, "redis", "query", self.keys, "--cluster", "127.0.0.1:1", "--set", "x"],
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("127.0.0.1:1", ran.stderr)


class Failover(OverTheCluster):
    REPLICAS = True

    def test_a_master_that_dies_during_adds_and_reports_loses_nothing_acknowledged(self):
        # acknowledged means confirmed by one replica: --wait 1
        self.tool("add", self.keys, "--wait", "1", "--capacity", str(N))
        more = lines(os.path.join(self.folder.name, "more.txt"), 200000, prefix="more")
        adding = subprocess.Popen(self.command("add", more, "--wait", "1", "--give-up", "120"), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        victim = self.cluster.servers[0]
        reported = self.report_some(victim)
        # when some of the new items are there, the master dies
        count = lambda: sum(victim.client().call("NS.CARD", k) for k in victim.client().call("KEYS", "set:{*}"))
        before = count()
        wait_until("items to arrive", lambda: adding.poll() is not None or count() > before)
        victim.kill()
        slot = self.cluster.servers[1].client().call("CLUSTER", "KEYSLOT", reported[0][0])
        wait_until("the failover", lambda: any(self.cluster.has(s, slot) for s in self.cluster.servers[1:]))
        victim.start()  # as the replica that --wait 1 needs
        out, err = adding.communicate(timeout=300)
        self.assertEqual(adding.returncode, 0, err)
        self.assertEqual(self.missing(), 0)
        ran = subprocess.run(self.command("query", more, "--invert", "--count"), capture_output=True, text=True)
        self.assertEqual(ran.stdout, "0\n")
        # What was reported and confirmed is refused by the server that took over.
        for key, item in reported:
            replies = [r for r in (self.ask(c, key, item) for c in self.cluster.clients(alive=True)) if r is not None]
            self.assertEqual(replies, [0], (key, item))

    def report_some(self, server):
        """False positives of this server's shards, reported and confirmed by its replica."""
        c = server.client()
        wrong = []
        for key in c.call("KEYS", "set:{*}"):
            strangers = ["none:%d" % i for i in range(4000)]
            for item, maybe in zip(strangers, c.call("NS.MEXISTS", key, *strangers)):
                if maybe and len(wrong) < 20:
                    wrong.append((key, item))
        self.assertGreater(len(wrong), 2)
        for key, item in wrong:
            self.assertEqual(c.call("NS.REPORT", key, item), 1)
        self.assertGreaterEqual(c.call("WAIT", 1, 30000), 1)
        return wrong

    @staticmethod
    def ask(client, key, item):
        try:
            return client.call("NS.EXISTS", key, item)
        except ReplyError:
            return None  # MOVED: another server has it


if __name__ == "__main__":
    if find_server() is None:
        print("there is no server: install redis-tools, or name one in NAYSAY_SERVER")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2, warnings="ignore")
