"""The client for asyncio: a task for each lock renews it, and cancels the block if the lock is lost."""
import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

from . import core


class AsyncLock(core.Hold):
    """A lock, from `AsyncClient.lock`. Use it with `async with`.

    If the lock is lost, the task that entered the block is cancelled, and the block raises LockLost.
    """

    def __init__(self, client: "AsyncClient", lease: core.Lease, wait: float):
        super().__init__(lease)
        self._client, self._wait = client, wait
        self._has_cancelled = False

    async def __aenter__(self) -> "AsyncLock":
        self._begin()
        try:
            await self._client._run(core.acquire(self._client._config, self._lease, self._wait))
        except BaseException:
            await self._end()  # leaves the queue; a grant whose answer was lost ends, too
            raise
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling()
        self._start()
        return self

    async def __aexit__(self, kind, error, trace):
        self._loss = None if self.left else self._lost()
        self._is_released = True
        self._keeper.cancel()
        # As asyncio.timeout does it: only if nobody else has cancelled the task as well.
        is_ours = self._has_cancelled and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError
        self._judge(await self._end())
        if self._loss and (is_ours or kind is None):
            raise self._loss from error

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
            await self._client._run(core.keep(self._client._config, self._lease))
        except Exception as error:  # pylint: disable=broad-except
            # Whatever ends the renewals, the block must learn of it.
            self._lease.lose(repr(error))
        self._has_cancelled = True
        self._task.cancel()


class AsyncClient:
    """Talks to one batond, or to several that share a Redis."""

    def __init__(self, urls: str | Sequence[str] = "http://127.0.0.1:7420", *, bearer: str | None = None,
                 ssl_context: ssl.SSLContext | None = None, **options):
        self._config = core.Config(urls, bearer, **options)
        self._ssl = ssl_context

    def lock(self, names: str | Sequence[str], *, wait: core.Duration = 0, **fields) -> AsyncLock:
        """A lock of one name, or of several at once. `wait` is for all requests together, in seconds or as
        "5m"; `math.inf` waits for ever. All other fields are those of the API: ttl, owner, mode, limit, meta ..."""
        return AsyncLock(self, core.Lease(names, fields), core.seconds(wait))

    async def inspect(self, name: str) -> dict:
        return (await self._run(core.inspect(self._config, name))).document

    async def break_lock(self, name: str) -> dict:
        """Ends all holds of the name, whoever has them. After an Unavailable, look before you repeat it."""
        return (await self._run(core.break_lock(self._config, name))).document

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
        except (OSError, EOFError, ValueError, IndexError, asyncio.LimitOverrunError) as error:
            return core.Reply(0, {"detail": f"{step.url}: {error or type(error).__name__}"})

    async def _exchange(self, step: core.Send) -> core.Reply:
        url = urlsplit(step.url)
        is_https = url.scheme == "https"
        context = (self._ssl or ssl.create_default_context()) if is_https else None
        reader, writer = await asyncio.open_connection(url.hostname, url.port or (443 if is_https else 80), ssl=context)
        try:
            fields = {"Host": url.netloc, "Connection": "close", "Content-Length": str(len(step.body or b""))}
            head = "".join(f"{name}: {value}\r\n" for name, value in (fields | step.headers).items())
            writer.write(f"{step.method} {url.path}{step.path} HTTP/1.1\r\n{head}\r\n".encode() + (step.body or b""))
            head, _, _ = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n\r\n")
            status, *lines = head.decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            return core.Reply.of_body(int(status.split(" ")[1]), await self._body(reader, fields))
        finally:
            writer.close()

    @staticmethod
    async def _body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
        if "chunked" not in fields.get("transfer-encoding", ""):
            length = fields.get("content-length")
            return await reader.read() if length is None else await reader.readexactly(int(length))
        body = b""
        while size := int((await reader.readline()).partition(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        return body
