"""The client for asyncio: a task for each lock renews it, and cancels the block if the lock is lost."""
import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

from . import core
from .errors import LockLost


class AsyncLock:
    """A lock, from `AsyncClient.lock`. Use it with `async with`.

    If the lock is lost, the task that entered the block is cancelled, and the block raises LockLost.
    """

    def __init__(self, client: "AsyncClient", lease: core.Lease, wait: float):
        self._client, self._lease, self._wait = client, lease, wait
        self._keeper: asyncio.Task | None = None
        self._is_lost = False

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
        return max(0.0, self._lease.left) if self._keeper and not self._is_lost else 0.0

    def check(self):
        """Raises LockLost if the lock may be another's. A program that was stopped learns of it here
        before the event loop gets to cancel it."""
        if not self.left:
            raise self._lost()

    async def __aenter__(self) -> "AsyncLock":
        try:
            await self._client._run(core.acquire(self._client._config, self._lease, self._wait))
        except BaseException:
            await self._end()  # leaves the queue; a grant whose answer was lost ends, too
            raise
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling()
        self._keeper = asyncio.create_task(self._keep(), name="baton-renew")
        return self

    async def __aexit__(self, kind, error, trace):
        is_lost = not self.left
        self._keeper.cancel()
        # As asyncio.timeout does it: only if nobody else has cancelled the task as well.
        is_ours = self._is_lost and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError
        await self._end()
        if is_ours or (is_lost and kind is None):
            raise self._lost() from error

    def _lost(self) -> LockLost:
        return LockLost(f"{', '.join(self.names)}: {self._lease.why}")

    async def _end(self):
        """In a task of its own, since this one may be cancelled."""
        await asyncio.shield(asyncio.create_task(self._client._run(core.release(self._client._config, self._lease))))

    async def _keep(self):
        await self._client._run(core.keep(self._client._config, self._lease))
        self._is_lost = True
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
        names = [names] if isinstance(names, str) else list(names)
        return AsyncLock(self, core.Lease(names, fields), core.seconds(wait))

    async def inspect(self, name: str) -> dict:
        return (await self._run(core.request(self._config, "GET", "/locks/" + core.quote(name, safe="")))).document

    async def break_lock(self, name: str) -> dict:
        """Ends all holds of the name, whoever has them."""
        path = "/locks/" + core.quote(name, safe="")
        return (await self._run(core.request(self._config, "DELETE", path, force="true"))).document

    async def events(self, name: str | None = None, *, prefix: str = "",
                     after: int | None = None) -> AsyncIterator[dict]:
        """Yields the lock as it is, and whenever it changes; without a name, what changes under a prefix."""
        while True:
            document = (await self._run(core.next_change(self._config, name, prefix, after))).document
            after = document["version"]
            if document["changed"]:
                yield document

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
        except (OSError, EOFError, ValueError, TimeoutError) as error:
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
