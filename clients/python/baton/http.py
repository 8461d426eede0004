"""HTTP/1.1 as batond speaks it, without any input or output, and the connections that wait for a request."""
import os
import re
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

LONGEST = 16 << 20  # bytes of an answer
URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(/[!-\"$->@-~]*)?")


class Base(NamedTuple):
    """What stands before each path."""
    url: str
    is_https: bool
    host: str
    port: int
    path: str

    @staticmethod
    def of(url: str) -> "Base | None":
        if not (match := URL.fullmatch(url)):
            return None
        port = int(match[3] or (443 if match[1] == "https" else 80))
        return Base(url, match[1] == "https", match[2].strip("[]"), port, match[4] or "") if 0 < port < 65536 else None

    def message(self, method: str, path: str, fields: dict[str, str], body: bytes) -> bytes:
        place = self.url.split("/")[2]
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{method} {self.path}{path} HTTP/1.1\r\nHost: {place}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


class Answer:
    """An answer that arrives in pieces."""

    def __init__(self):
        self.status, self.body = 0, bytearray()
        self.is_last = False  # of its connection
        self._data, self._size, self._steps = bytearray(), 0, self._read()
        next(self._steps)

    def feed(self, data: bytes) -> bool:
        """True when all of it is here. No data is the end of the connection."""
        self._data += data
        self._size += len(data)
        if self._size > LONGEST:
            raise ValueError("the answer is too long")
        try:
            self._steps.send(data)
        except StopIteration:
            self.is_last |= bool(self._data)  # more than one answer
            return True
        return False

    def _more(self):
        if not (yield):
            raise EOFError("the connection ended before the answer did")

    def _until(self, mark: bytes):
        while (at := self._data.find(mark)) < 0:
            yield from self._more()
        return self._cut(at, len(mark))

    def _exactly(self, size: int):
        while len(self._data) < size:
            yield from self._more()
        return self._cut(size)

    def _cut(self, size: int, mark: int = 0) -> bytes:
        found = bytes(self._data[:size])
        del self._data[:size + mark]
        return found

    def _read(self):
        while self.status < 200:
            line, *lines = (yield from self._until(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            self.status = int(line.split(" ")[1])
        fields = {name.lower(): value.strip().lower() for name, _, value in (line.partition(":") for line in lines)}
        self.is_last = "close" in fields.get("connection", "") or not line.startswith("HTTP/1.1")
        if "chunked" in fields.get("transfer-encoding", ""):
            while size := int((yield from self._until(b"\r\n")).partition(b";")[0], 16):
                self.body += yield from self._exactly(size)
                yield from self._until(b"\r\n")
            while (yield from self._until(b"\r\n")):
                pass  # a field behind the last chunk
        elif "content-length" in fields:
            self.body += yield from self._exactly(int(fields["content-length"]))
        elif self.status not in (204, 304):
            self.is_last = True
            while (yield):
                pass
            self.body += self._cut(len(self._data))


class Pool:
    """Connections stay open while the client has a lock that will need them. Threads may share a pool."""

    def __init__(self, close: Callable[[Any], object]):
        self._close = close
        self._process, self._locks, self._idle = os.getpid(), set(), {}

    def begin(self, lock: Hashable):
        self._own()
        self._locks.add(lock)

    def end(self, lock: Hashable):
        self._locks.discard(lock)
        for place in [] if self._locks else list(self._idle):
            while connection := self.take(place):
                self._close(connection)

    def take(self, place: Hashable) -> Any:
        """A connection to the place, or None. It may have ended."""
        self._own()
        try:
            return self._idle.get(place, []).pop()
        except IndexError:
            return None

    def put(self, place: Hashable, connection: Any, is_last: bool):
        if self._locks and not is_last:
            self._idle.setdefault(place, []).append(connection)
        else:
            self._close(connection)

    def _own(self):
        """The answers on the connections of a parent are for the parent."""
        if self._process != os.getpid():
            self.__init__(self._close)
