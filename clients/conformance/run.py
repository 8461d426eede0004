#!/usr/bin/python3
"""Runs clients/cases.yaml with each client, and prints a table.

    run.py BATOND BUILD_FOLDER [--quick] [--clients 'python node'] [--only 'WORD...']

BUILD_FOLDER has the programs of the clients, as the Makefile builds them. The last line is
"N passed, M failed". The figure of a case is the least time between the end of a block that has lost its lock
and the end of its lease in Redis: it must not be negative.
"""
import argparse
import getpass
import json
import math
import multiprocessing
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import yaml
import readme
from network import Network
from stack import HANGS, LIBC, PR_SET_PDEATHSIG, ROOT, Stack, key_of, until

CLIENTS = ROOT / "clients"
README = "example_prints_what_its_page_shows"
OWN = "its_own_tests"
OWN_TESTS = {"python": ["/usr/bin/python3", CLIENTS / "python/test_client.py"],  # of what only one language has
             "node": ["node", "--test", CLIENTS / "node/test.mjs"],
             "go": ["env", "-C", CLIENTS / "go", "go", "test", "-count=1", "-timeout=60s", "./..."],
             "java": ["java", "-cp", "java", "baton.client.Tests"]}


def programs(build):
    """The program of each client that does what a case says (README.md)."""
    python = ["/usr/bin/python3", CLIENTS / "python/conformance.py"]
    return {"python": [*python, "blocking"], "asyncio": [*python, "asyncio"],
            "node": ["node", CLIENTS / "node/conformance.mjs"],
            "go": [build / "go/conformance"],
            "java": ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", build / "java", "baton.client.Conformance"],
            "php": None, "ruby": None}  # they have a recipe alone


def milliseconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s)", text).groups()
    return int(number) * (1 if unit == "ms" else 1000)


class Actor:
    """A client in a process of its own."""

    def __init__(self, name, command, log):
        self.name, self.is_paused, self.grant = name, False, None
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put({"saw": "exit"})

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def saw(self):
        try:
            return self.lines.get(timeout=HANGS)
        except queue.Empty:
            raise AssertionError(f"{self.name} reports nothing") from None

    def end(self):
        self.process.kill()
        self.process.wait()


class Leases:
    """When each hold ends in Redis: a thread asks the observer all the time."""

    def __init__(self, observer):
        self.observer, self.names, self.ends = observer, set(), {}
        self.lock = threading.Lock()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            for name in list(self.names):
                self.look(name)
            time.sleep(0.02)

    def look(self, name):
        """The latest end that is certain, in milliseconds of this machine's clock."""
        asked = time.time() * 1000
        lock = self.observer.lock(name)
        for holder in lock["holders"] if lock else []:
            with self.lock:
                key = (name, holder["fence"])
                self.ends[key] = max(self.ends.get(key, 0), asked + holder["ttl_ms"])

    def end_of(self, fences):
        with self.lock:
            return min(self.ends[name, fence] for name, fence in fences.items())


