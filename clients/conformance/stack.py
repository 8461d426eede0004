"""The servers of one run: a Redis, two batonds behind haproxy, one that the test itself asks, and one for examples."""
import ctypes
import hashlib
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import time
from urllib.parse import quote

ROOT = pathlib.Path(__file__).resolve().parents[2]
HANGS = 60  # seconds after which a test gives up to wait; no test passes by waiting
KEYS = {"app": ["acquire", "read", "break"], "reader": ["read"]}  # a principal and its verbs; the key is padded
CLAIMS = []  # sockets whose names say which ports are taken; they stay open until this process ends
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def key_of(principal):
    return f"{principal}-".ljust(43, "k")


def free_port():
    """As tests/support/free_port.c does it: below the ports that the kernel gives to connections, and no other test's."""
    while True:
        port = random.randrange(10_000, 20_000)
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0baton-test-port-{port}".encode().ljust(108, b"\0"))
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim)
        return port


def until(question, what):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + HANGS
    while not (answer := question()):
        if time.monotonic() > end:
            raise AssertionError(f"still not so: {what() if callable(what) else what}")
        time.sleep(0.01)
    return answer


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A process that ends with this one, whatever happens. Its output is in a file."""

    def __init__(self, log, *command, **options):
        self.log, self.command, self.options = log, command, options
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [str(word) for word in self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), **self.options)

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        self.send(signal.SIGCONT)
        self.send(number)
        self.process.wait(HANGS)


class Stack:
    """All of them, on free ports, with their files in one folder."""

    def __init__(self, batond, folder):
        self.folder, self.batond = folder, batond
        self.ports = {name: free_port() for name in ("redis", "one", "two", "observer", "open", "haproxy", "nobody")}
        self.started = {}
        principals = [{"name": name, "sha256": hashlib.sha256(key_of(name).encode()).hexdigest(),
                       "rules": [{"prefix": "", "verbs": verbs}]} for name, verbs in KEYS.items()]
        (folder / "tokens.json").write_text(json.dumps({"principals": principals}))
        (folder / "tokens.json").chmod(0o600)
        self.start_redis()
        for name in ("one", "two", "observer", "open"):
            self.start_batond(name)
        environment = os.environ | {"LISTEN": self.address("haproxy"), "REPLICA_ONE": self.address("one"),
                                    "REPLICA_TWO": self.address("two")}
        self.started["haproxy"] = Process(folder / "haproxy.log", "/usr/sbin/haproxy", "-db", "-f",
                                          ROOT / "deploy/haproxy.cfg", env=environment)
        self.observer = Observer(self.ports["observer"])
        until(lambda: listens(self.ports["haproxy"]), "haproxy listens")
        for name in ("one", "two", "observer", "open"):
            until(lambda name=name: listens(self.ports[name]), f"batond {name} listens")

    def address(self, name):
        return f"127.0.0.1:{self.ports[name]}"

    def start_redis(self):
        self.started["redis"] = Process(
            self.folder / "redis.log", "redis-server", "--bind", "127.0.0.1", "--port", self.ports["redis"],
            "--save", "", "--dir", self.folder)
        until(lambda: listens(self.ports["redis"]), "Redis listens")

    def start_batond(self, name):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("BATON_")}
        # An API key is needed at all of them except one, for the examples of READMEs.
        keys = [] if name == "open" else ["--tokens-file", self.folder / "tokens.json"]
        self.started[name] = Process(
            self.folder / f"{name}.log", self.batond, "--listen", self.address(name),
            "--redis-url", f"redis://{self.address('redis')}", "--workers", "1", *keys,
            # The first is longer than haproxy needs to see it, the second than a client needs to come back.
            "--drain", "2s", "--claim-window", "10s", env=clean)

    def restart_batond(self, name):
        self.started[name].end()
        self.started[name].start()
        until(lambda: listens(self.ports[name]), f"batond {name} listens again")

    def lose_redis(self):
        """Another Redis, which knows nothing, in place of this one."""
        self.started["redis"].end(signal.SIGKILL)
        self.start_redis()

    def stop(self):
        for process in self.started.values():
            process.send(signal.SIGCONT)
            process.send(signal.SIGKILL)


class Observer:
    """Asks a batond that no fault of the network touches."""

    def __init__(self, port):
        self.port = port
        self.headers = {"Authorization": "Bearer " + key_of("app")}

    def ask(self, method, name, query=""):
        """The lock or what else comes; None while that batond cannot answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)
        try:
            connection.request(method, f"/locks/{quote(name, safe='')}{query}", headers=self.headers)
            response = connection.getresponse()
            document = json.loads(response.read())
            return document if response.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def lock(self, name):
        return self.ask("GET", name)
