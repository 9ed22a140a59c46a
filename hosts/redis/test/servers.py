# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests and the benchmark, and a client for both versions of their protocol.

Debian's package redis-tools is enough: its redis-check-rdb is the server when it is called through a link with the name
redis-server. NAYSAY_SERVER names another server, such as valkey-server. Nothing is installed, no port is fixed, and
every server ends with the program, whatever happens.
"""
import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

SKIPPED = 77  # the exit code by which ctest knows that there is no server to test with


def find_server():
    named = os.environ.get("NAYSAY_SERVER")
    if named:
        return shutil.which(named)
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


class ReplyError(Exception):
    """An error that the server replied."""


class Wire:
    """One end of a connection: writes and reads the protocol that clients and servers speak."""

    def __init__(self, connected):
        self.socket = connected
        self.file = connected.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    @staticmethod
    def encode(args):
        parts = [b"*%d\r\n" % len(args)]
        for a in args:
            a = a if isinstance(a, bytes) else str(a).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(a), a))
        return b"".join(parts)

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return ReplyError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind == b"_":
            return None
        n = int(rest)
        if kind in b"$=":
            if n < 0:
                return None
            data = self.file.read(n + 2)
            if len(data) != n + 2:
                raise ConnectionError("the server closed the connection")
            return data[:-2]
        if kind in b"*~>":
            return None if n < 0 else [self.read() for _ in range(n)]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(n)}
        raise ValueError("unknown reply %r" % line)


class Client(Wire):
    """One connection. call(...) raises a ReplyError; pipeline([...]) returns errors among the replies."""

    def __init__(self, address, protocol=2, timeout=60):
        connected = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, socket.SOCK_STREAM)
        connected.settimeout(timeout)
        connected.connect(address)
        super().__init__(connected)
        if protocol == 3:
            self.call("HELLO", "3")

    def send(self, *args):
        self.socket.sendall(self.encode(args))

    def call(self, *args):
        self.send(*args)
        reply = self.read()
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def pipeline(self, calls):
        calls = list(calls)
        replies = []
        for at in range(0, len(calls), 256):  # so that neither side fills the other's buffers
            part = calls[at:at + 256]
            self.socket.sendall(b"".join(self.encode(c) for c in part))
            replies += [self.read() for _ in part]
        return replies


class Server:
    """A server with the module, in a folder of its own, at a Unix socket and, with port=True, on 127.0.0.1."""

    def __init__(self, module, *options, port=False, folder=None):
        self.module, self.options = module, options
        self.folder = folder or tempfile.mkdtemp(prefix="naysay-redis-")
        self.port = free_port() if port else 0
        self.path = os.path.join(self.folder, "s")
        self.process = None
        atexit.register(self.remove)
        self.start()

    def start(self, *more):
        link = os.path.join(self.folder, "redis-server")
        if not os.path.lexists(link):
            os.symlink(find_server(), link)
        program = link if os.path.basename(find_server()) == "redis-check-rdb" else find_server()
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [program, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.path, "--dir", self.folder,
                 "--save", "", "--daemonize", "no", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0",
                 "--loadmodule", self.module, *self.options, *more],
                stdout=log, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        until = time.monotonic() + 60
        while True:
            try:
                if self.client().call("PING") == "PONG":
                    return
            except (OSError, ReplyError):  # not there yet, or loading
                pass
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the server does not start:\n" + self.log())
            time.sleep(0.01)

    def log(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def client(self, protocol=2):
        return Client(self.path, protocol)

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def die_with_parent():
    try:
        import ctypes
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        pass  # atexit does it too


def free_port():
    """One that no connection gets by itself (Linux gives those 32768 and more), so that it is free when a server that was
    killed starts again. The cluster's own port is this one plus 10000."""
    while True:
        port = random.randrange(11000, 22000)
        with socket.socket() as a, socket.socket() as b:
            try:
                a.bind(("127.0.0.1", port))
                b.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
            return port


