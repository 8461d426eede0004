"""What lies between the clients and haproxy: passes everything on, or loses it as a case wants."""
import json
import re
import select
import socket
import threading
import time


class Network:
    """It runs on threads of its own, one for each connection."""

    def __init__(self, target):
        self.target = target
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.reset()
        threading.Thread(target=self.accept, daemon=True).start()

    def reset(self):
        with self.changed:
            self.mode, self.loses, self.cut_after, self.delay = "open", None, None, 0
            self.answers = {}  # what a request gets in place of an answer of batond, by its method: status, document, how often
            self.counts = {}  # "passed PUT", "answered 503", "asked elsewhere", "lost", "cuts", "refused", "answers": how often
            self.changed.notify_all()

    def set_mode(self, mode):
        with self.changed:
            self.mode, self.answers = mode, {}
            self.changed.notify_all()

    def count(self, what):
        with self.changed:
            self.counts[what] = self.counts.get(what, 0) + 1
            self.changed.notify_all()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.mode == "closed":
                self.count("refused")
                client.close()
                continue
            threading.Thread(target=self.carry_until_reset, args=(client,), daemon=True).start()

    def carry_until_reset(self, client):
        try:
            self.carry(client)
        except OSError:
            pass  # one side has gone; so does the other

    def carry(self, client):
        """Both ways, until an end or a fault."""
        end = time.monotonic() + (self.cut_after or 1e6)
        with client, socket.create_connection(self.target) as server:
            method = ""
            while self.mode == "open":
                if time.monotonic() > end:
                    self.count("cuts")
                    return
                readable, _, _ = select.select([client, server], [], [], 0.05)
                if self.mode != "open":
                    break
                for source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client:
                        method = self.look_at_request(data) or method
                        if answer := self.take_answer(method):
                            return self.answer(client, *answer)
                        server.sendall(data)
                        continue
                    if self.takes_away(method):
                        return
                    self.look_at_reply(data)
                    time.sleep(self.delay)
                    client.sendall(data)
            # What is silent stays so for this connection, even when the network is back.
            with self.changed:
                self.changed.wait_for(lambda: self.mode != "silent")

    def look_at_request(self, data):
        match = re.match(rb"(POST|PUT|DELETE|GET) (\S+)", data)
        if match and match[2] == b"/elsewhere":
            self.count("asked elsewhere")
        return match and match[1].decode()

    def take_answer(self, method):
        with self.changed:
            status, document, left = self.answers.get(method, (0, None, 0))
            if not left:
                return None
            self.answers[method] = status, document, left - 1
            return status, document

    def answer(self, client, status, document):
        """Every answer has a Location, which only a redirect gives a meaning."""
        if status in ("drip", "flood"):
            return self.answer_without_end(client, status)
        body = json.dumps(document).encode()
        client.sendall(f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\nLocation: /elsewhere\r\n"
                       "Content-Type: application/json\r\nConnection: close\r\n\r\n".encode() + body)
        self.count("answers")
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass  # the rest of the request: a reset could overtake the answer

    def answer_without_end(self, client, how):
        """Until the client has gone: a byte at a time, or as fast as it reads."""
        self.count("answers")
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        client.sendall(b"X-Slow: " if how == "drip" else b"\r\n[")
        while True:
            client.sendall(b"1" if how == "drip" else b"1," * 500_000)
            time.sleep(0.2 if how == "drip" else 0)

    def takes_away(self, method):
        with self.changed:
            if not method or method != self.loses:
                # A reply to this method has come through.
                key = f"passed {method}"
                self.counts[key] = self.counts.get(key, 0) + 1
                self.changed.notify_all()
                return False
            self.loses = None
        self.count("lost")
        return True

    def look_at_reply(self, data):
        if match := re.match(rb"HTTP/1\.1 (\d+)", data):
            self.count(f"answered {match[1].decode()}")
