"""Answers that arrive in pieces, and the connections that wait for the next request."""
import http.client
import io
import math
import os
from collections.abc import Callable, Hashable
from typing import Any

LONGEST = 16 << 20  # bytes of an answer
MOST_IDLE = 8  # connections to one place


class Pieces(io.BytesIO):
    """What has arrived, as http.client reads it from a socket."""

    def makefile(self, mode: str) -> "Pieces":
        return self

    def close(self):
        """It has to say yet how much was read."""


class Answer:
    """Has a status and a body when all of it is here."""

    def __init__(self):
        self.status, self.body = 0, b""
        self.is_last = True  # of its connection
        self._data, self._least = bytearray(), 0.0  # so many bytes it has

    def feed(self, data: bytes) -> bool:
        """True when all of it is here. No data is the end of the connection."""
        self._data += data
        if len(self._data) > LONGEST:
            raise ValueError("the answer is too long")
        is_over = not data
        if self._read(is_over):
            return True
        if is_over:
            raise EOFError("the connection ended before the answer did")
        return False

    def _read(self, is_over: bool) -> bool:
        if len(self._data) < self._least and not is_over or b"\r\n\r\n" not in self._data:
            return False
        pieces = Pieces(self._data)
        response = http.client.HTTPResponse(pieces)
        response.begin()
        if response.chunked:
            is_here = self._data.endswith(b"\r\n\r\n")
        else:
            self._least = math.inf if response.length is None else pieces.tell() + response.length
            is_here = len(self._data) >= self._least or (is_over and response.length is None)
        if not is_here:
            return False
        try:
            self.body = response.read()
        except http.client.IncompleteRead:
            return False
        self.status = response.status
        self.is_last = response.will_close or response.chunked or pieces.tell() < len(self._data)
        return True


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
            self._idle.pop(place, None)

    def take(self, place: Hashable) -> Any:
        """A connection to the place, or None. It may have ended."""
        self._own()
        try:
            return self._idle.get(place, []).pop()
        except IndexError:
            return None

    def put(self, place: Hashable, connection: Any, is_last: bool):
        idle = self._idle.setdefault(place, [])
        if self._locks and not is_last and len(idle) < MOST_IDLE:
            idle.append(connection)
        else:
            self._close(connection)

    def _own(self):
        """The answers on the connections of a parent are for the parent."""
        if self._process != os.getpid():
            self.__init__(self._close)
