"""The rules of a client, without any input or output.

Each rule is a generator. It yields a Send or a Sleep, and is resumed with the Reply or with None. The
blocking client and that of asyncio differ only in how they do the two.
"""
import json
import math
import re
import secrets
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, urlencode

from .errors import (Invalid, LockLost, MaxHeld, NotHeld, Problem, Quarantined, Superseded, TooMany, Unavailable,
                     WaitTimeout, problem)

LATE = "no batond has renewed the lock in time"
KEEP_MS = 10_000  # for the place in the queue between two requests
LEAVING = 2.0  # seconds: how long an acquire that has failed tries to end what it may have got
SHORTEST_PORTION = 1.0  # seconds; a batond with a shorter max-wait is not waited at
FLAGS = {"released", "changed"}  # the proofs of an answer that are booleans; the others are numbers
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "": 1}

BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)
Duration = float | str


def now() -> float:
    """Seconds by a monotonic clock; on Linux by the one that counts while the machine sleeps, too."""
    return time.monotonic() if BOOTTIME is None else time.clock_gettime(BOOTTIME)


def seconds(duration: Duration) -> float:
    """A number is seconds; a text is what the API takes: 500ms, 30s, 5m, 2h."""
    if isinstance(duration, str):
        if not (match := re.fullmatch(r"(\d+)(ms|s|m|h|)", duration)):
            raise ValueError(f"{duration!r} is no duration; send 500ms, 30s, 5m or 2h")
        return int(match[1]) * SECONDS[match[2]]
    return float(duration)


def path_of(name: str) -> str:
    return "/locks/" + quote(name, safe="")


def holds_of(document: dict) -> list[dict]:
    return document.get("locks") or [document]


def json_fields(fields: dict) -> dict:
    """Fields of a request. Durations that are numbers become milliseconds; all others stay as they are."""
    durations = ("ttl", "wait", "keep", "at_least", "max_held")
    return {f"{name}_ms" if name in durations and isinstance(value, (int, float)) else name:
            round(value * 1000) if name in durations and isinstance(value, (int, float)) else value
            for name, value in fields.items() if value is not None}


class Send(NamedTuple):
    url: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None
    timeout: float


class Sleep(NamedTuple):
    seconds: float


@dataclass
class Reply:
    status: int  # 0: no answer
    document: dict
    sent: float = 0  # by the monotonic clock
    is_repeated: bool = False  # an earlier request may have done the same

    @property
    def is_done(self) -> bool:
        return 200 <= self.status < 300

    @staticmethod
    def of_body(status: int, body: bytes) -> "Reply":
        """A server of another kind may answer anything."""
        try:
            document = json.loads(body)
        except ValueError:
            document = None
        if isinstance(document, dict) and (200 <= status < 300 or isinstance(document.get("code"), str)):
            return Reply(status, document)
        return Reply.of_another(status)

    @staticmethod
    def of_another(status: int) -> "Reply":
        away = status if status in (502, 503, 504) else 0
        return Reply(away, {"detail": f"the answer ({status}) is not one of batond"})

    def proven(self, proof: str) -> "Reply":
        """If it is done, the document, or each of its locks, has a boolean of this name, or a number."""
        kind = bool if proof in FLAGS else int
        locks = [self.document] if proof in self.document else self.document.get("locks")
        is_proven = isinstance(locks, list) and locks and \
            all(isinstance(lock, dict) and type(lock.get(proof)) is kind for lock in locks)
        return self if is_proven or not self.is_done else Reply.of_another(self.status)


Steps = Generator[Send | Sleep, Reply | None, Reply]


def base_of(url: str) -> str:
    """What stands before each path. A URL with /locks, as for curl, would make another lock of each name."""
    base = url.rstrip("/")
    if base.partition("//")[2].endswith("/locks"):
        instead = base.removesuffix("/locks")
        raise ValueError(f'"{url}" ends in /locks, which the client adds. Write "{instead}".')
    return base


@dataclass
class Config:
    """Where batond is, who asks, and how patient the client is; times in seconds."""
    urls: Sequence[str]
    bearer: str | None = None
    timeout: float = 5.0  # for an answer, beside the wait
    portion: float = 25.0  # how long one request waits: less than any proxy allows
    patience: float = 10.0  # how long a request is repeated that nobody answers
    current: int = 0  # the URL that answered last

    def __post_init__(self):
        self.urls = [base_of(url) for url in ([self.urls] if isinstance(self.urls, str) else self.urls)]
        self.bearer = self.bearer and self.bearer.strip()  # a file ends in a line break

    def ask(self, method: str, path: str, proof: str, *, token=None, body=None, timeout=None, end=math.inf) -> Steps:
        """Asks one URL after another until a batond can serve; all of them until `end` by the monotonic clock.
        The proof is a field that the answer of a batond has."""
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if token:
            headers["Lock-Token"] = token
        if self.bearer:
            headers["Authorization"] = f"Bearer {self.bearer}"
        encoded = None if body is None else json.dumps(body).encode()
        for number in range(len(self.urls)):
            asked, sent = self.current, now()
            limit = max(0.0, min(timeout or self.timeout, end - sent))
            answer = yield Send(self.urls[asked], method, path, headers, encoded, limit)
            reply = answer.proven(proof)
            reply.sent, reply.is_repeated = sent, number > 0
            if reply.is_done or not isinstance(problem(reply.status, reply.document), Unavailable):
                break
            if self.current == asked:  # another lock may have gone on to the next URL
                self.current = (asked + 1) % len(self.urls)
            if not token and method != "GET":
                break  # a break that is repeated could end another's hold
        return reply


