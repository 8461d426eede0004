"""A real batond against openapi.yaml: each reply is as the document has it, and every reply that the document promises
comes."""
import ctypes
import hashlib
import json
import os
import pathlib
import re
import socket
import threading
import unittest

from document import DOCUMENT, OPERATIONS
from document_test import TABLES
from service import ONE, Batond, Client, Redis
from stack import until

# A case of cases.txt: the reply, the request, what is asked before, and what once the request is queued.
CASE = re.compile(r"(?P<id>\w+) (?P<status>\d+)(?: (?P<code>\w+))?: (?P<request>.*?)(?P<large> \+64KiB)?"
                  r"(?P<before>(?:; after .*?)*)(?:; while (?P<meanwhile>.*))?")
OF_HTTP = {"connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"}
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, PTRACE_CONT = 0x4206, 0x4207, 17, 7
EPOLL_CALLS = {"232", "281", "22"}  # epoll_wait and epoll_pwait of x86-64, epoll_pwait of ARM


def read_cases():
    """The cases of each condition."""
    cases, condition = {}, None
    for line in pathlib.Path(__file__).with_name("cases.txt").read_text().splitlines():
        if line.startswith("## "):
            condition = cases.setdefault(line[3:], [])
        elif line and not line.startswith("#"):
            condition.append(CASE.fullmatch(line).groupdict())
    return cases


CASES = read_cases()


def code_of(reply):
    """Of a problem, or of a line of text that says what is wrong."""
    if reply.status >= 400 and reply.type == "text/plain":
        return reply.body.decode().partition(":")[0]
    return reply.json.get("code") if isinstance(reply.json, dict) else None


def check_headers(response, reply):
    listed = {name.lower(): DOCUMENT.resolve(header) for name, header in response.get("headers", {}).items()}
    for name, header in listed.items():
        text = reply.headers.get(name)
        assert text is not None or not header.get("required"), f"no header {name}"
        if text is not None:
            is_number = DOCUMENT.resolve(header["schema"]).get("type") == "integer" and re.fullmatch("-?[0-9]+", text)
            DOCUMENT.check(header, int(text) if is_number else text)
    unlisted = {name.lower() for name in reply.headers} - set(listed) - OF_HTTP
    assert not unlisted, f"headers that are not listed: {unlisted}"


def check_body(operation, reply):
    if "content" not in operation.responses[reply.status]:
        assert not reply.body and not reply.type, f"a body where there is none: {reply.type}"
        return
    carrier = operation.carrier(reply.status, reply.type)
    assert carrier, f"the media type {reply.type} is not listed"
    DOCUMENT.check(carrier, reply.body.decode() if reply.json is None else reply.json)


