"""What the report says of the suites: titles, which figures it draws, and our aims."""

import collections

# A suite. `figures` are those of its tables (all, where none is named; else the others stand apart),
# the first with its spread and its ratio to Baton's; `drawn` are those of the picture, with the titles
# of their axes. Where `by_size` is set, a case is "SIZE KIND", and there is one contender: then the
# tables show how the figures grow.
Suite = collections.namedtuple("Suite", "title about figures drawn by_size", defaults=[False])

# An aim: the figure of Baton in a case, or how many times that of the best of `beside`, is at
# least or at most so much.
Bound = collections.namedtuple("Bound", "text suite case figure beside at_least at_most",
                               defaults=[None, None, None])

# Not something to pick instead, but how far one could get.
LIMITS = ("nginx", "Redis alone", "Baton's script alone", "BLPOP")

# Where one of these is more than 0, the run has failed; the second for Baton alone.
FAILURES = ("failures",)
VIOLATIONS = ("order violations by MONITOR", "exclusion violations")

SUITES = {
    "uncontended": Suite(
        "Nobody waits",
        """Every connection has a lock of its own, which it acquires and releases all the time. In the last
case it only acquires, each time a lock that nobody has. One client program asks all contenders. webdis
runs the usual two scripts of a lock in Redis by EVALSHA: SET NX PX, and DEL after a comparison. etcd is
asked through its JSON gateway, with a lease that the connection has already; its data lie in memory. The
limits: nginx answers what Baton once answered, as a fixed text; "Redis alone" runs the scripts of webdis, and
"Baton's script alone" those of Baton, asked without HTTP in between.""",
        ["throughput", "acquire median", "acquire p99", "CPU server", "CPU store", "CPU client"],
        {"throughput": "acquires a second"}),
    "contended": Suite(
        "Many want one lock",
        """Every client wants the same lock, all the time. It asks, releases the lock as soon as it knows
that it has it, and asks again as soon as that is answered.

- A hand-over is a grant to another client than had the lock before. Clients that poll take it again and
  again while the others sleep; "grants" counts that, too.
- The fair share of a wait is the time that all earlier waiters need at the measured rate of hand-overs.
  If a wait beyond it is negative, others were passed.
- An order violation is a grant to a client that has sent its request more than 50 ms later than another
  one that is granted later still, or never. For Baton a run with MONITOR counts exactly, by the order in
  which Redis got the requests.
- One program computes all that from when each client asked, was granted and released.
- Baton has its standard settings, and so have the others, with two exceptions: redlock never gives up,
  and PostgreSQL takes 1,100 connections. The data of etcd and ZooKeeper lie in memory.
- They contend for 3 s; if there are few hand-overs, for 6 or 8.
- BLPOP is the limit: a list whose one element is the lock, without owner or TTL.""",
        ["hand-overs", "wait beyond fair share, median", "wait beyond fair share, 99 %",
         "Redis commands", "order violations"],
        {"hand-overs": "hand-overs a second"}),
    "idle": Suite(
        "Clients that wait",
        """Clients wait for locks that nobody releases, each on a connection of its own. The server is batond,
or etcd with its JSON gateway and all its data; the backend is the Redis behind batond. A client that
waits in etcd has a lease, which is kept alive every 20 s as etcd's own client does. A client that waits
in Baton has nothing to do. If not all clients wait after 30 s (90 s with a lock each), only that is
shown.""",
        ["server, memory of a waiting client", "backend, memory of a waiting client", "server, processor",
         "backend, processor", "waiting clients", "until they wait"],
        {"server, memory of a waiting client": "KiB", "server, processor": "% of a core"}),
    "growth": Suite(
        "Growth",
        """This is the cost of Baton's operations as locks, waiters and shared holds become many. It is how long
Redis is busy with a script, from its slow log, and how long a client on one connection waits for the answer.
The sizes take turns, and each ratio is to the case of 1 of the same turn.""",
        [],
        {"acquire, Redis busy": "microseconds", "one more comes and goes: acquire, Redis busy": "microseconds",
         "hand-over: release, Redis busy": "microseconds"},
        by_size=True),
}

BOUNDS = [
    Bound("Acquire, 64 connections, beside webdis", "uncontended",
          "only acquire, 64 connections", "throughput", ["webdis"], at_least=2.2),
    Bound("Acquire, 64 connections, beside etcd", "uncontended",
          "only acquire, 64 connections", "throughput", ["etcd"], at_least=20),
    Bound("Acquire, 64 connections, beside nginx's fixed text", "uncontended",
          "only acquire, 64 connections", "throughput", ["nginx"], at_least=0.9),
    Bound("Median of an acquire, 1 connection, beside its script alone", "uncontended",
          "acquire and release, 1 connection", "acquire median", ["Baton's script alone"], at_most=1.8),
    Bound("Hand-overs, 64 clients, beside clients that poll", "contended", "64 clients", "hand-overs",
          ["redis-py Lock", "redlock"], at_least=20),
    Bound("Hand-overs, 64 clients, beside Curator and etcd", "contended", "64 clients", "hand-overs",
          ["Curator", "etcd"], at_least=5),
    Bound("Hand-overs, 64 clients, beside BLPOP", "contended", "64 clients", "hand-overs",
          ["BLPOP"], at_least=0.5),
    Bound("Order violations, 64 clients", "contended", "64 clients", "order violations by MONITOR", [], at_most=0),
    Bound("Acquire, Redis busy, with 1,000,000 locks held, beside 1", "growth", "1000000 locks held",
          "acquire, Redis busy, to that of 1", at_most=1.15),
    Bound("Joining a queue of 10,000, Redis busy, beside 1", "growth", "10000 clients waiting",
          "one more comes and goes: acquire, Redis busy, to that of 1", at_most=1.15),
    Bound("Release with 10,000 waiting, Redis busy, beside 1", "growth", "10000 clients waiting",
          "hand-over: release, Redis busy, to that of 1", at_most=1.15),
    Bound("Acquire with 10,000 shared holds, Redis busy, beside 1", "growth", "10000 shared holds",
          "acquire, Redis busy, to that of 1", at_most=1.15),
]
