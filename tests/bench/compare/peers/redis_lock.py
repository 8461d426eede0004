#!/usr/bin/python3
"""Clients of one Lock of redis-py: redis_lock.py PORT CLIENTS SECONDS; prints turns for contended.py.

Each client is a thread with a Lock of its own, as its documentation shows it: it blocks, and looks
again every 0.1 s. 64 processes at most share the threads, each with a connection pool, so that the
interpreter's lock holds nobody up.
"""

import multiprocessing
import sys
import threading
import time

import redis

PROCESSES = 64
LEAD_NS = 50_000_000  # until all processes know when they begin
TTL_S = 10


def contend(pool, client, start, end, turns):
    lock = redis.Redis(connection_pool=pool).lock(f"bench-redis-py-{start}", timeout=TTL_S)
    time.sleep(max(0, start - time.monotonic_ns()) / 1e9)
    while (arrived := time.monotonic_ns()) < end:
        granted = released = 0
        if lock.acquire(blocking_timeout=(end - arrived) / 1e9):
            granted = released = time.monotonic_ns()
            lock.release()
        turns.append((client, arrived, granted, released))


def work(port, clients, window, gate, write_lock):
    pool = redis.ConnectionPool(host="127.0.0.1", port=port)
    turns = []
    gate.wait()  # all are there
    gate.wait()  # and the window is known
    threads = [
        threading.Thread(target=contend, args=(pool, client, *window, turns)) for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with write_lock:
        sys.stdout.writelines("%d %d %d %d\n" % turn for turn in turns)
        sys.stdout.flush()


def main():
    port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    fork, count = multiprocessing.get_context("fork"), min(clients, PROCESSES)
    window, gate, write_lock = fork.Array("q", 2), fork.Barrier(count + 1), fork.Lock()
    processes = [
        fork.Process(target=work, args=(port, range(i, clients, count), window, gate, write_lock))
        for i in range(count)
    ]
    for process in processes:
        process.start()
    gate.wait()
    window[0] = time.monotonic_ns() + LEAD_NS
    window[1] = window[0] + int(seconds * 1e9)
    print(f"# window {window[0]} {window[1]}", flush=True)
    gate.wait()
    for process in processes:
        process.join()
    sys.exit(any(process.exitcode for process in processes))


main()
