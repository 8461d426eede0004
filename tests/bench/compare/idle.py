#!/usr/bin/python3
"""What clients cost that wait for a lock while nothing happens.

    idle.py baton|etcd --port PORT --server PID [--backend PID] --waiting N [--names N]...

Each waits on a connection of its own. Somebody else holds the lock, or, with as many names as
clients, all those locks. If not all of them wait after --patience, that is all that is said. Whoever uses etcd has a lease and has to keep it alive: this program does
so every 20 s, as etcd's own client does with the lease of 60 s that it takes for a lock. Baton's
clients have nothing to do. Prints lines of FIGURE, UNIT and VALUE with tabs between them."""

import argparse
import base64
import json
import select
import sys
import time

from bare import Http, allow_many_connections, processor_seconds, resident_kib

LEASE_SECONDS = 60
SETTLE_SECONDS = 2
FIRST = 100  # wait already before memory is looked at
ABREAST = 50
AHEAD = 200  # requests that are sent before it is seen that they wait


def together(port, wanted, requests):
    """POSTs that several connections send at a time."""
    several = [Http(port) for _ in range(min(ABREAST, len(requests)))]
    for first in range(0, len(requests), ABREAST):
        some = list(zip(several, requests[first:first + ABREAST]))
        for client, (target, body) in some:
            client.send("POST", target, body=body)
        for client, (target, _) in some:
            status, reply = client.take()
            if status != wanted:
                raise AssertionError(f"{target}: {status} {reply!r}")
    for client in several:
        client.close()


class Baton:
    def __init__(self, port, names):
        self.control, self.names, self.clients = Http(port), names, []
        together(port, 201, [(f"/locks/idle-{name}?ttl=1h", "") for name in range(names)])

    def park(self, client):
        client.send("POST", f"/locks/idle-{len(self.clients) % self.names}?ttl=1h&wait=1h")
        self.clients.append(client)

    def waiting(self):
        name = (len(self.clients) - 1) % self.names
        seen = json.loads(self.control.expect(200, "GET", f"/locks/idle-{name}"))
        return seen["queue_length"] * self.names if name == self.names - 1 else len(self.clients)

    def live(self, until):
        time.sleep(max(0, until - time.monotonic()))


class Etcd:
    def __init__(self, port, names):
        self.control, self.names, self.clients, self.leases = Http(port), names, [], []
        holder = self.lease()
        together(port, 200, [("/v3/lock/lock", json.dumps({"name": self.key(name), "lease": holder}))
                             for name in range(names)])
        self.next = 0  # whose lease is kept alive next

    @staticmethod
    def key(name):
        return base64.b64encode(f"idle-{name}".encode()).decode()

    def ask(self, what, **fields):
        return json.loads(self.control.expect(200, "POST", f"/v3/{what}", body=json.dumps(fields)))

    def lease(self):
        self.leases.append(self.ask("lease/grant", TTL=LEASE_SECONDS)["ID"])
        return self.leases[-1]

    def park(self, client):
        body = {"name": self.key(len(self.clients) % self.names), "lease": self.lease()}
        client.send("POST", "/v3/lock/lock", body=json.dumps(body))
        self.clients.append(client)

    def waiting(self):
        """Each who waits has a key, and so have the holders."""
        count = self.ask("kv/range", key=base64.b64encode(b"idle-").decode(),
                         range_end=base64.b64encode(b"idle.").decode(), count_only=True)["count"]
        return int(count) - self.names

    def live(self, until):
        """Keeps all leases alive, evenly."""
        every = LEASE_SECONDS / 3 / len(self.leases)
        due = time.monotonic()
        while due < until:
            time.sleep(max(0, due - time.monotonic()))
            lease = self.leases[self.next % len(self.leases)]
            self.next += 1
            reply = self.ask("lease/keepalive", ID=lease)
            if int(reply["result"].get("TTL", 0)) != LEASE_SECONDS:
                raise AssertionError(f"a lease has ended: {reply}")
            due += every


def fill(contender, port, waiting, patience):
    """Returns whether so many wait after `patience` seconds."""
    deadline = time.monotonic() + patience
    while len(contender.clients) < waiting:
        for _ in range(min(AHEAD, waiting - len(contender.clients))):
            contender.park(Http(port))
        while contender.waiting() < len(contender.clients):
            if time.monotonic() > deadline:
                return False
            contender.live(time.monotonic() + 0.02)
    return True


def nobody_was_answered(contender):
    poll = select.epoll()
    for client in contender.clients:
        poll.register(client.socket, select.EPOLLIN)
    return not poll.poll(0, 1) and contender.waiting() >= len(contender.clients)


def measure(options):
    contender = {"baton": Baton, "etcd": Etcd}[options.contender](options.port, options.names)
    pids = {"server": options.server} | ({"backend": options.backend} if options.backend else {})
    fill(contender, options.port, FIRST, options.patience)  # what they take once is no part of it
    before = {who: resident_kib(pid) for who, pid in pids.items()}
    start = time.monotonic()
    is_full = fill(contender, options.port, options.waiting, options.patience)
    report("until they wait", "s", time.monotonic() - start)
    report("waiting clients", "", contender.waiting())
    if not is_full:
        return
    contender.live(time.monotonic() + SETTLE_SECONDS)
    used = {who: -processor_seconds(pid) for who, pid in pids.items()}
    start = time.monotonic()
    contender.live(start + options.seconds)
    seconds = time.monotonic() - start
    for who, pid in pids.items():
        used[who] += processor_seconds(pid)
        report(f"{who}, processor", "% of a core", used[who] / seconds * 100)
        grown = resident_kib(pid) - before[who]
        report(f"{who}, memory of a waiting client", "KiB", grown / (options.waiting - FIRST))
    if not nobody_was_answered(contender):
        sys.exit("not all of them have waited to the end")


def report(figure, unit, value):
    print(f"{figure}\t{unit}\t{value:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("contender", choices=["baton", "etcd"])
    for number in ("port", "server", "waiting"):
        parser.add_argument(f"--{number}", type=int, required=True)
    parser.add_argument("--backend", type=int)
    parser.add_argument("--names", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60, help="seconds until all wait")
    parser.add_argument("--seconds", type=float, default=20)
    allow_many_connections()
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
