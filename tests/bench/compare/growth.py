#!/usr/bin/python3
"""What an operation costs as locks, waiters and holds become many.

    growth.py fill COUNT REDIS_PORT
    growth.py held --sizes SIZE... --places PORT:REDIS_PORT...   a batond and Redis for each size
    growth.py waiters|shared --places PORT:REDIS_PORT

Prints lines of ROUND, CASE, FIGURE, UNIT and VALUE with tabs between them. `--library` is where the
build has put the library, to know its functions in Redis' slow log: it says, in whole
microseconds, how long Redis was busy with each run of each script. The cases take turns in blocks,
so that what drifts in the machine meets all of them. Of a block the slowest tenth is left out."""

import argparse
import json
import math
import pathlib
import secrets
import select
import statistics
import struct
import time

from bare import Http, Redis, allow_many_connections

SIZES = {"waiters": (1, 100, 10_000), "shared": (1, 10_000)}
CASES = {"held": "locks held", "waiters": "clients waiting", "shared": "shared holds"}
PREFIX = "baton:"
PIPELINE = 1000
# The retention, batond's default in us, then: run at any time, grant at once, no number to start above.
STAMP = struct.pack("<ddddd24x", 3_600_000_000, math.inf, 0, 0, 0)
TTL_MS = 3_600_000