@dataclass
class Lease:
    """A hold of one name or several, and how long this client counts on it."""
    names: Sequence[str] | str
    fields: dict
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    document: dict = field(default_factory=dict)
    ttl: float = 0.0
    expires: float = -math.inf  # by the monotonic clock, before it ends in Redis
    renew_at: float = 0.0
    why: str = "it was not taken"  # why it is lost, if it is
    is_taken: bool = False  # by an acquire that has succeeded
    is_lost: bool = False

    def __post_init__(self):
        self.fields = json_fields(self.fields)
        self.names = [self.names] if isinstance(self.names, str) else list(self.names)
        if len(self.names) == 1:
            self.path, self.body = path_of(self.names[0]), {}
        else:
            self.path, self.body = "/locks", {"names": self.names}

    @property
    def holds(self) -> list[dict]:
        return holds_of(self.document)

    @property
    def left(self) -> float:
        return -math.inf if self.is_lost else self.expires - now()

    def lose(self, why: str):
        """For good: an answer that comes later does not count."""
        self.is_lost, self.why = True, why

    def count(self, reply: Reply):
        """From when the request was sent: it may have been on its way for any part of the time since. A
        hundredth is for clocks that differ, the rest for a program that is slow to stop."""
        self.document, self.ttl = reply.document, min(hold["ttl_ms"] for hold in holds_of(reply.document)) / 1000
        self.expires = reply.sent + self.ttl * 0.99 - min(self.ttl / 10, 1.0)
        self.renew_at = reply.sent + self.ttl / 3
        self.why = LATE


class Hold:
    """What a lock tells of itself, whoever renews it."""

    def __init__(self, lease: Lease):
        self._lease, self._is_begun, self._is_released = lease, False, False
        self._loss: LockLost | None = None  # what its end says

    @property
    def names(self) -> Sequence[str]:
        return self._lease.names

    @property
    def token(self) -> str:
        return self._lease.token

    @property
    def fence(self) -> int:
        """The fence; of several locks, that of the first name."""
        return self.fences[self.names[0]]

    @property
    def fences(self) -> dict[str, int]:
        return {hold["name"]: hold["fence"] for hold in self._lease.holds}

    @property
    def mode(self) -> str:
        return self._lease.holds[0]["mode"]

    @property
    def left(self) -> float:
        """Seconds for which you may count on the lock, unless a renewal adds to them; 0 if it is lost."""
        return 0.0 if self._is_released else max(0.0, self._lease.left)

    def check(self):
        """Raises LockLost if the lock may be another's. Call it before each step of the work: a program that was
        stopped learns of the loss here first."""
        if not self.left:
            raise self._lost()

    def _begin(self):
        """Its token takes the lock once, whether or not that succeeds."""
        if self._is_begun:
            raise RuntimeError("A lock is taken once. Call client.lock() again to take it another time.")
        self._is_begun = True

    def _judge(self, reply: Reply):
        """If the release has found no hold before it could end by itself, it was lost after the last renewal."""
        error = problem(reply.status, reply.document)
        is_early = not reply.is_repeated and now() < self._lease.expires
        if isinstance(error, NotHeld) and is_early and not self._loss:
            self._loss = self._lost(str(error))

    def _lost(self, why: str = "") -> LockLost:
        why = why or ("it was released" if self._is_released else self._lease.why)
        return LockLost(f"{', '.join(self.names)}: {why}")


def take(config: Config, lease: Lease, method: str, **options) -> Steps:
    """One request that takes the lock or renews it."""
    reply = yield from config.ask(method, lease.path, "ttl_ms", token=lease.token, **options)
    if reply.is_done:
        lease.count(reply)
    return reply