class Case:
    """One run of one case by one client."""

    def __init__(self, lane, case, run):
        self.lane, self.case, self.run = lane, case, run
        self.actors, self.blocks, self.greatest = {}, [], 0
        self.figure = math.inf  # milliseconds between a block's end and its lease's end

    def name(self, name):
        """Each run has names of its own."""
        return f"{self.run}/{name}"

    def actor(self, name):
        if name not in self.actors:
            self.actors[name] = Actor(name, self.lane.command, self.lane.log)
            self.open(self.actors[name], {})
        return self.actors[name]

    def open(self, actor, options):
        ports = self.lane.stack.ports | {"haproxy": self.lane.network.port}
        actor.tell(do="open", urls=[name if "://" in name else f"http://127.0.0.1:{ports[name]}"
                                    for name in options.get("urls", ["haproxy"])],
                   bearer=key_of(options.get("bearer", "app")) + "\n",  # as from a file
                   timeout_ms=2000, portion_ms=milliseconds(options.get("portion", "1500ms")),
                   patience_ms=milliseconds(options.get("patience", "10s")))

    def step(self, step):
        (what, argument), = step.items()
        # A lease that is renewed between this look and a fault has a third of its TTL to be renewed in again.
        for name in list(self.lane.leases.names):
            self.lane.leases.look(name)
        if method := getattr(self, f"do_{what}", None):
            return method(argument)
        actor = self.actor(what)
        if isinstance(argument, str):
            return actor.tell(do=argument)
        if "open" in argument:
            return self.open(actor, argument["open"])
        if "watch" in argument:
            return actor.tell(do="watch", name=self.name(argument["watch"]), count=argument["count"])
        if "break" in argument:
            which = {field: value for field, value in argument.items() if field != "break"}
            if "fence" in which:
                which["fence"] = self.actors[which["fence"]].grant["fence"]
            return actor.tell(do="break", name=self.name(argument["break"]), which=which)
        if "list" in argument:
            return actor.tell(do="list", prefix=self.name(argument["list"]))
        if "extend" in argument:
            return actor.tell(do="extend", ttl_ms=milliseconds(argument["extend"]))
        fields = dict(argument)
        way = {word: fields.pop(word) for word in ("lead", "skip") if word in fields}
        if "adopt" in fields:  # the hold of that actor, or of none
            way["token"] = getattr(self.actors.get(fields.pop("adopt")), "grant", {"token": "of-nobody".ljust(22, "-")})["token"]
        names = fields.pop("hold")
        names = [self.name(name) for name in ([names] if isinstance(names, str) else names)]
        return actor.tell(do="hold", names=names, wait_ms=milliseconds(fields.pop("wait", "0ms")),
                          checks=fields.pop("checks", True), fields=fields, **way)

    def do_sees(self, argument):
        (name, expected), = argument.items()
        actor = self.actor(name)
        saw = actor.saw()
        for field, value in expected.items():
            got = saw.get(field)
            if (field, value) == ("fence", "greater"):
                assert got > self.greatest, f"{name}: the fence {got} is not above {self.greatest}"
            elif isinstance(value, dict) and value.keys() <= {"has", "lacks"}:
                is_so = value.get("has", "") in got and ("lacks" not in value or value["lacks"] not in got)
                assert is_so, f"{name}: {field} is {got}, not {value}: {saw}"
            elif field == "names":
                assert sorted(got) == sorted(map(self.name, value)), f"{name}: {saw}"
            else:
                got = len(got) if field == "fences" and got else got
                if isinstance(value, dict) and isinstance(got, dict):
                    got = {key: got.get(key) for key in value}
                assert got == value, f"{name}: {field} is {got}, not {value}: {saw}"
        if saw["saw"] == "granted":
            actor.grant = saw
            self.greatest = max(self.greatest, *saw["fences"].values())
            self.lane.leases.names.update(saw["fences"])
            for lock in saw["fences"]:
                self.lane.leases.look(lock)
        if saw["saw"] == "ended":
            self.judge(actor, saw)

    def judge(self, actor, saw):
        grant = actor.grant
        self.blocks.append((actor.name, grant, saw))
        if saw["why"] != "lost":
            return
        # A program that was stopped learns of nothing while it is, and one on a machine that is busy with other
        # tests learns of it late: there it counts what the block has done.
        is_late = actor.is_paused or self.lane.is_quick
        over = max(saw["last_act"], grant["at"]) if is_late else saw["at"]
        left = self.lane.leases.end_of(grant["fences"]) - over
        self.figure = min(self.figure, left)
        assert left >= 0, f"the block of {actor.name} has ended {-left:.0f} ms after its lease"

    def do_lock(self, argument):
        look = self.lane.stack.observer.lock
        for name, expected in argument.items():
            until(lambda name=name, expected=expected: self.is_so(look(self.name(name)), expected),
                  lambda name=name, expected=expected: f"{name} is {expected}, but {look(self.name(name))}")

    @staticmethod
    def is_so(lock, expected):
        if lock is None:
            return False
        holders = lock["holders"]
        seen = {"state": lock["state"], "holds": lock["hold_count"], "queue": lock["queue_length"],
                "owner": holders[0]["owner"] if holders else None, "meta": holders[0]["meta"] if holders else None,
                "last": (lock["last_release"] or {}).get("reason")}
        if expected.get("owner") == "USER@HOST":
            expected = expected | {"owner": f"{getpass.getuser()}@{socket.gethostname()}"}
        longest, left = (milliseconds(expected.get(field, "0ms")) for field in ("each_waits", "left"))
        return all(waiter["waited_ms"] >= longest for waiter in lock["waiters"]) and \
            all(holder["ttl_ms"] >= left for holder in holders) and \
            all(seen[field] == value for field, value in expected.items() if field not in ("each_waits", "left"))

    def do_net(self, argument):
        network = self.lane.network
        if isinstance(argument, str):
            return network.set_mode(argument)
        (what, value), *times = argument.items()
        if what == "lose_reply":
            network.loses = value
        elif what in ("cut_after", "delay"):
            setattr(network, what, milliseconds(value) / 1000)
        elif what == "answer":
            network.answers = {value: (argument["status"], argument["body"], argument.get("times", math.inf))}
        elif what in ("drip", "flood"):
            network.answers = {value: (what, None, math.inf)}
        elif "at_most" in argument:
            seen = network.counts.get(f"{what} {value}", 0)
            assert seen <= argument["at_most"], f"not so: {argument}, but {network.counts}"
        else:  # wait for something
            key = f"{what} {value}" if what in ("passed", "answered") else what
            goal = times[0][1] if times else 1 if what in ("passed", "answered") else value
            with network.changed:
                goal += network.counts.get(key, 0) if times else 0  # from now on
                assert network.changed.wait_for(lambda: network.counts.get(key, 0) >= goal, HANGS), \
                    f"the network has not seen: {argument}, only {network.counts}"

    def do_store(self, argument):
        redis = self.lane.stack.started["redis"]
        if argument == "lose":
            self.lane.stack.lose_redis()
        else:
            redis.send(signal.SIGSTOP if argument == "stop" else signal.SIGCONT)

    def do_batond(self, argument):
        self.lane.stack.restart_batond(argument["restart"])

    def do_pause(self, argument):
        self.actors[argument].is_paused = True
        self.actors[argument].process.send_signal(signal.SIGSTOP)

    def do_resume(self, argument):
        self.actors[argument].process.send_signal(signal.SIGCONT)

    def do_break(self, argument):
        until(lambda: self.lane.stack.observer.ask("DELETE", self.name(argument), "?force=true"), "the break is done")

    def never_together(self):
        """Blocks of two clients that exclude each other have not overlapped."""
        for name, grant, saw in self.blocks:
            for other, others_grant, others_saw in self.blocks:
                if name < other and grant["fences"].keys() & others_grant["fences"].keys() and \
                        "exclusive" in (grant["mode"], others_grant["mode"]):
                    apart = saw["last_act"] < others_grant["at"] or others_saw["last_act"] < grant["at"]
                    assert apart, f"{name} and {other} held it at the same time"

    def play(self):
        """Returns what went wrong, or None."""
        self.lane.network.reset()
        at = "start"
        try:
            for at in self.case["steps"]:
                self.step(at)
            if not self.case.get("may_overlap"):
                self.never_together()
        except Exception as error:  # pylint: disable=broad-except
            trace = "" if isinstance(error, AssertionError) else traceback.format_exc()
            return f"at {at}: {error}\n{trace}"
        finally:
            self.lane.leases.names.clear()
            self.lane.stack.started["redis"].send(signal.SIGCONT)
            for actor in self.actors.values():
                actor.end()


