#!/usr/bin/python3
"""What each operation takes of Redis' own time, asked over HTTP by one client at its pace.

    time_in_redis.py BATOND [BEFORE]

Starts a Redis and a batond of each program, and prints for each operation the microseconds that Redis
was busy with it, the ratio to a bare SET NX PX by a script that is called at the same pace, and with
BEFORE the ratio to that other batond. Redis says how long it was busy (INFO commandstats). All take
turns in rounds; a figure is the median of its rounds."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "compare"))
from bare import Http, Redis  # pylint: disable=wrong-import-position

ROUNDS, COUNT, CROWD = 5, 300, 10_000
SET_NX = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"
SCRIPTED = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_fcall")


def free_port():
    """A port that nobody listens at."""
    import socket  # pylint: disable=import-outside-toplevel
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(attempt):
    """Tries until it works, ten seconds at most."""
    give_up = time.monotonic() + 10
    while True:
        try:
            return attempt()
        except (OSError, AssertionError):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)


class Site:
    """A Redis, and two batonds of one program on it."""

    def __init__(self, program, directory):
        redis_port, self.started = free_port(), []
        self._start("redis-server", "--port", redis_port, "--bind", "127.0.0.1", "--save", "", "--dir", directory)
        self.redis = until(lambda: Redis(redis_port))
        self.ports = [free_port(), free_port()]
        for port in self.ports:
            self._start(program, f"--listen=127.0.0.1:{port}", f"--redis-url=redis://127.0.0.1:{redis_port}")
            until(lambda port=port: Http(port).expect(200, "GET", "/readyz"))
        self.connect()
        self.number = 0

    def connect(self):
        """Connections for the next operation: batond closes one that was long idle."""
        self.client, self.other = Http(self.ports[0]), Http(self.ports[0])
        self.across = Http(self.ports[1])

    def _start(self, *words):
        self.started.append(subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))

    def stop(self):
        """Ends all that was started."""
        for process in reversed(self.started):
            process.terminate()
            process.wait()

    def busy_us(self):
        """How long Redis has been busy with scripts and functions."""
        total = 0
        for line in self.redis.call("INFO", "commandstats").decode().splitlines():
            name, _, fields = line.partition(":")
            if name in SCRIPTED:
                total += int(dict(field.split("=") for field in fields.split(","))["usec"])
        return total

    def name(self):
        """Of a lock that was not used before."""
        self.number += 1
        return f"/locks/figure-{self.number}"

    def take(self, client, target):
        """Its token."""
        return json.loads(client.expect(201, "POST", target))["token"]


def free_acquire(site):
    """An acquire of a free lock."""
    return lambda: site.take(site.client, site.name() + "?ttl=30s")


def pair(site):
    """An acquire and its release."""
    def both():
        name = site.name()
        token = site.take(site.client, name + "?ttl=30s")
        site.client.expect(200, "DELETE", name, f"Lock-Token: {token}\r\n")
    return both


def renewal(site):
    """A renewal."""
    name = site.name()
    token = site.take(site.client, name + "?ttl=30s")
    return lambda: site.client.expect(200, "PUT", name, f"Lock-Token: {token}\r\n")


def look(site):
    """A look at a lock that is held."""
    name = site.name()
    site.take(site.client, name + "?ttl=60s")
    return lambda: site.client.expect(200, "GET", name)


def refusal(site):
    """An acquire of a lock that is held."""
    name = site.name()
    site.take(site.client, name + "?ttl=60s")
    return lambda: site.client.expect(409, "POST", name)


def shared(site):
    """A shared hold and its release, beside ten thousand others."""
    name = site.name()
    for _ in range(CROWD):
        site.take(site.client, name + "?mode=shared&ttl=10m")

    def both():
        token = site.take(site.client, name + "?mode=shared&ttl=30s")
        site.client.expect(200, "DELETE", name, f"Lock-Token: {token}\r\n")
    return both


def hand_over(site, is_across):
    """A request that waits, a look at it, the release here or by the other batond, and the claim."""
    releases = site.across if is_across else site.client
    name, held = site.name(), []
    held.append(site.take(site.client, name + "?ttl=60s"))

    def once():
        site.other.send("POST", name + "?wait=10s&ttl=60s")
        while json.loads(releases.expect(200, "GET", name))["queue_length"] == 0:
            pass
        releases.expect(200, "DELETE", name, f"Lock-Token: {held.pop()}\r\n")
        status, body = site.other.take()
        if status != 201:
            raise AssertionError(body)
        held.append(json.loads(body)["token"])
    return once


OPERATIONS = {
    "acquire": free_acquire,
    "acquire and release": pair,
    "renew": renewal,
    "inspect": look,
    "refused acquire": refusal,
    "shared hold and release beside 10,000": shared,
    "wait, inspect, hand-over": lambda site: hand_over(site, False),
    "wait, inspect, hand-over by another batond": lambda site: hand_over(site, True),
}


def measure(site, operation):
    """Microseconds of Redis for one, and its pace in seconds."""
    operation()
    before, start = site.busy_us(), time.monotonic()
    for _ in range(COUNT):
        operation()
    pace = (time.monotonic() - start) / COUNT
    return (site.busy_us() - before) / COUNT, pace


def measure_bare(site, script, pace):
    """The same of the bare script, called at that pace."""
    before, due = site.busy_us(), time.monotonic()
    for _ in range(COUNT):
        site.number += 1
        site.redis.call("EVALSHA", script, 1, f"bare-{site.number}", "token", 30000)
        due += pace
        while time.monotonic() < due:
            time.sleep(0)
    return (site.busy_us() - before) / COUNT


def main(programs):
    """Measures, and prints the table."""
    with tempfile.TemporaryDirectory() as directory:
        sites = [Site(program, directory) for program in programs]
        try:
            script = sites[0].redis.call("SCRIPT", "LOAD", SET_NX).decode()
            print(f"{'':45}{'us':>8}{'SET NX':>8}" + (f"{'before':>8}" if len(sites) > 1 else ""))
            for what, prepare in OPERATIONS.items():
                for site in sites:
                    site.connect()
                operations = [prepare(site) for site in sites]
                rounds = []
                for _ in range(ROUNDS):
                    taken = [measure(site, operation) for site, operation in zip(sites, operations)]
                    rounds.append([us for us, _ in taken] + [measure_bare(sites[0], script, taken[0][1])])
                here, *before, bare = [statistics.median(column) for column in zip(*rounds)]
                ratios = "".join(f"{here / other:8.2f}" for other in before)
                print(f"{what:45}{here:8.1f}{here / bare:8.2f}{ratios}", flush=True)
        finally:
            for site in sites:
                site.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
