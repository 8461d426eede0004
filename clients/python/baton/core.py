"""The rules of a client, without any input or output.

Each rule is a generator. It yields a Send or a Sleep, and is resumed with the Reply or with None. The
blocking client and that of asyncio differ only in how they do the two.
"""
import getpass
import json
import math
import os
import re
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from .errors import (Invalid, LockLost, MaxHeld, NotHeld, Problem, Quarantined, Superseded, TooMany, Unavailable,
                     WaitTimeout, problem)
from .wire import Answer

LATE = "no batond has renewed the lock in time"
KEEP_MS = 10_000  # for the place in the queue between two requests
LEAVING = 2.0  # seconds: how long an acquire that has failed tries to end what it may have got
SHORTEST_PORTION = 1.0  # seconds; a batond with a shorter max-wait is not waited at
KINDS = {"released": bool, "changed": bool, "locks": list}  # of the proofs of an answer; the others are numbers
DURATIONS = {"ttl", "wait", "keep", "at_least", "max_held", "held_for"}
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "": 1}

URL = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(/[!-\"$->@-~]*)?")

BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)
Duration = float | str
Names = str | Sequence[str] | Callable[..., str | Sequence[str]]
Result = TypeVar("Result")
CURRENT: ContextVar["Hold"] = ContextVar("baton.current")


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
    if not isinstance(name, str) or not name:
        raise TypeError(f"The name of a lock is a text that is not empty, and not {name!r}.")
    return "/locks/" + quote(name, safe="")


def holds_of(document: dict) -> list[dict]:
    return document.get("locks") or [document]


def json_fields(fields: dict) -> dict:
    """Fields of a request. Durations that are numbers become milliseconds; all others stay as they are."""
    numbers = {name for name, value in fields.items() if name in DURATIONS and isinstance(value, (int, float))}
    return {f"{name}_ms" if name in numbers else name: round(value * 1000) if name in numbers else value
            for name, value in fields.items() if value is not None}


@dataclass
class Send:
    base: SplitResult
    message: bytes = field(repr=False)  # has the token and the API key
    timeout: float


class Sleep(NamedTuple):
    seconds: float


@dataclass
class Reply:
    status: int  # 0: no answer
    document: dict = field(repr=False)  # may have the token
    sent: float = 0  # by the monotonic clock
    is_repeated: bool = False  # an earlier request may have done the same

    @property
    def is_done(self) -> bool:
        return 200 <= self.status < 300

    @staticmethod
    def of(answer: Answer) -> "Reply":
        """A server of another kind may answer anything."""
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict) and (200 <= answer.status < 300 or isinstance(document.get("code"), str)):
            return Reply(answer.status, document)
        return Reply.of_another(answer.status)

    @staticmethod
    def of_trouble(base: SplitResult, error: Exception) -> "Reply":
        why = str(error) or type(error).__name__
        return Reply(0, {"detail": f"No batond answers at {base.geturl()} ({why}). "
                                   "Check the URL, and that batond runs there."})

    @staticmethod
    def of_another(status: int) -> "Reply":
        away = status if status in (502, 503, 504) else 0
        return Reply(away, {"detail": f"the answer ({status}) is not one of batond"})

    def proven(self, proof: str) -> "Reply":
        """If it is done, the document, or each of its locks, has a field of this name and its kind."""
        kind = KINDS.get(proof, int)
        locks = [self.document] if proof in self.document else self.document.get("locks")
        is_proven = isinstance(locks, list) and locks and \
            all(isinstance(lock, dict) and type(lock.get(proof)) is kind for lock in locks)
        return self if is_proven or not self.is_done else Reply.of_another(self.status)


Steps = Generator[Send | Sleep, Reply | None, Reply]


