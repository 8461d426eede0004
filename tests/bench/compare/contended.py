#!/usr/bin/python3
"""Computes the figures of one measurement of the suite "contended", by one rule for all contenders.

    contended.py TURNS [SENT CALLED]   prints FIGURE<TAB>UNIT<TAB>VALUE lines

SENT and CALLED are how many commands Redis got, and how many scripts called in it, in all the time.

TURNS is what every contender's client prints: a line "# window START END", then one line a turn,
"CLIENT ARRIVED GRANTED RELEASED", times in ns of CLOCK_MONOTONIC, 0 where it did not come to that.
A client asks (arrived), is told that it has the lock (granted), sends the release at once (released),
and asks again as soon as the release is answered. What the figures mean stands in
suite_contended.sh.
"""

import sys

WARM = 0.2  # this part of the window comes first and is left out: connections, JIT, first crowd
SLACK_NS = 50_000_000  # what is sent within this time may be queued in any order
NEVER = float("inf")


def read(path):
    turns = []
    with open(path, encoding="ascii") as lines:
        window = next(lines).split()[2:]
        for line in lines:
            client, arrived, granted, released = line.split()
            turns.append((client, int(arrived), int(granted) or NEVER, int(released) or NEVER))
    start, end = map(int, window)
    return start + (end - start) * WARM, end, turns


def count_ahead(turns):
    """Of each turn: how many clients were waiting when it arrived."""
    events = [(turn[1], 1, i) for i, turn in enumerate(turns)]
    events += [(turn[2], 0, i) for i, turn in enumerate(turns) if turn[2] < NEVER]
    ahead, waiting = [0] * len(turns), 0
    for _, is_arrival, i in sorted(events):
        if is_arrival:
            ahead[i] = waiting
        waiting += 1 if is_arrival else -1
    return ahead


def waits_beyond_share(turns, handovers, start, end):
    """Of the hand-overs, sorted, in ms. Who waits to the end counts if that is beyond it already."""
    share = (end - start) / 1e6 / max(1, len(handovers))
    moments = {turn[2] for turn in handovers}
    result = []
    for (_, arrived, granted, _), ahead in zip(turns, count_ahead(turns)):
        beyond = (min(granted, end) - arrived) / 1e6 - ahead * share
        if granted in moments or (granted > end and beyond > 0):
            result.append(beyond)
    return sorted(result)


def passed_over(turns, start):
    """Grants to who was sent later than one that is granted later still, or never. Of requests from
    `start` on only: how long the first crowd takes to be queued, and in which order, nobody knows."""
    passed, earliest = 0, NEVER
    for _, arrived, granted, _ in reversed(turns):
        if arrived >= start:
            passed += granted < NEVER and earliest + SLACK_NS < arrived
            earliest = min(earliest, arrived)
    return passed


def percentile(values, percent):
    return values[min(len(values) - 1, len(values) * percent // 100)] if values else 0


def main():
    start, end, turns = read(sys.argv[1])
    turns.sort(key=lambda turn: turn[2])
    seconds = (end - start) / 1e9
    pairs = [(a, b) for a, b in zip(turns, turns[1:]) if b[2] < NEVER]
    grants = [(a, b) for a, b in pairs if start <= b[2] <= end]
    handovers = [b for a, b in grants if a[0] != b[0]]
    waits = waits_beyond_share(turns, handovers, start, end)
    figures = [
        ("hand-overs", "a second", len(handovers) / seconds),
        ("grants", "a second", len(grants) / seconds),
        ("wait beyond fair share, median", "ms", percentile(waits, 50)),
        ("wait beyond fair share, 99 %", "ms", percentile(waits, 99)),
        ("longest wait", "ms", max(min(g, end) - a for _, a, g, _ in turns if g >= start) / 1e6),
        ("order violations", "grants", passed_over(turns, start)),
        ("exclusion violations", "grants", sum(b[2] < a[3] for a, b in pairs)),
    ]
    if len(sys.argv) > 2:
        every = max(1, sum(a[0] != b[0] for a, b in pairs))
        sent, called = (int(count) / every for count in sys.argv[2:])
        figures.append(("Redis commands", "a hand-over", sent))
        figures.append(("calls of Redis scripts", "a hand-over", called))
    for figure, unit, value in figures:
        print(f"{figure}\t{unit}\t{value:.6g}")


main()
