"""A batond and its Redis for the tests of the contract, and requests to it."""
import collections
import http.client
import json
import os
import pathlib
import signal
import socket
import sys
import tempfile

from document import unique

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/conformance"))
from stack import HANGS, Process, until  # noqa: E402

ONE = "contract-test-token-one"
HEADERS = {"@one": ("Lock-Token", ONE), "@other": ("Lock-Token", "contract-test-token-other"),
           "@text": ("Accept", "text/plain"), "@events": ("Accept", "text/event-stream"),
           "@page": ("Accept", "text/html,application/xml;q=0.9,*/*;q=0.8"),
           "@elsewhere": ("Host", "baton.example.com"), "@no-host": ("Host", "a b"),
           "@form": ("Content-Type", "application/x-www-form-urlencoded"), "@any-etag": ("If-None-Match", "*"),
           "@etag-1": ("If-None-Match", '"1"'), "@another-etag": ("If-None-Match", '"another"'),
           "@last-id": ("Last-Event-ID", "9007199254740991"), "@bad-id": ("Last-Event-ID", "a"),
           "@other-site": ("Origin", "https://example.com"), "@guest": ("Authorization", "Bearer guest-" + 37 * "k")}

Reply = collections.namedtuple("Reply", "status headers body type json")


class Client:
    """A connection that is opened when it is needed."""

    def __init__(self, batond):
        self.batond = batond
        self.connection = http.client.HTTPConnection("127.0.0.1", batond.port, timeout=HANGS)

    def ask(self, request, padding=0):
        """A request is METHOD TARGET [@HEADER]... [BODY], where ONE in the body is the token @one."""
        method, target, *rest = request.split(" ", 2)
        headers, rest = {}, rest[0] if rest else ""
        while rest.startswith("@"):
            word, _, rest = rest.partition(" ")
            headers.update([HEADERS[word]])
        return self.call(method, target, headers, rest.replace('"ONE"', f'"{ONE}"') + padding * " ")

    def call(self, method, target, headers=None, body=""):
        given = {"Host": f"127.0.0.1:{self.batond.port}", "Accept": "*/*"}
        given |= {"Content-Type": "application/json", "Content-Length": len(body.encode())} if body else {}
        given |= headers or {}
        self.connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            self.connection.putheader(name, value)
        try:
            self.connection.endheaders(body.encode() or None)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was refused by its head
        response = self.connection.getresponse()
        content = response.read()
        media_type = response.headers.get("Content-Type", "").partition(";")[0]
        is_json = media_type == "application/json" or media_type.endswith("+json")
        return Reply(response.status, response.headers, content, media_type,
                     json.loads(content, object_pairs_hook=unique) if is_json and content else None)

    def arrange(self, request):
        """What has to be so before a test goes on: done, or now waiting for its turn."""
        reply = self.ask(request)
        assert reply.status // 100 == 2 or (reply.json or {}).get("code") == "wait_timeout", (request, reply)

    def close(self):
        self.connection.close()


class Redis:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.socket = self.folder.name + "/redis.sock"
        self.process = Process(self.folder.name + "/redis.log", os.environ.get("BATON_TEST_REDIS_SERVER") or
                               "redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                               "--dir", self.folder.name)
        until(lambda: self.command("PING"), "Redis answers")

    def command(self, line):
        with socket.socket(socket.AF_UNIX) as link:
            if link.connect_ex(self.socket):
                return b""
            link.sendall(line.encode() + b"\r\n")
            return link.recv(100)

    def stop(self):
        self.process.end()
        self.folder.cleanup()


class Batond:
    def __init__(self, redis_url, *options):
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.log = pathlib.Path(self.folder.name, "log")
        clean = {key: value for key, value in os.environ.items() if not key.startswith("BATON_")}
        self.process = Process(
            self.log, os.environ.get("BATON_TEST_BATOND") or "build/batond", "--listen", "127.0.0.1:0", "--redis-url",
            redis_url, "--state-dir", self.folder.name + "/state", *options,
            env=clean | {"BATON_DRAIN": "0", "BATON_QUARANTINE": "off"})
        line = until(lambda: next((line for line in self.log.read_text().splitlines() if '"listening"' in line), None),
                     self.log.read_text)
        self.port = int(json.loads(line)["url"].rpartition(":")[2])
        self.pid = self.process.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send(signal.SIGTERM)
        assert self.process.process.wait(HANGS) == 0, self.log.read_text()
        log = self.log.read_text()
        assert not any(word in log for word in ("Sanitizer", "runtime error:", "the sandbox has blocked")), log
        self.folder.cleanup()