def base_of(url: str) -> SplitResult:
    """What stands before each path. A URL with /locks, as for curl, would make another lock of each name."""
    if "@" in str(url):
        raise ValueError("A URL of batond has no user and no password. Give the client the API key as bearer.")
    base, shown = str(url).rstrip("/"), json.dumps(str(url), ensure_ascii=False)
    if not (match := URL.fullmatch(base)) or not 0 < int(match[1] or 1) < 65536:
        raise ValueError(f"{shown} is not a URL of batond. Write http://HOST:PORT or https://HOST:PORT.")
    if match[2] and base.endswith("/locks"):
        raise ValueError(f'{shown} ends in /locks, which the client adds. Write "{base.removesuffix("/locks")}".')
    return urlsplit(base)


def of_header(text: str, what: str) -> str:
    """A secret, without the line break at the end of a file."""
    if not re.fullmatch("[!-~]+", text := text.strip()):
        raise ValueError(f"The {what} has a character that no header can carry. Is it the {what}, and nothing else?")
    return text


def owner_here() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, ImportError, OSError):
        user = "user"
    return f"{user[:32]}@{socket.gethostname()}"


@dataclass
class Config:
    """Where batond is, who asks, and how patient the client is; times in seconds."""
    urls: str | Sequence[str]
    bearer: str | None = field(default=None, repr=False)
    ssl_context: ssl.SSLContext | None = None  # made once: that reads all certificates of the system
    timeout: float = 5.0  # for an answer, beside the wait
    portion: float = 25.0  # how long one request waits: less than any proxy allows
    patience: float = 10.0  # how long a request is repeated that nobody answers
    current: int = 0  # the URL that answered last

    def __post_init__(self):
        urls = [self.urls] if isinstance(self.urls, str) else list(self.urls)
        if not urls:
            raise ValueError("There is no URL of batond. Write http://HOST:PORT or https://HOST:PORT.")
        self.bases = [base_of(url) for url in urls]
        self.bearer = self.bearer and of_header(self.bearer, "API key")
        if not self.ssl_context and any(base.scheme == "https" for base in self.bases):
            self.ssl_context = ssl.create_default_context()

    def ask(self, method: str, path: str, proof: str, *, token=None, body=None, timeout=None, end=math.inf) -> Steps:
        """Asks one URL after another until a batond can serve; all of them until `end` by the monotonic clock.
        The proof is a field that the answer of a batond has."""
        encoded = json.dumps(body).encode() if body else b""
        fields = ["Accept: application/json", f"Content-Length: {len(encoded)}"]
        fields += ["Content-Type: application/json"] if body else []
        fields += [f"Lock-Token: {token}"] if token else []
        fields += [f"Authorization: Bearer {self.bearer}"] if self.bearer else []
        for number in range(len(self.bases)):
            asked, sent = self.current, now()
            base, limit = self.bases[asked], max(0.0, min(timeout or self.timeout, end - sent))
            head = "\r\n".join([f"{method} {base.path}{path} HTTP/1.1", f"Host: {base.netloc}", *fields, "", ""])
            answer = yield Send(base, head.encode() + encoded, limit)
            reply = answer.proven(proof)
            reply.sent, reply.is_repeated = sent, number > 0
            if reply.is_done or not isinstance(problem(reply.status, reply.document), Unavailable):
                break
            if self.current == asked:  # another lock may have gone on to the next URL
                self.current = (asked + 1) % len(self.bases)
            if not token and method != "GET":
                break  # a break that is repeated could end another's hold
        return reply


def times_of(sent: float, ttl: float) -> tuple[float, float]:
    """When a hold ends for this client, and when it is to be renewed."""
    return sent + ttl * 0.99 - min(ttl / 10, 1.0), sent + ttl / 3


