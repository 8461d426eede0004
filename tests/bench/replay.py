#!/usr/bin/python3
"""What each operation on a lock takes of Redis, beside what it must take at least: on one that nobody waits
for, and where a lock is handed over to the only waiter.

    replay.py LIBRARY.lua

Starts a Redis, and sends it the same calls as batond does, pipelined (`redis-cli --pipe`): in each round
a thousand of a kind, each for another name, and as many of the floor just before. The floor is a
function that reads the time, gets a record, and sets one as long as ours: of names without a record for
the kinds of calls that have such names, else of names that have one. Redis says how many
microseconds a call took (INFO commandstats). All figures are the least of the rounds, which is
that of the round that other processes disturbed least; a ratio is to the floor, that of an end to the acquire
before it. While a ratio is beyond its bound, there are more rounds, since others can only add to what is the least:
five times as many at most. Exits with 1 if it is beyond it still; 5 % of room is left; QUICK=1 takes fewer rounds,
and leaves 20 %."""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "compare"))
from bare import Redis, free_port, until  # pylint: disable=wrong-import-position

QUICK = os.environ.get("QUICK")
ROUNDS, NAMES = 31 if QUICK else 101, 1_000
MOST_ROUNDS = 5 * ROUNDS
ROOM = 1.2 if QUICK else 1.05
OTHERS = 9_000  # names besides, so that Redis need not grow its table while it is measured
ENDED_AT_ONCE = 200  # names in one call, as BATCH_NAMES in locks/waiting/batch.h
TOGETHER = 16  # calls in one command (locks/scripts/many.lua), as a busy batond has them
TTL_MS, HOUR_US = 60_000, 3_600_000_000
WORKER, OTHER_WORKER = "aaaaaaaabbbbbbbb", "aaaaaaaacccccccc"
WAIT = (WORKER, 15_000, TTL_MS, 0, 10_000)  # lease and claim window in ms, keep, how many may wait
NEW, AGAIN = 0, 2

SET_NX = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"
FLOOR = """#!lua name=floor
local call, pack
local function floor(keys, argv)
    call, pack = call or redis.call, pack or struct.pack
    local time = call('time')
    local now = time[1] * 1000000 + time[2]
    call('get', keys[1])
    call('set', keys[1], pack('<Bdddds', 1, now, now, now, now, argv[1]), 'px', argv[2])
    return now
end
redis.register_function('floor', floor)
"""
FLOOR_HEAD = 34  # bytes of its record that are not in argv[1]

NEW_NAMES = ("bare script", "acquire, no record", "acquire, 16 at a time", "hold for 1 ms", "hold to hand over")
NOT_SHOWN = ("hold for 1 ms", "hold to hand over", "last release")

# The greatest ratio of each kind.
BOUNDS = {
    "acquire, no record": 1.5,
    "renew": 1.5,
    "refusal": 1.5,
    "release": 1.5,
    "acquire, free record": 1.5,
    "release, taken again within 30 s": 2.3,
    "end by time": 0.9,
    "wait, the first": 2.0,
    "release to a waiter here": 2.4,
    "wait, taken again within 30 s": 3.6,
    "release to a waiter elsewhere": 3.6,
    "claim": 2.0,
    "acquire, 16 at a time": 1.1,
    "renew, 16 at a time": 1.2,
    "release, 16 at a time": 1.2,
}