def acquire(config: Config, lease: Lease, wait: float) -> Steps:
    """Takes the lock, in as many requests as it needs: all have one token, and so one place in the queue."""
    begun = now()
    end_of_wait, end_of_trouble = begun + wait, begun + max(wait, config.patience)
    portion, is_granted = config.portion, False
    while True:
        left = end_of_wait - now()
        waits = 0.0 if is_granted else max(0.0, min(portion, left))
        body = lease.body | lease.fields
        if waits:
            body["wait_ms"] = round(waits * 1000)
            if len(lease.names) == 1 and "keep" not in body:
                body.setdefault("keep_ms", KEEP_MS)
        reply = yield from take(config, lease, "POST", body=body, timeout=waits + config.timeout)
        if reply.is_done:
            # A wait counts as time on the way. The same request again, without one, says what is left.
            if lease.left > lease.ttl / 2 or (is_granted and lease.left > 0):
                lease.is_taken = True
                return reply
            is_granted = True
            error: Problem = problem(0, {"detail": "the answers come too late for this TTL"})
        else:
            error, is_granted = problem(reply.status, reply.document), False
        if is_too_long(portion, error):
            portion /= 2
            continue
        # An earlier request, given up here, may come late to batond, and supersede the one that waits.
        is_in_trouble = isinstance(error, (Unavailable, Superseded)) and not isinstance(error, Quarantined)
        end = end_of_trouble if is_in_trouble else end_of_wait
        is_over = now() >= end or (isinstance(error, WaitTimeout) and left <= portion)
        if is_over or not (is_in_trouble or isinstance(error, (WaitTimeout, Quarantined, TooMany))):
            raise error
        if not is_granted and not isinstance(error, WaitTimeout):
            yield Sleep(max(0.0, min(error.retry_after or 0.3, 1.0, end - now())))


def is_too_long(portion: float, error: Problem) -> bool:
    """Whether batond has refused the wait, since its max-wait is shorter, and takes half of it."""
    is_refused = isinstance(error, Invalid) and error.document.get("parameter", "").startswith("wait")
    return is_refused and portion / 2 >= SHORTEST_PORTION


def keep(config: Config, lease: Lease) -> Generator[Send | Sleep, Reply | None, None]:
    """Renews the lease for as long as it can."""
    while lease.left > 0:
        if (pause := min(lease.renew_at - now(), lease.left)) > 0:
            yield Sleep(pause)
            continue
        timeout = min(config.timeout, lease.ttl / 4)
        reply = yield from take(config, lease, "PUT", body=lease.body, timeout=timeout, end=lease.expires)
        if reply.is_done:
            continue
        error = problem(reply.status, reply.document)
        if isinstance(error, NotHeld):
            lease.lose(str(error))
        elif isinstance(error, MaxHeld):
            lease.why, lease.renew_at = str(error), math.inf
        else:
            lease.why, lease.renew_at = f"{LATE}; at last: {error}", now() + lease.ttl / 20


def release(config: Config, lease: Lease) -> Steps:
    """Ends the hold, or the wait. If nobody answers, the hold ends with its TTL."""
    end = min(lease.expires if lease.is_taken else now() + LEAVING, now() + config.patience)
    is_repeated = False
    while True:
        timeout = min(config.timeout, max(lease.left, 1.0))
        reply = yield from config.ask("DELETE", lease.path, "released", token=lease.token, body=lease.body or None,
                                      timeout=timeout)
        reply.is_repeated, is_repeated = reply.is_repeated or is_repeated, True
        if reply.is_done or now() >= end or \
                not isinstance(problem(reply.status, reply.document), (Unavailable, TooMany)):
            return reply
        yield Sleep(0.2)


def request(config: Config, method: str, path: str, proof: str, *, waits=0.0, **fields) -> Steps:
    """Any other request. One that only reads is repeated while nobody answers."""
    fields = json_fields(fields)
    path += "?" + urlencode(fields) if fields else ""
    end = now() + waits + config.patience
    while True:
        reply = yield from config.ask(method, path, proof, timeout=waits + config.timeout)
        if reply.is_done:
            return reply
        error = problem(reply.status, reply.document)
        if method != "GET" or not isinstance(error, (Unavailable, TooMany)) or now() >= end:
            raise error
        yield Sleep(0.3)


def inspect(config: Config, name: str) -> Steps:
    return request(config, "GET", path_of(name), "version")


def break_lock(config: Config, name: str) -> Steps:
    return request(config, "DELETE", path_of(name), "broken", force="true")


class Changes:
    """Waits for changes of one lock, or of all under a prefix."""

    def __init__(self, config: Config, name: str | None, prefix: str, after: int | None):
        self.config, self.portion, self.after = config, config.portion, after
        self.path = "/events" if name is None else path_of(name) + "/events"
        self.prefix = prefix if name is None else None

    def next(self) -> Generator[Send | Sleep, Reply | None, dict]:
        while True:
            try:
                reply = yield from request(self.config, "GET", self.path, "changed", waits=self.portion,
                                           wait=self.portion, prefix=self.prefix, after=self.after)
            except Invalid as error:
                if not is_too_long(self.portion, error):
                    raise
                self.portion /= 2
                continue
            self.after = reply.document["version"]
            if reply.document["changed"]:
                return reply.document