def wait_until(what, condition, seconds=60):
    """Waits for a condition that another process brings about."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("waited %d s for %s" % (seconds, what))
        time.sleep(0.02)


def replica_of(module, master, *options):
    replica = Server(module, "--replicaof", "127.0.0.1 %d" % master.port, *options, port=True)
    wait_until("the replica", lambda: b"master_link_status:up" in replica.client().call("INFO", "replication"))
    return replica


def wait_for_replica(master, replica):
    """All that the master has written is at the replica, and applied."""
    offset = lambda text, name: int(text.split(name)[1].split(b"\r\n")[0])
    goal = offset(master.client().call("INFO", "replication"), b"master_repl_offset:")
    wait_until("the replica to catch up",
               lambda: offset(replica.client().call("INFO", "replication"), b"slave_repl_offset:") >= goal)


class Cluster:
    """Masters with all slots in equal parts, and as many replicas as are asked for, on 127.0.0.1."""

    def __init__(self, module, masters=3, replicas=0, options=()):
        patience = "3000" if replicas else "30000"  # a busy machine must not look like a dead server
        self.servers = [Server(module, "--cluster-enabled", "yes", "--cluster-node-timeout", patience, *options, port=True)
                        for _ in range(masters + replicas)]
        ids = [s.client().call("CLUSTER", "MYID") for s in self.servers]
        for i, s in enumerate(self.servers):
            c = s.client()
            if i < masters:
                c.call("CLUSTER", "ADDSLOTSRANGE", 16384 * i // masters, 16384 * (i + 1) // masters - 1)
            c.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for s in self.servers[1:]:
            s.client().call("CLUSTER", "MEET", "127.0.0.1", self.servers[0].port)
        wait_until("the servers to meet", lambda: all(
            s.client().call("CLUSTER", "NODES").count(b"connected") >= len(self.servers) for s in self.servers))
        for i, s in enumerate(self.servers[masters:]):
            wait_until("a replica to know its master", lambda: ids[i % masters] in s.client().call("CLUSTER", "NODES"))
            s.client().call("CLUSTER", "REPLICATE", ids[i % masters])
        for i, s in enumerate(self.servers):
            wait_until("the cluster", lambda: b"cluster_state:ok" in s.client().call("CLUSTER", "INFO"))
            if i >= masters:
                wait_until("the replicas", lambda: b"master_link_status:up" in s.client().call("INFO", "replication"))

    def seeds(self):
        return ",".join("127.0.0.1:%d" % s.port for s in self.servers)

    def clients(self, alive=False):
        return [s.client() for s in self.servers if not alive or s.process.poll() is None]

    def move_slots_of(self, keys, meanwhile):
        """Moves the slots of these keys to the next server each, as redis-cli --cluster reshard does; calls meanwhile()
        with every fourth in flight: half moved. Returns how many slots were moved.

        The next slot has to wait until all servers agree on this one. Otherwise a server may still take the old owner for
        the right one when the old owner gets another slot. It then makes the new owner drop the slot, which stays without
        an owner."""
        moved = 0
        for key in keys:
            slot = self.servers[0].client().call("CLUSTER", "KEYSLOT", key)
            at = next(i for i, s in enumerate(self.servers) if self.has(s, slot))
            source, target = self.servers[at], self.servers[(at + 1) % len(self.servers)]
            source_id, target_id = (s.client().call("CLUSTER", "MYID") for s in (source, target))
            target.client().call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
            source.client().call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
            there = source.client().call("CLUSTER", "GETKEYSINSLOT", slot, 1000)
            if there:
                source.client().call("MIGRATE", "127.0.0.1", target.port, "", 0, 60000, "KEYS", *there)
            if moved % 4 == 0:
                meanwhile()  # the keys are there, the slot is not: ASK
            target.client().call("CLUSTER", "SETSLOT", slot, "NODE", target_id)
            wait_until("slot %d to be where it was moved" % slot, lambda: self.agree(slot, target_id))
            moved += 1
        return moved

    def agree(self, slot, owner_id):
        """All servers know the owner's epoch and that it has this slot; those that do not are told."""
        epochs = {epoch_of(s.client().call("CLUSTER", "NODES"), owner_id) for s in self.servers}
        behind = [s for s in self.servers if self.owner(s, slot) != owner_id]
        for s in behind:
            s.client().call("CLUSTER", "SETSLOT", slot, "NODE", owner_id)
        return len(epochs) == 1 and not behind

    @staticmethod
    def owner(server, slot):
        """Who has this slot, as far as this server knows."""
        return next((r[2][2] for r in server.client().call("CLUSTER", "SLOTS") if r[0] <= slot <= r[1]), None)

    def has(self, server, slot):
        return self.owner(server, slot) == server.client().call("CLUSTER", "MYID")

    def remove(self):
        for s in self.servers:
            s.remove()


def epoch_of(nodes, node_id):
    """The epoch of a server's slots, from a reply to CLUSTER NODES."""
    return next(line.split()[6] for line in nodes.splitlines() if line.startswith(node_id))


class StaleSeed:
    """What is left of a server that hears nothing of its cluster any more. It says that the server at an address has all
    slots (without an address: it itself), and sends every other command there."""

    def __init__(self, address=None):
        self.queries = 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        host, port = address or ("127.0.0.1", self.port)
        self.slots = b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$%d\r\n%s\r\n:%d\r\n" % (len(host), host.encode(), port)
        self.moved = b"-MOVED 1 %s:%d\r\n" % (host.encode(), port)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connected, _ = self.listening.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self.answer, args=(Wire(connected),), daemon=True).start()

    def answer(self, wire):
        try:
            while True:
                of_slots = wire.read() == [b"CLUSTER", b"SLOTS"]
                self.queries += 1
                wire.socket.sendall(self.slots if of_slots else self.moved)
        except OSError:
            wire.close()  # the client has left

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)  # ends accept()
        self.listening.close()


def tail_of(crc_input):
    """The CRC-64 (Jones) at the end of DUMP payloads."""
    crc = 0
    for byte in crc_input:
        crc = CRC[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc.to_bytes(8, "little")


def crc_table():
    table = []
    for i in range(256):
        crc = i
        for _ in range(8):
            crc = (crc >> 1) ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
        table.append(crc)
    return table


CRC = crc_table()