class Lane:
    """All cases of one client, on servers of its own."""

    def __init__(self, client, command, batond, folder, is_quick):
        self.client, self.command, self.is_quick = client, command, is_quick
        self.log = open(folder / "client.log", "w")  # pylint: disable=consider-using-with
        self.stack = Stack(batond, folder)
        self.network = Network(("127.0.0.1", self.stack.ports["haproxy"]))
        self.leases = Leases(self.stack.observer)


def run_lane(client, command, options, cases, results):
    with tempfile.TemporaryDirectory(prefix=f"baton-{client}-") as folder:
        lane = None
        try:
            lane = Lane(client, command, options.batond, pathlib.Path(folder), options.quick)
            for number, case in enumerate(cases):
                if command is None or client in case.get("not_in", []):
                    results.put((client, case["case"], None, math.inf))
                    continue
                run = Case(lane, case, number)
                wrong = run.play()
                if wrong:
                    lane.log.flush()
                    wrong += "".join(pathlib.Path(folder, "client.log").read_text(errors="replace").splitlines(True)[-40:])
                results.put((client, case["case"], wrong or "", run.figure))
            # The last, since its TTL would make the quarantine longer.
            if client in readme.EXAMPLES:
                wrong = readme.wrong_with(client, "http://" + lane.stack.address("open"), pathlib.Path(folder))
                results.put((client, README, wrong or "", math.inf))
            else:
                results.put((client, README, None, math.inf))
            wrong = own_tests(client, options) if client in OWN_TESTS and not options.only else None
            results.put((client, OWN, wrong, math.inf))
        except Exception:  # pylint: disable=broad-except
            results.put((client, "start", traceback.format_exc(), math.inf))
        finally:
            if lane:
                lane.stack.stop()