class Calls:
    """The calls of batond, as words."""

    def __init__(self, library):
        self.prefix = re.match(r"#!lua name=(\w+)", library).group(1) + "_"
        self.epoch = b"0123456789abcdef"
        self.stamp = struct.pack("<5d16s8s", HOUR_US, 2 ** 52, 0, 0, 0, self.epoch, b"")

    def function(self, name, key, *arguments):
        return ["FCALL", self.prefix + name, 1, key, self.stamp, *arguments]

    @staticmethod
    def key(kind, i):
        return f"baton:{{{kind}-{i:08}}}"

    @staticmethod
    def token(kind, i):
        return f"{kind}-token-{i:015}"

    def acquire(self, kind, i, token, ttl_ms=TTL_MS, sent=NEW, wait=()):
        texts = "".join(text + "\0" for text in (self.token(token, i), f"client-{token}", "exclusive", f"{i:016x}", ""))
        return self.function("acquire", self.key(kind, i), struct.pack("<Bdd", sent, ttl_ms, 0) + texts.encode(),
                             *wait)

    def release(self, kind, i, token, worker=WORKER):
        return self.function("release", self.key(kind, i), self.token(token, i), worker)

    def renew(self, kind, i):
        return self.function("renew", self.key(kind, i), self.token("a", i), "")

    def together(self, calls):
        """The same calls, so many in one command."""
        calls = list(calls)
        for first in range(0, len(calls), TOGETHER):
            part = calls[first:first + TOGETHER]
            words = [word for call in part for word in (call[1].removeprefix(self.prefix), len(call) - 5, *call[5:])]
            yield ["FCALL", self.prefix + "many", len(part), *(call[3] for call in part), self.stamp, *words]

    def ended(self, first):
        names = [self.key("ends", i) for i in range(first, first + ENDED_AT_ONCE)]
        return self.function("ended", names[0], *names)


class Site:
    """A Redis of its own, with the library and the floor."""

    def __init__(self, library, directory):
        self.port, self.calls = free_port(), Calls(library)
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["nice", "-n", "-20", "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", directory],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.redis = until(lambda: Redis(self.port))
        self.redis.call("FUNCTION", "LOAD", library)
        self.redis.call("FUNCTION", "LOAD", FLOOR)
        self.script = self.redis.call("SCRIPT", "LOAD", SET_NX).decode()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def clear(self):
        self.redis.call("FLUSHALL")
        self.redis.call("HSET", "baton:epoch", "id", self.calls.epoch)

    def record_length(self):
        """Of a lock that was just taken."""
        self.clear()
        self.redis.call(*self.calls.acquire("name", 0, "a"))
        return self.redis.call("STRLEN", self.calls.key("name", 0))

    def replay(self, calls):
        """Microseconds of Redis for one call."""
        self.redis.call("CONFIG", "RESETSTAT")
        done = subprocess.run(["redis-cli", "-p", str(self.port), "--pipe"], input=calls, capture_output=True,
                              check=True).stdout.decode()
        if "errors: 0" not in done:
            raise AssertionError(done)
        stats = self.redis.info("commandstats")
        scripted = stats.get("cmdstat_fcall") or stats["cmdstat_evalsha"]
        return float(re.search(r"usec_per_call=([\d.]+)", scripted).group(1))


def payload(calls):
    return b"".join(Redis.packed(*call) for call in calls)


def payloads(site):
    """{kind: the bytes of its calls}, in the order of a round."""
    calls, names = site.calls, range(NAMES)
    kinds = {
        "bare script": (["EVALSHA", site.script, 1, f"bare-{i}", calls.token("a", i), TTL_MS] for i in names),
        "acquire, no record": (calls.acquire("name", i, "a") for i in names),
        "renew": (calls.renew("name", i) for i in names),
        "refusal": (calls.acquire("name", i, "b") for i in names),
        "release": (calls.release("name", i, "a") for i in names),
        "acquire, free record": (calls.acquire("name", i, "b") for i in names),
        "release, taken again within 30 s": (calls.release("name", i, "b") for i in names),
        "hold for 1 ms": (calls.acquire("ends", i, "a", 1) for i in names),
        "end by time": (calls.ended(first) for first in range(0, NAMES, ENDED_AT_ONCE)),
        "hold to hand over": (calls.acquire("pair", i, "a") for i in names),
        "wait, the first": (calls.acquire("pair", i, "b", wait=WAIT) for i in names),
        "release to a waiter here": (calls.release("pair", i, "a") for i in names),
        "wait, taken again within 30 s": (calls.acquire("pair", i, "c", wait=WAIT) for i in names),
        "release to a waiter elsewhere": (calls.release("pair", i, "b", OTHER_WORKER) for i in names),
        "claim": (calls.acquire("pair", i, "c", sent=AGAIN, wait=WAIT) for i in names),
        "last release": (calls.release("pair", i, "c") for i in names),
        "acquire, 16 at a time": calls.together(calls.acquire("many", i, "a") for i in names),
        "renew, 16 at a time": calls.together(calls.renew("many", i) for i in names),
        "release, 16 at a time": calls.together(calls.release("many", i, "a") for i in names),
    }
    return {kind: payload(calls) for kind, calls in kinds.items()}


