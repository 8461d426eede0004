"""The blocking client: a thread for each lock renews it."""
import http.client
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from . import core
from .errors import LockLost


class Lock(core.Hold):
    """A lock, from `Client.lock`. Use it with `with`."""

    def __init__(self, client: "Client", lease: core.Lease, wait: float, on_lost: Callable[[], object] | None):
        super().__init__(lease)
        self._client, self._wait, self._on_lost = client, wait, on_lost
        self._over, self._ends = threading.Event(), threading.RLock()

    def acquire(self) -> "Lock":
        self._begin()
        try:
            self._client._run(core.acquire(self._client._config, self._lease, self._wait))
            threading.Thread(target=self._keep, name="baton-renew", daemon=True).start()
            if self._on_lost:
                threading.Thread(target=self._watch, name="baton-watch", daemon=True).start()
            if self._is_released:  # by another thread, or a signal
                raise self._lost()
        except BaseException:
            self._is_released = True
            self._over.set()  # for a thread that has started
            self._end()  # leaves the queue; a grant whose answer was lost ends, too
            raise
        return self

    def release(self):
        """Ends the hold. Raises LockLost if it was lost before, so that the work may have been in vain."""
        with self._ends:
            is_first = not self._is_released
            if is_first:
                self._loss = None if self.left else self._lost()
                self._is_released = True
                self._over.set()
        if is_first:
            self._judge(self._end())
        if self._loss:
            raise self._loss

    def __enter__(self) -> "Lock":
        return self.acquire()

    def __exit__(self, kind, error, trace):
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise

    def _end(self) -> core.Reply:
        return self._client._run(core.release(self._client._config, self._lease))

    def _keep(self):
        self._client._run(core.keep(self._client._config, self._lease), self._over)

    def _watch(self):
        """A renewal that hangs does not keep this thread from being in time."""
        while self._lease.left > 0:
            # At most 50 ms, since a renewal may say that the lock is lost.
            if self._over.wait(min(self._lease.left, 0.05)):
                return
        with self._ends:
            if self._over.is_set():
                return
            self._lease.lose(self._lease.why)
        self._on_lost()


class Client:
    """Talks to one batond, or to several that share a Redis."""

    def __init__(self, urls: str | Sequence[str] = "http://127.0.0.1:7420", *, bearer: str | None = None,
                 ssl_context: ssl.SSLContext | None = None, **options):
        self._config = core.Config(urls, bearer, **options)
        self._ssl = ssl_context

    def lock(self, names: str | Sequence[str], *, wait: core.Duration = 0, on_lost: Callable[[], object] | None = None,
             **fields) -> Lock:
        """A lock of one name, or of several at once. `wait` is for all requests together, in seconds or as
        "5m"; `math.inf` waits for ever. All other fields are those of the API: ttl, owner, mode, limit, meta ..."""
        return Lock(self, core.Lease(names, fields), core.seconds(wait), on_lost)

    def inspect(self, name: str) -> dict:
        return self._run(core.inspect(self._config, name)).document

    def break_lock(self, name: str) -> dict:
        """Ends all holds of the name, whoever has them. After an Unavailable, look before you repeat it."""
        return self._run(core.break_lock(self._config, name)).document

    def events(self, name: str | None = None, *, prefix: str = "", after: int | None = None) -> Iterator[dict]:
        """Yields the lock as it is, and whenever it changes; without a name, what changes under a prefix."""
        changes = core.Changes(self._config, name, prefix, after)
        while True:
            yield self._run(changes.next())

    def _run(self, steps, over: threading.Event | None = None):
        """Does what the steps say, until they return, or `over` is set."""
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, core.Send):
                answer = self._send(step)
            elif over is None:
                time.sleep(step.seconds)
            elif over.wait(step.seconds):
                return None

    def _send(self, step: core.Send) -> core.Reply:
        url = urlsplit(step.url)
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(url.netloc, timeout=step.timeout, context=self._ssl)
        else:
            connection = http.client.HTTPConnection(url.netloc, timeout=step.timeout)
        try:
            connection.request(step.method, url.path + step.path, step.body, step.headers | {"Connection": "close"})
            response = connection.getresponse()
            return core.Reply.of_body(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            return core.Reply(0, {"detail": f"{step.url}: {error or type(error).__name__}"})
        finally:
            connection.close()
