"""The blocking client: a thread for each lock renews it."""
import contextlib
import functools
import http.client
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import SplitResult

from . import core
from .errors import Cancelled, Locked, LockLost, NotHeld
from .wire import Answer, Pool


class Lock(core.Hold):
    """A lock, from `Client.lock`. Use it with `with`."""

    def __init__(self, client: "Client", lease: core.Lease, wait: float, on_lost: Callable[[], object] | None):
        super().__init__(lease)
        self._client, self._wait, self._on_lost = client, wait, on_lost
        self._over, self._ends = threading.Event(), threading.RLock()
        self._woken, self._renewing = threading.Event(), threading.Lock()  # one renewal at a time
        self._is_granted, self._asked = False, None  # on this connection, by the wait

    def acquire(self) -> "Lock":
        self._lease.begin()
        self._client._pool.begin(self)
        try:
            self._client._run(core.enter(self._client._config, self._lease, self._wait), self)
            threading.Thread(target=self._keep, name="baton-renew", daemon=True).start()
            if self._on_lost:
                threading.Thread(target=self._watch, name="baton-watch", daemon=True).start()
            with self._ends:
                if self._is_released:  # by another thread, or a signal
                    raise self._cancelled()
                self._is_granted = True
        except BaseException:
            self._finish()
            self._end()  # leaves the queue; a grant whose answer was lost ends, too
            raise
        return self

    def cancel(self):
        """Ends the wait, from another thread: `acquire` raises Cancelled, and leaves the queue. A lock that is granted
        stays."""
        with self._ends:
            if self._is_granted:
                return
            self._finish()
        if asked := self._asked:
            with contextlib.suppress(OSError):  # it has ended already
                socket.socket.shutdown(asked, socket.SHUT_RDWR)

    def release(self):
        """Ends the hold. Raises LockLost if it was lost before, so that the work may have been in vain. During the
        wait it is `cancel`. In another process than that of `acquire` it does nothing."""
        if self._lease.is_elsewhere:
            return
        with self._ends:
            if self._lease.process and not self._is_granted:
                return self.cancel()
            is_first = not self._is_released
            if is_first:
                self._loss = None if self.left else self._lost()
                self._finish()
        if is_first:
            self._judge(self._end())
        if self._loss:
            raise self._loss

    def extend(self, ttl: core.Duration | None = None):
        """Renews the lock now. With a `ttl` it has that one from now on; nothing is added to the time left."""
        with self._renewing:
            self.check()
            try:
                self._client._run(core.extend(self._client._config, self._lease, ttl))
            except NotHeld:
                raise self._lost() from None
            finally:
                self._woken.set()

    def __enter__(self) -> "Lock":
        return self.acquire()

    def __exit__(self, kind, error, trace):
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise

    def _finish(self):
        self._is_released = True
        self._over.set()
        self._woken.set()

    def _end(self) -> core.Reply:
        try:
            return self._client._run(core.release(self._client._config, self._lease))
        finally:
            self._client._pool.end(self)

    def _cancelled(self) -> Cancelled:
        return Cancelled(f"{', '.join(self.names)}: another thread has cancelled the wait")

    def _keep(self):
        while self._lease.left > 0 and not self._over.is_set():
            self._woken.wait(self._lease.pause)
            self._woken.clear()
            with self._renewing:
                if not self._over.is_set():
                    self._client._run(core.renew(self._client._config, self._lease))

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
    """Talks to one batond, or to several that share a Redis. Threads may share it."""

    def __init__(self, urls: str | Sequence[str] = "http://127.0.0.1:7420", **options):
        self._config, self._pool = core.Config(urls, **options), Pool(socket.socket.close)

    def lock(self, names: str | Sequence[str], *, wait: core.Duration = 0, on_lost: Callable[[], object] | None = None,
             **fields) -> Lock:
        """A lock of one name, or of several at once. `wait` is for all requests together, in seconds or as
        "5m"; `math.inf` waits for ever. All other fields are those of the API: ttl, owner, mode, limit, meta ..."""
        return Lock(self, core.Lease(names, fields), core.seconds(wait), on_lost)

    def held(self, names: str | Sequence[str], token: str, *, on_lost: Callable[[], object] | None = None) -> Lock:
        """A lock that another has taken, who has passed its token on. It is renewed and released like any other."""
        return Lock(self, core.Lease(names, {}, token), 0, on_lost)

    def locked(self, names: core.Names, *, skip: bool = False, **options):
        """Decorates a function that runs while it holds the lock of `lock(names, **options)`. With `skip` it does not
        run if another has the lock, and returns None. `names` may be a function of its arguments."""
        def decorate(function):
            @functools.wraps(function)
            def run(*args, **kwargs):
                with contextlib.ExitStack() as block:
                    try:
                        lock = block.enter_context(self.lock(core.names_for(names, args, kwargs), **options))
                    except Locked:
                        if not skip:
                            raise
                        return None
                    block.callback(core.CURRENT.reset, core.CURRENT.set(lock))
                    return function(*args, **kwargs)
            return run
        return decorate

    def lead(self, name: str, work: Callable[[Lock], core.Result], **options) -> core.Result:
        """Waits until this process leads, and calls work(lock). If the lock is lost, it waits and calls it again. It
        returns what `work` has returned while this process led."""
        while True:
            with contextlib.suppress(LockLost), self.lock(name, wait=math.inf, **options) as lock:
                return work(lock)

    def inspect(self, name: str) -> dict:
        return self._run(core.inspect(self._config, name)).document

    def list(self, prefix: str = "", **filters) -> Iterator[dict]:
        """Yields what is held under a prefix; with `owner` or `held_for`, what has a hold that fits."""
        cursor = ""
        while cursor is not None:
            page = self._run(core.page(self._config, prefix, cursor, filters)).document
            yield from page["locks"]
            cursor = page["cursor"]

    def break_lock(self, name: str, *, fence: int | None = None, reason: str | None = None) -> dict:
        """Ends all holds of the name, whoever has them, or that of the fence, and says which. After an Unavailable,
        look before you repeat it."""
        return self._run(core.break_lock(self._config, name, fence, reason)).document

    def events(self, name: str | None = None, *, prefix: str = "", after: int | None = None) -> Iterator[dict]:
        """Yields the lock as it is, and whenever it changes; without a name, what changes under a prefix."""
        changes = core.Changes(self._config, name, prefix, after)
        while True:
            yield self._run(changes.next())

    def _run(self, steps, wait: Lock | None = None):
        """Does what the steps say, until they return, or the wait is cancelled."""
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, core.Send):
                answer = self._send(step, wait)
            elif wait is None:
                time.sleep(step.seconds)
            else:
                wait._over.wait(step.seconds)
            if wait and wait._is_released:
                raise wait._cancelled()

    def _send(self, step: core.Send, wait: Lock | None) -> core.Reply:
        try:
            return self._exchange(step, wait)
        except (OSError, EOFError, ValueError, http.client.HTTPException) as error:
            return core.Reply.of_trouble(step.base, error)

    def _exchange(self, step: core.Send, wait: Lock | None) -> core.Reply:
        end = time.monotonic() + step.timeout
        connection, answer = self._connect(step.base, end), Answer()
        try:
            if wait:
                wait._asked = connection
                if wait._is_released:
                    raise EOFError
            connection.settimeout(left_until(end))
            connection.sendall(step.message)
            while not answer.feed(connection.recv(65536)):
                connection.settimeout(left_until(end))
        except BaseException:
            connection.close()
            raise
        finally:
            if wait:
                wait._asked = None
        self._pool.put(step.base, connection, answer.is_last)
        return core.Reply.of(answer)

    def _connect(self, base: SplitResult, end: float) -> socket.socket:
        while connection := self._pool.take(base):
            connection.settimeout(0)
            with contextlib.suppress(OSError):
                try:
                    socket.socket.recv(connection, 1, socket.MSG_PEEK)  # not for us, or its end
                except BlockingIOError:
                    return connection
            connection.close()
        is_https = base.scheme == "https"
        connection = socket.create_connection((base.hostname, base.port or (443 if is_https else 80)), left_until(end))
        if not is_https:
            return connection
        connection.settimeout(left_until(end))
        with contextlib.closing(connection):  # the other has its descriptor by then
            return self._config.ssl_context.wrap_socket(connection, server_hostname=base.hostname)


def left_until(end: float) -> float:
    if (left := end - time.monotonic()) <= 0:
        raise TimeoutError("no answer in time")
    return left