def retry_after(reply):
    """Every 503, 429 and refusal of a lock that is held says when to come again, and nothing else does."""
    if code_of(reply) in ("locked", "wait_timeout", "quarantined"):
        return str(-(-reply.json["retry_after_ms"] // 1000))
    return "1" if reply.status in (503, 429) else None


def check_problem(path, reply):
    """A problem agrees with itself and with the table of problems."""
    problem, row = reply.json, TABLES["problems"][reply.json["code"]]
    expected = row | {"type": f"urn:baton:problem:{problem['code']}", "instance": path,
                      "request_id": reply.headers["X-Request-Id"]}
    assert problem | expected == problem and reply.status == row["status"], f"not as the table has it: {expected}"
    assert reply.headers.get("Retry-After") == retry_after(reply), f"Retry-After is not {retry_after(reply)}"


def has_line(case):
    """Whether the case is a refusal that comes again, as a line of text."""
    return (int(case["status"]) >= 400 and not case["meanwhile"] and "@text" not in case["request"] and
            "@events" not in case["request"] and
            OPERATIONS[case["id"]].carrier(int(case["status"]), "text/plain"))


def fill(operation, name, headers=""):
    body = ' {"names":["%s"]}' % name if operation.body and "names" in \
        DOCUMENT.resolve(operation.body["schema"])["properties"] else ""
    return f"{operation.method} {operation.path.replace('{name}', name)}{headers}{body}"


class Replies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.url = f"unix://{cls.redis.socket}"
        cls.promises = {promise for operation in OPERATIONS.values() for promise in operation.promises()}

    def judge(self, case, reply):
        """The reply is the one that is expected, and as the document has it."""
        operation = OPERATIONS[case["id"]]
        with self.subTest(case["request"], reply=reply):
            self.assertEqual((reply.status, code_of(reply)), (int(case["status"]), case["code"]))
            check_headers(operation.responses[reply.status], reply)
            check_body(operation, reply)
            if reply.type == "application/problem+json":
                check_problem(case["request"].split()[1].partition("?")[0], reply)
            self.promises.discard((operation.id, reply.status, reply.type,
                                   code_of(reply) or "" if reply.json is not None else ""))

    def run_case(self, client, case, ask=None):
        ask = ask or (lambda request: client.ask(request, 65536 if case.get("large") else 0))
        with Meanwhile(client.batond, case):
            reply = ask(case["request"])
        self.judge(case, reply)
        if has_line(case):
            method, target, *rest = case["request"].split(" ", 2)
            case = case | {"request": " ".join([method, target, "@text", *rest])}
            self.judge(case, ask(case["request"]))

    def run_cases(self, condition, client, usual):
        """What has to be there before is arranged at the usual batond."""
        for case in CASES[condition]:
            for before in case["before"].split("; after ")[1:]:
                usual.arrange(before)
            self.run_case(client, case)

    def run_cases_at(self, condition, *options, redis_url=None):
        with Batond(redis_url or self.url, *options) as batond:
            self.run_cases(condition, Client(batond), self.usual)

    def run_draining_cases(self):
        """A batond that stops takes no connection any more, but serves those that it has: each case has one of its own.
        It does not end before the request that is never completed."""
        with Batond(self.url, "--workers=1", "--head-timeout=60s") as batond:
            unfinished = socket.create_connection(("127.0.0.1", batond.port))
            unfinished.sendall(b"GET /livez HTTP/1.1\r\n")
            first, clients = Client(batond), [Client(batond) for _ in CASES["draining"]]
            first.arrange("GET /livez")
            for case, client in zip(CASES["draining"], clients):
                for before in case["before"].split("; after ")[1:]:
                    client.arrange(before)
            batond.process.send(15)
            until(lambda: first.ask("GET /readyz").headers.get("Connection") == "close", "it stops")
            for case, client in zip(CASES["draining"], clients):
                self.judge(case, client.ask(case["request"]))
            unfinished.close()

    def run_stuck_cases(self):
        with Batond(self.url, "--workers=2") as batond:
            thread = stop_thread(batond.pid, "worker 2")
            if not thread:
                self.promises = {promise for promise in self.promises if promise[3] != "stuck"}
                return
            clients = []

            def connect():
                """To the other worker, the one that is not stuck."""
                clients.append(Client(batond))
                clients[-1].connection.timeout = 1
                try:
                    return clients[-1].ask("GET /livez").status == 503
                except TimeoutError:
                    return False

            until(connect, "somebody notices that a worker is stuck")
            self.run_cases("stuck", clients[-1], self.usual)
            ptrace(PTRACE_DETACH, thread)

    def run_quarantined_cases(self):
        with Batond(self.url, "--quarantine=30s") as batond:
            client = Client(batond)
            client.arrange("POST /locks/lost-before?ttl=10s")
            self.redis.command("FLUSHALL")
            until(lambda: client.ask("POST /locks/lost?ttl=100ms").status == 503, "it is in quarantine")
            self.run_cases("quarantined", client, self.usual)

    def run_guarded_cases(self):
        """A batond that asks who it is, and does not let in."""
        key = hashlib.sha256(("guest-" + 37 * "k").encode()).hexdigest()
        path = pathlib.Path(self.redis.folder.name, "tokens.json")
        path.write_text(json.dumps({"principals": [{"name": "guest", "sha256": key, "rules": []}]}))
        path.chmod(0o600)
        with Batond(self.url, f"--tokens-file={path}") as batond:
            client = Client(batond)
            for operation in OPERATIONS.values():
                for status, code, header in ((401, "unauthorized", ""), (403, "forbidden", " @guest"),
                                             (403, "untrusted_origin", " @other-site")):
                    if operation.has_code(code) and (operation.method != "GET" or code != "untrusted_origin"):
                        self.run_case(client, {"id": operation.id, "status": status, "code": code, "meanwhile": None,
                                               "request": fill(operation, "guarded", header)})

    def run_limited_cases(self):
        with Batond(self.url, "--rate-limit=1") as limited, \
                Batond(self.url, "--max-waiters-per-process=1") as busy, Flood(limited), \
                socket.create_connection(("127.0.0.1", busy.port)) as waiting:
            waiting.sendall(b"GET /events?after=9007199254740991&wait=50s HTTP/1.1\r\nHost: a\r\n\r\n")
            client, of_busy = Client(limited), Client(busy)
            until(lambda: of_busy.ask("GET /locks/limited/events?wait=1ms").status == 429, "all places are taken")

            def ask(request):
                """The only request of this second is made before; again where a slow machine lets it pass."""
                return until(lambda: client.ask("GET /metrics") and
                             [reply for reply in [client.ask(request)] if reply.status == 429], request)[0]

            for operation in OPERATIONS.values():
                case = {"id": operation.id, "status": 429, "code": "rate_limited", "meanwhile": None,
                        "request": fill(operation, "limited")}
                if operation.has_code("rate_limited"):
                    self.run_case(client, case, ask)
                if operation.has_code("too_many_waiters"):
                    method, target, *rest = case["request"].split(" ")
                    self.run_case(of_busy, case | {"code": "too_many_waiters",
                                                   "request": " ".join([method, target + "?wait=1s", *rest])})

    def test_each_reply_is_as_documented_and_every_documented_reply_comes(self):
        with Batond(self.url, "--max-waiters=1") as batond:
            self.usual = Client(batond)
            self.redis.command("SET baton:{damaged} x")
            self.run_cases("usually", self.usual, self.usual)
            self.run_draining_cases()
            self.run_stuck_cases()
            self.run_cases_at("alone", "--confirm=replicas:1", "--confirm-timeout=20ms")
            self.run_cases_at("in a quorum", redis_url="redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
            self.run_quarantined_cases()
            self.run_guarded_cases()
            self.run_limited_cases()
            self.redis.process.end()
            self.run_cases("without Redis", self.usual, self.usual)
        self.assertFalse(self.promises, "promised, but no case provoked it")


class Meanwhile:
    """Once the request of the case is queued, another connection sends what ends its wait."""

    def __init__(self, batond, case):
        self.batond, self.request = batond, case["meanwhile"]
        self.thread = threading.Thread(target=self.run)

    def run(self):
        path = self.request.split()[1].partition("?")[0]
        until(lambda: Client(self.batond).ask(f"GET {path}").json["queue_length"] == 1, "it is queued")
        self.parked = Client(self.batond)
        self.parked.connection.request("POST", self.request.split()[1], headers={"Lock-Token": ONE})

    def __enter__(self):
        if self.request:
            self.thread.start()

    def __exit__(self, *_):
        if self.request:
            self.thread.join()
            self.parked.close()


class Flood:
    """Renewals with a token that holds nothing, one after the other: so no renewal and no release is admitted
    meanwhile, except for one of them a second."""

    def __init__(self, batond):
        self.client, self.is_over, self.is_refused = Client(batond), threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.is_over.is_set():
            if self.client.ask("PUT /locks/flood @other").status == 429:
                self.is_refused.set()

    def __enter__(self):
        self.thread.start()
        self.is_refused.wait()

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


def ptrace(request, thread):
    return ctypes.CDLL(None, use_errno=True).ptrace(request, thread, None, None)


def stop_thread(process, name):
    """Stops the thread while it waits for events; None where that is not allowed."""
    threads = pathlib.Path(f"/proc/{process}/task")
    thread = until(lambda: next((int(task.name) for task in threads.iterdir()
                                 if (task / "comm").read_text().strip() == name), None), name)
    if ptrace(PTRACE_SEIZE, thread):
        return None

    def is_stopped_there():
        assert ptrace(PTRACE_INTERRUPT, thread) == 0
        os.waitpid(thread, 0x40000000)  # __WALL
        return (threads / str(thread) / "syscall").read_text().split()[0] in EPOLL_CALLS or \
            ptrace(PTRACE_CONT, thread)

    until(is_stopped_there, "it waits for events")
    return thread