def floor_calls(name, count, length):
    """The floor, of so many names, with a record of this length."""
    filler, kept_ms = "x" * (length - FLOOR_HEAD), TTL_MS + HOUR_US // 1000
    return (["FCALL", "floor", 1, f"floor-{name}-{i}", filler, kept_ms] for i in range(count))


def floors(site, kinds):
    """The same of the floor: with names of their own for the kinds of NEW_NAMES."""
    length = site.record_length()
    return {kind: payload(floor_calls(kind if kind in NEW_NAMES else "old", NAMES, length)) for kind in kinds}


def check(site):
    """That the last round did what its kinds say."""
    left = site.redis.call("FCALL", site.calls.prefix + "count", 0, site.calls.stamp, "0", "baton:{*}", 10 ** 9)
    if left != [b"0", 0]:
        raise AssertionError(f"holds are left: {left[-1]}")
    for i in (0, NAMES - 1):
        seen = repr(site.redis.call(*site.calls.function("inspect", site.calls.key("name", i), "", "")))
        ended = repr(site.redis.call(*site.calls.function("inspect", site.calls.key("ends", i), "", "")))
        if "released" not in seen or "expired" not in ended:
            raise AssertionError(f"{seen} {ended}")


def measure(site):
    """{kind: [(its microseconds, those of the floor before) of each round]}."""
    kinds = payloads(site)
    before, figures = floors(site, kinds), {kind: [] for kind in kinds}
    rest = payload(floor_calls("old", OTHERS, 200))
    for count in range(1, MOST_ROUNDS + 1):
        site.clear()
        site.replay(rest + rest)
        for kind, calls in kinds.items():
            floor = site.replay(before[kind])  # the last hold of 1 ms ends meanwhile
            figures[kind].append((site.replay(calls), floor))
        check(site)
        if count % ROUNDS == 0 and not any(is_missed(*row) for row in ratios(figures).items()):
            break
    return figures


def ratios(figures):
    """{kind: (its microseconds for one operation, how many times the floor)}."""
    least = {kind: list(map(min, zip(*pairs))) for kind, pairs in figures.items()}
    least["end by time"] = least["end by time"][0] / ENDED_AT_ONCE, least["hold for 1 ms"][0]
    for kind in filter(lambda kind: "at a time" in kind, least):
        least[kind][0] *= -(-NAMES // TOGETHER) / NAMES
    return {kind: (taken, taken / floor) for kind, (taken, floor) in least.items()}


def is_missed(kind, figure):
    """Whether the ratio is beyond its bound."""
    return kind in BOUNDS and figure[1] > BOUNDS[kind] * ROOM


def report(figures):
    """Prints the table. Returns whether each ratio is within its bound."""
    print(f"{'':34}{'us':>7}{'ratio':>8}{'bound':>8}")
    for what, kind in (("floor, no record", "acquire, no record"), ("floor, with a record", "renew")):
        print(f"{what:34}{min(floor for _, floor in figures[kind]):7.1f}{1:8.2f}")
    shown = {kind: figure for kind, figure in ratios(figures).items() if kind not in NOT_SHOWN}
    for kind, figure in shown.items():
        bound = f"{BOUNDS[kind]:8.2f}" if kind in BOUNDS else ""
        print(f"{kind:34}{figure[0]:7.1f}{figure[1]:8.2f}{bound}{'  missed' if is_missed(kind, figure) else ''}")
    return not any(is_missed(*row) for row in shown.items())


def main(path):
    """Measures and reports."""
    with tempfile.TemporaryDirectory() as directory:
        site = Site(pathlib.Path(path).read_text(encoding="utf-8"), directory)
        try:
            figures = measure(site)
        finally:
            site.stop()
    sys.exit(0 if report(figures) else 1)


main(*sys.argv[1:])