def own_tests(client, options):
    """Returns what is wrong with them."""
    options.build.mkdir(parents=True, exist_ok=True)  # where no chosen client is compiled
    ran = subprocess.run([str(word) for word in OWN_TESTS[client]], text=True, capture_output=True, check=False,
                         cwd=options.build, env=os.environ | {"BATON_BATOND": str(pathlib.Path(options.batond).resolve())})
    return ran.stdout + ran.stderr if ran.returncode else ""


def cell(result):
    if result is None:
        return "did not run"
    wrong, figure = result
    if wrong is None:
        return "-"
    if wrong:
        return "FAILED"
    return "ok" if figure == math.inf else f"ok {figure:.0f} ms"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("batond")
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--clients", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    cases = [case for case in yaml.safe_load((CLIENTS / "cases.yaml").read_text())
             if (not options.quick or case.get("quick")) and
             (not options.only or any(word in case["case"] for word in options.only.split()))]
    chosen = {client: command for client, command in programs(options.build).items()
              if not options.clients or client in options.clients.split()}
    started = time.monotonic()
    results = multiprocessing.Queue()
    lanes = [multiprocessing.Process(target=run_lane, args=(client, command, options, cases, results))
             for client, command in chosen.items()]
    for lane in lanes:
        lane.start()
    table, cells = {}, []
    while any(lane.is_alive() for lane in lanes) or not results.empty():
        try:
            client, case, wrong, figure = results.get(timeout=0.2)
        except queue.Empty:
            continue
        table[client, case] = wrong, figure
        if wrong:
            print(f"---- {client}: {case}\n{wrong}\n----", flush=True)
    print(f"{'':62}" + "".join(f"{client:>12}" for client in chosen))
    for row in [case["case"] for case in cases] + [README, OWN]:
        print(f"{row:62}" + "".join(f"{cell(table.get((client, row))):>12}" for client in chosen))
        cells += [table.get((client, row)) for client in chosen]
    failed = sum(result is None or bool(result[0]) for result in cells)
    least = min((figure for _, figure in table.values()), default=math.inf)
    if least < math.inf:
        print(f"\nThe block ended at least {least:.0f} ms before its lease.")
    print(f"All took {time.monotonic() - started:.0f} s.")
    print(f"{sum(result is not None and result[0] == '' for result in cells)} passed, {failed} failed")
    return failed > 0 or not cells


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin"
    sys.exit(main())
