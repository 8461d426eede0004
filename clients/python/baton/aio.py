"""The client for asyncio: a task for each lock renews it, and cancels the block if the lock is lost."""
import asyncio
import contextlib
import functools
import http.client
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from . import core
from .errors import Locked, LockLost, NotHeld
from .wire import Answer, Pool


class AsyncLock(core.Hold):
    """A lock, from `AsyncClient.lock`. Use it with `async with`.

    If the lock is lost, the task that entered the block is cancelled, and the block raises LockLost.
    """

    def __init__(self, client: "AsyncClient", lease: core.Lease, wait: float):
        super().__init__(lease)
        self._client, self._wait = client, wait
        self._has_cancelled, self._renewing = False, asyncio.Lock()  # one renewal at a time

    async def __aenter__(self) -> "AsyncLock":
        self._lease.begin()
        self._client._pool.begin(self)
        try:
            await self._client._run(core.enter(self._client._config, self._lease, self._wait))
        except BaseException:
            await self._end()  # leaves the queue; a grant whose answer was lost ends, too
            raise
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling()
        self._start()
        return self

    async def __aexit__(self, kind, error, trace):
        if self._lease.is_elsewhere:
            return
        self._loss = None if self.left else self._lost()
        self._is_released = True
        self._keeper.cancel()
        # As asyncio.timeout does it: only if nobody else has cancelled the task as well.
        is_ours = self._has_cancelled and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError
        self._judge(await self._end())
        if self._loss and (is_ours or kind is None):
            raise self._loss from error

    async def extend(self, ttl: core.Duration | None = None):
        """Renews the lock now. With a `ttl` it has that one from now on; nothing is added to the time left."""
        async with self._renewing:
            self.check()
            try:
                await self._client._run(core.extend(self._client._config, self._lease, ttl))
            except NotHeld:
                raise self._lost() from None
            finally:
                self._keeper.cancel()  # another goes on, by the new time

    async def _end(self) -> core.Reply:
        """In a task of its own, since this one may be cancelled; and in another, if all tasks are."""
        end, cancelled, release, is_repeated = core.now() + self._client._config.patience, None, None, False
        while not release or (release.cancelled() and core.now() < end):
            is_repeated = release is not None
            release = asyncio.create_task(self._client._run(core.release(self._client._config, self._lease)))
            while not release.done():
                try:
                    await asyncio.wait([release])
                except asyncio.CancelledError as error:
                    cancelled = error
        self._client._pool.end(self)
        if cancelled:
            raise cancelled
        reply = release.result()
        reply.is_repeated |= is_repeated
        return reply

    def _start(self):
        self._keeper = asyncio.create_task(self._keep(), name="baton-renew")
        self._keeper.add_done_callback(self._restart)

    def _restart(self, keeper: asyncio.Task):
        """Who cancels all tasks, as asyncio.run does at its end, means the block, which may have to clean up."""
        if keeper.cancelled() and not self._is_released and not self._task.done():
            self._start()

    async def _keep(self):
        try:
            while self._lease.left > 0:
                await asyncio.sleep(self._lease.pause)
                async with self._renewing:
                    await self._client._run(core.renew(self._client._config, self._lease))
        except Exception as error:  # pylint: disable=broad-except
            # Whatever ends the renewals, the block must learn of it.
            self._lease.lose(repr(error))
        self._has_cancelled = True
        self._task.cancel()


