"""A client of an HTTP server and one of Redis on bare sockets, so that little of what is measured
is the client's own, and what Linux tells of a process."""

import os
import socket
import time

CLIENT_ADDRESSES = 16  # of the loopback network: one has not enough ports for many runs in a row


class Http:
    """One kept connection, one request at a time. `opened` makes the choice of its own address."""

    opened = 0

    def __init__(self, port):
        Http.opened += 1
        self.socket = socket.socket()
        self.socket.bind((f"127.0.0.{1 + Http.opened % CLIENT_ADDRESSES}", 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect(("127.0.0.1", port))
        self.received = b""

    def send(self, method, target, headers="", body=""):
        self.socket.sendall(f"{method} {target} HTTP/1.1\r\nHost: bench\r\n{headers}"
                            f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def take(self):
        """Waits for the whole reply: (status, body)."""
        while True:
            head, found, rest = self.received.partition(b"\r\n\r\n")
            body = self._body(head, rest) if found else None
            if body is not None:
                self.received = b""
                return int(head[9:12]), body
            some = self.socket.recv(65536)
            if not some:
                raise ConnectionError(f"closed after {self.received!r}")
            self.received += some

    @staticmethod
    def _body(head, rest):
        """The body, or None while it is not complete."""
        lower = head.lower()
        if b"\r\ntransfer-encoding: chunked" in lower:
            body = b""
            while b"\r\n" in rest:
                size, _, rest = rest.partition(b"\r\n")
                if int(size, 16) == 0:
                    return body
                body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
            return None
        length = int(lower.partition(b"\r\ncontent-length:")[2].split(b"\r\n")[0] or 0)
        return rest if len(rest) >= length else None

    def call(self, method, target, headers="", body=""):
        self.send(method, target, headers, body)
        return self.take()

    def expect(self, wanted, method, target, headers="", body=""):
        status, reply = self.call(method, target, headers, body)
        if status != wanted:
            raise AssertionError(f"{method} {target}: {status} {reply!r}")
        return reply

    def close(self):
        self.socket.close()


class Redis:
    """One connection; requests may be sent ahead of their replies."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb", 1 << 20)

    @staticmethod
    def packed(*words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        return b"".join(parts)

    def take(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise AssertionError(rest.decode())
        if kind == b"*":
            return [self.take() for _ in range(int(rest))]
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if rest != b"-1" else None
        return int(rest) if kind == b":" else rest

    def call(self, *words):
        self.socket.sendall(self.packed(*words))
        return self.take()

    def info(self, section):
        """{field: text} of INFO."""
        lines = self.call("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(attempt):
    """Tries until it works, ten seconds at most."""
    give_up = time.monotonic() + 10
    while True:
        try:
            return attempt()
        except (OSError, AssertionError):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)


def processor_seconds(pid):
    """User and system time of all threads of a process, ended ones included."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def allow_many_connections():
    import resource  # pylint: disable=import-outside-toplevel
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