@dataclass
class Lease:
    """A hold of one name or several, and how long this client counts on it."""
    names: Sequence[str] | str
    fields: dict
    token: str | None = field(default=None, repr=False)  # given if the hold is another's, who has passed it on
    document: dict = field(default_factory=dict, repr=False)
    ttl: float = 0.0
    expires: float = -math.inf  # by the monotonic clock, before it ends in Redis
    renew_at: float = 0.0
    most: float = math.inf  # that a TTL counts, since an unanswered request may yet shorten it
    why: Problem | str = "it was not taken"  # why it is lost, if it is
    is_taken: bool = False  # by an acquire that has succeeded
    is_lost: bool = False
    process: int = 0  # that has begun to take it

    def __post_init__(self):
        self.fields = json_fields(self.fields)
        if self.fields.get("reentrant") and "owner" not in self.fields:
            raise ValueError("reentrant is for the holds of one owner. Name it: owner.")
        self.fields.setdefault("owner", owner_here())
        self.names = [self.names] if isinstance(self.names, str) else list(self.names)
        paths = [path_of(name) for name in self.names]
        if not paths:
            raise TypeError("A lock has a name, or several.")
        self.path, self.body = (paths[0], {}) if len(paths) == 1 else ("/locks", {"names": self.names})
        self.is_adopted = self.token is not None
        self.token = of_header(self.token, "token") if self.is_adopted else ""

    def begin(self):
        """It is taken once, whether or not that succeeds, by a token that no other process has, and counts in this
        process alone."""
        if self.process:
            raise RuntimeError("A lock is taken once. Call client.lock() again to take it another time.")
        self.process, self.token = os.getpid(), self.token or secrets.token_urlsafe(16)

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process, of which this one is a fork, has taken it."""
        return self.process not in (0, os.getpid())

    @property
    def holds(self) -> list[dict]:
        return holds_of(self.document)

    @property
    def left(self) -> float:
        return -math.inf if self.is_lost or self.is_elsewhere else self.expires - now()

    @property
    def pause(self) -> float:
        """Seconds until something is to be done for it."""
        return max(0.0, min(self.renew_at - now(), self.left))

    def lose(self, why: Problem | str):
        """For good: an answer that comes later does not count."""
        self.is_lost, self.why = True, why

    def count(self, reply: Reply):
        """From when the request was sent: it may have been on its way for any part of the time since. A
        hundredth is for clocks that differ, the rest for a program that is slow to stop."""
        self.document = reply.document
        self.ttl = min(self.most, min(hold["ttl_ms"] for hold in holds_of(reply.document)) / 1000)
        self.expires, self.renew_at = times_of(reply.sent, self.ttl)
        self.why = LATE


class Hold:
    """What a lock tells of itself, whoever renews it."""

    def __init__(self, lease: Lease):
        self._lease, self._is_released = lease, False
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

    def _judge(self, reply: Reply):
        """If the release has found no hold before it could end by itself, it was lost after the last renewal."""
        error = problem(reply.status, reply.document)
        is_early = not reply.is_repeated and now() < self._lease.expires
        if isinstance(error, NotHeld) and is_early and not self._loss:
            self._loss = self._lost(error)

    def _lost(self, why: Problem | str = "") -> LockLost:
        why = why or ("it was released" if self._is_released else self._lease.why)
        if self._lease.is_elsewhere:
            why = f"process {self._lease.process} took it, and this is process {os.getpid()}. Take a lock here, too."
        return LockLost(f"{', '.join(self.names)}: {why}", getattr(why, "document", {}))


def current() -> Hold | None:
    """The lock of the function that `locked` decorates, in which this is called."""
    return CURRENT.get(None)


def names_for(names: Names, arguments: tuple, keywords: dict) -> str | Sequence[str]:
    return names(*arguments, **keywords) if callable(names) else names


def take(config: Config, lease: Lease, method: str, **options) -> Steps:
    """One request that takes the lock or renews it."""
    reply = yield from config.ask(method, lease.path, "ttl_ms", token=lease.token, **options)
    if reply.is_done:
        lease.count(reply)
    return reply


def enter(config: Config, lease: Lease, wait: float) -> Steps:
    return adopt(config, lease) if lease.is_adopted else acquire(config, lease, wait)


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


def insist(attempt: Callable[[], Steps], end: float) -> Steps:
    """Repeats a request while no batond can serve."""
    while not (reply := (yield from attempt())).is_done:
        error = problem(reply.status, reply.document)
        if now() >= end or not isinstance(error, (Unavailable, TooMany)):
            raise error
        yield Sleep(0.3)
    return reply


def adopt(config: Config, lease: Lease) -> Steps:
    """Goes on with a hold that another has taken."""
    reply = yield from insist(lambda: take(config, lease, "PUT", body=lease.body), now() + config.patience)
    lease.is_taken = True
    return reply


def extend(config: Config, lease: Lease, ttl: Duration | None) -> Steps:
    """Renews the lease now. From then on its renewals have this TTL. A shorter one counts from when it is asked
    for: batond may obey a request whose answer never comes, and may do so late."""
    body, before = lease.body | json_fields({"ttl": ttl}), (lease.expires, lease.renew_at, lease.most)
    if ttl is not None:
        lease.expires, lease.renew_at, lease.most = map(min, before, (*times_of(now(), seconds(ttl)), seconds(ttl)))
    end = min(lease.expires, now() + config.patience)
    try:
        reply = yield from insist(lambda: take(config, lease, "PUT", body=body, end=lease.expires), end)
        lease.most = before[2]
        return reply
    except NotHeld as error:
        lease.lose(error)
        raise
    except (Unavailable, TooMany):
        raise
    except Problem:  # batond has refused it
        lease.expires, lease.renew_at, lease.most = before
        raise


def renew(config: Config, lease: Lease) -> Generator[Send | Sleep, Reply | None, None]:
    """Renews the lease, if it is time."""
    if lease.pause > 0 or lease.left <= 0:
        return
    timeout = min(config.timeout, lease.ttl / 4)
    reply = yield from take(config, lease, "PUT", body=lease.body, timeout=timeout, end=lease.expires)
    if reply.is_done:
        return
    error = problem(reply.status, reply.document)
    if isinstance(error, NotHeld):
        lease.lose(error)
    elif isinstance(error, MaxHeld):
        lease.why, lease.renew_at = error, math.inf
    else:
        lease.why, lease.renew_at = f"{LATE}; at last: {error}", now() + lease.ttl / 20


def release(config: Config, lease: Lease) -> Steps:
    """Ends the hold, or the wait. If nobody answers, the hold ends with its TTL."""
    if lease.is_adopted and not lease.is_taken:
        return Reply(0, {})
    end = min(lease.expires if lease.is_taken else now() + LEAVING, now() + config.patience)
    is_repeated = False
    while True:
        timeout = min(config.timeout, max(lease.left, 1.0))
        reply = yield from config.ask("DELETE", lease.path, "released", token=lease.token, body=lease.body,
                                      timeout=timeout)
        reply.is_repeated, is_repeated = reply.is_repeated or is_repeated, True
        if reply.is_done or now() >= end or \
                not isinstance(problem(reply.status, reply.document), (Unavailable, TooMany)):
            return reply
        yield Sleep(0.2)


def request(config: Config, method: str, path: str, proof: str, *, waits=0.0, **fields) -> Steps:
    """Any other request. One that only reads is repeated while nobody answers."""
    fields = json_fields(fields)
    path += "?" + urlencode(fields, quote_via=quote) if fields else ""  # to batond a + is no space
    end = now() + waits + config.patience if method == "GET" else -math.inf
    return insist(lambda: config.ask(method, path, proof, timeout=waits + config.timeout), end)


def inspect(config: Config, name: str) -> Steps:
    return request(config, "GET", path_of(name), "version")


def page(config: Config, prefix: str, cursor: str, filters: dict) -> Steps:
    return request(config, "GET", "/locks", "locks", prefix=prefix or None, cursor=cursor or None, **filters)


def break_lock(config: Config, name: str, fence: int | None, reason: str | None) -> Steps:
    return request(config, "DELETE", path_of(name), "broken", force="true", fence=fence, reason=reason)


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