def trimmed(values):
    """The mean without the slowest tenth."""
    values = sorted(values)
    return statistics.mean(values[:max(1, len(values) * 9 // 10)])


def memory(redis):
    return int(redis.info("memory")["used_memory"])


def report_memory(kind, count, before, after):
    """Of few, what Redis needs for the first ones would say nothing."""
    if count >= PIPELINE:
        each = (after - before) / count
        print(f"0\t{count} {CASES[kind]}\tmemory of each in Redis\tbytes\t{each:.0f}")


def library_of(path):
    """The text of the library, and its name, with which those of its functions begin."""
    text = pathlib.Path(path).read_text()
    return text, text[text.index("name=") + 5:text.index("\n")]


def fill(count, redis_port, library):
    """Takes so many locks with the very script, as batond would send it for each of them."""
    redis, (text, name) = Redis(redis_port), library_of(library)
    redis.call("FUNCTION", "LOAD", "REPLACE", text)
    before = memory(redis)
    start = time.monotonic()
    for first in range(0, count, PIPELINE):
        several = range(first, min(first + PIPELINE, count))
        redis.socket.sendall(b"".join(
            redis.packed("FCALL", name + "_acquire", 1, f"{PREFIX}{{held-{i}}}", STAMP,
                         struct.pack("<Bdd", 0, TTL_MS, 0) +
                         "\0".join((secrets.token_urlsafe(16), secrets.token_urlsafe(16),
                                    "exclusive", secrets.token_hex(8), "", "")).encode()) for i in several))
        for _ in several:
            if not isinstance(redis.take(), int):
                raise AssertionError("a lock was not free")
    rate = count / (time.monotonic() - start)
    report_memory("held", count, before, memory(redis))
    if count >= PIPELINE:
        print(f"0\t{count} {CASES['held']}\tthe bare script, {PIPELINE} ahead\ta second\t{rate:.0f}")


class Place:
    """A batond and its Redis, and what a block of operations has cost there."""

    def __init__(self, ports, library):
        port, redis_port = ports.split(":")
        self.http, self.port, self.redis = Http(int(port)), int(port), Redis(int(redis_port))
        self.functions = library_of(library)[1] + "_"
        self.redis.call("CONFIG", "SET", "slowlog-max-len", 100_000)
        self.log_slower_than(-1)

    def log_slower_than(self, microseconds):
        """-1: nothing, so that it is short, and takes no memory that is looked at."""
        self.redis.call("CONFIG", "SET", "slowlog-log-slower-than", microseconds)

    def begin(self):
        self.times = {}
        self.log_slower_than(0)

    def timed(self, what, *request):
        """A request that answers what it should, and how long that took."""
        start = time.perf_counter()
        reply = self.http.expect(*request)
        self.times.setdefault(what, []).append((time.perf_counter() - start) * 1e6)
        return json.loads(reply)

    def end(self):
        """{(figure, operation): us} of all since begin()."""
        busy = {}
        self.log_slower_than(-1)
        entries = self.redis.call("SLOWLOG", "GET", -1)
        self.redis.call("SLOWLOG", "RESET")
        for entry in entries:
            words = [word.decode(errors="replace") for word in entry[3]]
            is_ours = words[0].upper() == "FCALL" and words[1].startswith(self.functions)
            script = words[1][len(self.functions):] if is_ours else None
            if script in ("acquire", "renew", "inspect", "release", "leave"):
                is_claim = script == "acquire" and words[5][0] == "\x02"
                busy.setdefault("claim" if is_claim else script, []).append(entry[2])
        found = {("Redis busy", script): trimmed(values) for script, values in busy.items()}
        found |= {("latency", what): trimmed(values) for what, values in self.times.items()}
        return found


class Held:
    """What is done with a free lock while others are held. Each size has a Redis of its own,
    filled already."""

    def __init__(self, places, sizes):
        self.places, self.number = dict(zip(sizes, places)), 0
        for size, place in self.places.items():
            name = f"/locks/held-{size - 1}"
            seen = json.loads(place.http.expect(200, "GET", name))
            if seen["state"] != "held" or int(place.redis.call("DBSIZE")) < size:
                raise AssertionError(f"{size} locks should be held: {seen}")

    def block(self, size, count):
        place, names = self.places[size], []
        place.begin()
        for _ in range(count):
            self.number += 1
            names.append(f"free-{self.number}")
            hold = place.timed("acquire", 201, "POST", f"/locks/{names[-1]}")
            token = f"Lock-Token: {hold['token']}\r\n"
            place.timed("renew", 200, "PUT", f"/locks/{names[-1]}?ttl=1m", token)
            place.timed("inspect", 200, "GET", f"/locks/{names[-1]}")
            place.timed("release", 200, "DELETE", f"/locks/{names[-1]}", token)
        found = place.end()
        place.redis.call("DEL", *(f"{PREFIX}{{{name}}}" for name in names))
        return [("", found)]


class Waiters:
    """A name each with so many waiters: one more comes and goes, and the lock is handed over."""

    def __init__(self, places, sizes):
        self.place, self.lines = places[0], {}
        for size in sizes:
            before = memory(self.place.redis)
            self.lines[size] = line = {"name": f"/locks/line-{size}", "poll": select.epoll()}
            line["token"] = self.take_lock(line["name"])
            line["parked"] = {}
            for i in range(size):
                client = Http(self.place.port)
                line["parked"][client.socket.fileno()] = client
                line["poll"].register(client.socket, select.EPOLLIN)
                self.park(line, client)
                if i % 100 == 0 or i == size - 1:
                    self.await_length(line, i + 1)
            report_memory("waiters", size, before, memory(self.place.redis))

    def take_lock(self, name):
        return json.loads(self.place.http.expect(201, "POST", f"{name}?ttl=1h"))["token"]

    @staticmethod
    def park(line, client):
        client.send("POST", f"{line['name']}?ttl=1h&wait=1h")

    def await_length(self, line, length):
        for _ in range(10_000):
            seen = json.loads(self.place.http.expect(200, "GET", line["name"]))
            if seen["queue_length"] == length:
                return
        raise AssertionError(f"{line['name']}: {seen['queue_length']} wait, not {length}")

    def come_and_go(self, line, count):
        self.place.begin()
        for _ in range(count):
            self.place.timed("come and go", 409, "POST", f"{line['name']}?wait=1ms")
        return self.place.end()

    def hand_over(self, line, count):
        self.place.begin()
        for _ in range(count):
            start = time.perf_counter()
            self.place.http.send("DELETE", line["name"], f"Lock-Token: {line['token']}\r\n")
            (parked, _), = line["poll"].poll(10, 1)
            client = line["parked"][parked]
            status, reply = client.take()
            took = (time.perf_counter() - start) * 1e6
            self.place.times.setdefault("hand-over", []).append(took)
            if status != 201 or self.place.http.take()[0] != 200:
                raise AssertionError(f"not handed over: {status} {reply!r}")
            line["token"] = json.loads(reply)["token"]
            self.park(line, client)
            self.await_length(line, len(line["parked"]))
        found = self.place.end()
        for script in ("acquire", "inspect"):  # who comes next finds one waiting less
            found.pop(("Redis busy", script), None)
        return found

    def block(self, size, count):
        return [("one more comes and goes: ", self.come_and_go(self.lines[size], count)),
                ("hand-over: ", self.hand_over(self.lines[size], count))]


class Shared:
    """A name each with so many shared holds: one more comes and goes."""

    def __init__(self, places, sizes):
        self.place = places[0]
        for size in sizes:
            before = memory(self.place.redis)
            for i in range(size):
                self.place.http.expect(
                    201, "POST", f"/locks/shared-{size}?mode=shared&ttl=1h&owner=o{i}")
            report_memory("shared", size, before, memory(self.place.redis))

    def block(self, size, count):
        name = f"/locks/shared-{size}"
        self.place.begin()
        for _ in range(count):
            hold = self.place.timed("acquire", 201, "POST", f"{name}?mode=shared")
            self.place.timed("release", 200, "DELETE", name, f"Lock-Token: {hold['token']}\r\n")
        return [("", self.place.end())]


KINDS = {"held": Held, "waiters": Waiters, "shared": Shared}


def measure(kind, places, sizes, rounds, count):
    """All cases in turn, each round beside the case of 1 of that round."""
    several = KINDS[kind](places, sizes)
    for size in sizes:
        several.block(size, count)  # warms up
    for number in range(1, rounds + 1):
        blocks = {size: several.block(size, count) for size in sizes}
        for size in sizes:
            for (part, found), (_, least) in zip(blocks[size], blocks[sizes[0]]):
                for key in sorted(found):
                    report(number, f"{size} {CASES[kind]}", part, key, found[key], least.get(key))


def report(number, case, part, key, value, least):
    """`least` is the same with 1 of what there are many."""
    figure = f"{part}{key[1]}, {key[0]}"
    print(f"{number}\t{case}\t{figure}\tus\t{value:.2f}")
    if least and value is not least:
        print(f"{number}\t{case}\t{figure}, to that of 1\ttimes\t{value / least:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=[*KINDS, "fill"])
    parser.add_argument("fill", nargs="*", type=int, metavar="COUNT REDIS_PORT")
    parser.add_argument("--library", default="build/generated/library.lua")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200, help="operations of a block")
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--places", nargs="+")
    options = parser.parse_args()
    allow_many_connections()
    if options.kind == "fill":
        fill(*options.fill, options.library)
        return
    places = [Place(ports, options.library) for ports in options.places]
    by_size = sorted(zip(options.sizes, places)) if options.sizes else []
    measure(options.kind, [place for _, place in by_size] or places,
            [size for size, _ in by_size] or SIZES[options.kind], options.rounds, options.count)


if __name__ == "__main__":
    main()