class AsyncClient:
    """Talks to one batond, or to several that share a Redis."""

    def __init__(self, urls: str | Sequence[str] = "http://127.0.0.1:7420", **options):
        self._config, self._pool = core.Config(urls, **options), Pool(lambda streams: streams[1].close())

    def lock(self, names: str | Sequence[str], *, wait: core.Duration = 0, **fields) -> AsyncLock:
        """A lock of one name, or of several at once. `wait` is for all requests together, in seconds or as
        "5m"; `math.inf` waits for ever. All other fields are those of the API: ttl, owner, mode, limit, meta ..."""
        if "on_lost" in fields:
            raise TypeError("A lock of AsyncClient has no on_lost. If it is lost, the task of its block is cancelled.")
        return AsyncLock(self, core.Lease(names, fields), core.seconds(wait))

    def held(self, names: str | Sequence[str], token: str) -> AsyncLock:
        """A lock that another has taken, who has passed its token on. It is renewed and released like any other."""
        return AsyncLock(self, core.Lease(names, {}, token), 0)

    def locked(self, names: core.Names, *, skip: bool = False, **options):
        """Decorates a coroutine function that runs while it holds the lock of `lock(names, **options)`. With `skip` it
        does not run if another has the lock, and returns None. `names` may be a function of its arguments."""
        def decorate(function):
            @functools.wraps(function)
            async def run(*args, **kwargs):
                async with contextlib.AsyncExitStack() as block:
                    try:
                        lock = await block.enter_async_context(
                            self.lock(core.names_for(names, args, kwargs), **options))
                    except Locked:
                        if not skip:
                            raise
                        return None
                    block.callback(core.CURRENT.reset, core.CURRENT.set(lock))
                    return await function(*args, **kwargs)
            return run
        return decorate

    async def lead(self, name: str, work: Callable[[AsyncLock], Awaitable[core.Result]], **options) -> core.Result:
        """Waits until this process leads, and awaits work(lock). If the lock is lost, it cancels that, waits and calls
        it again. It returns what `work` has returned while this process led."""
        while True:
            with contextlib.suppress(LockLost):
                async with self.lock(name, wait=math.inf, **options) as lock:
                    return await work(lock)

    async def inspect(self, name: str) -> dict:
        return (await self._run(core.inspect(self._config, name))).document

    async def list(self, prefix: str = "", **filters) -> AsyncIterator[dict]:
        """Yields what is held under a prefix; with `owner` or `held_for`, what has a hold that fits."""
        cursor = ""
        while cursor is not None:
            page = (await self._run(core.page(self._config, prefix, cursor, filters))).document
            for lock in page["locks"]:
                yield lock
            cursor = page["cursor"]

    async def break_lock(self, name: str, *, fence: int | None = None, reason: str | None = None) -> dict:
        """Ends all holds of the name, whoever has them, or that of the fence, and says which. After an Unavailable,
        look before you repeat it."""
        return (await self._run(core.break_lock(self._config, name, fence, reason))).document

    async def events(self, name: str | None = None, *, prefix: str = "",
                     after: int | None = None) -> AsyncIterator[dict]:
        """Yields the lock as it is, and whenever it changes; without a name, what changes under a prefix."""
        changes = core.Changes(self._config, name, prefix, after)
        while True:
            yield await self._run(changes.next())

    async def _run(self, steps):
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, core.Send):
                answer = await self._send(step)
            else:
                await asyncio.sleep(step.seconds)

    async def _send(self, step: core.Send) -> core.Reply:
        try:
            async with asyncio.timeout(step.timeout):
                return await self._exchange(step)
        except (OSError, EOFError, ValueError, http.client.HTTPException) as error:
            return core.Reply.of_trouble(step.base, error)

    async def _exchange(self, step: core.Send) -> core.Reply:
        base, answer, place = step.base, Answer(), (step.base, asyncio.get_running_loop())
        is_https = base.scheme == "https"
        while (streams := self._pool.take(place)) and (streams[0].at_eof() or streams[1].is_closing()):
            streams[1].close()
        streams = streams or await asyncio.open_connection(
            base.hostname, base.port or (443 if is_https else 80), ssl=self._config.ssl_context if is_https else None)
        try:
            streams[1].write(step.message)
            while not answer.feed(await streams[0].read(65536)):
                pass
        except BaseException:
            streams[1].close()
            raise
        self._pool.put(place, streams, answer.is_last)
        return core.Reply.of(answer)
