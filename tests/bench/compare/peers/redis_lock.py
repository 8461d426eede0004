#!/usr/bin/python3
"""Clients of one Lock of redis-py: redis_lock.py PORT CLIENTS SECONDS; prints turns for contended.py.

Each client is a thread with a Lock of its own, as its documentation shows it: it blocks, and looks
again every 0.1 s. 64 processes at most share the threads, each with a connection pool, so that the
interpreter's lock holds nobody up.
"""

import multiprocessing
import os
import sys
import threading
import time

import redis

PROCESSES = 64
LEAD_NS = 1_000_000_000  # the processes begin together, when all of them are there
TTL_S = 10


def contend(pool, client, start, end, turns):
    lock = redis.Redis(connection_pool=pool).lock(f"bench-redis-py-{start}", timeout=TTL_S)
    time.sleep(max(0, start - time.monotonic_ns()) / 1e9)
    arrived = time.monotonic_ns()
    while arrived < end:
        got = lock.acquire(blocking_timeout=max(0, end - arrived) / 1e9)
        granted = released = 0
        if got:
            granted = released = time.monotonic_ns()
            lock.release()
        turns.append((client, arrived, granted, released))
        arrived = time.monotonic_ns()


def work(port, clients, start, end, write_lock):
    pool = redis.ConnectionPool(host="127.0.0.1", port=port)
    turns = [[] for _ in clients]
    threads = [
        threading.Thread(target=contend, args=(pool, client, start, end, own))
        for client, own in zip(clients, turns)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with write_lock:
        for own in turns:
            sys.stdout.writelines("%d %d %d %d\n" % turn for turn in own)
        sys.stdout.flush()


def main():
    port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    start = time.monotonic_ns() + LEAD_NS
    end = start + int(seconds * 1e9)
    print(f"# window {start} {end}", flush=True)
    fork, count = multiprocessing.get_context("fork"), min(clients, PROCESSES)
    write_lock = fork.Lock()
    processes = [
        fork.Process(target=work, args=(port, range(i, clients, count), start, end, write_lock))
        for i in range(count)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    os._exit(any(process.exitcode for process in processes))


main()
