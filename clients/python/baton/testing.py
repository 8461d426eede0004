"""A batond for tests, which ends with them."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

from .blocking import Client


class Server:
    """A batond with a Redis of its own that knows no lock. It needs the package baton.

    >>> with baton.testing.Server() as server, baton.Client(server.url).lock("job"):
    ...     pass
    """

    def __init__(self, *settings: str):
        self._folder = tempfile.TemporaryDirectory(prefix="baton-")
        log = pathlib.Path(self._folder.name, "batond.log")
        command = [os.environ.get("BATON_BATOND", "batond"), "--listen=127.0.0.1:0", "--workers=1", "--log-format=json",
                   f"--state-dir={self._folder.name}", *settings]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=output, env=clean)
        except FileNotFoundError as error:
            raise RuntimeError("There is no batond. Install the package baton, "
                               "or name the program in BATON_BATOND.") from error
        while '"url"' not in (said := log.read_text()) or not said.endswith("\n"):
            if self._process.poll() is not None:
                raise RuntimeError(f"batond ended with {self._process.returncode}: {log.read_text()}")
            time.sleep(0.01)
        self.url: str = next(line["url"] for line in map(json.loads, said.splitlines()) if "url" in line)

    def client(self, **options) -> Client:
        return Client(self.url, **options)

    def stop(self):
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind, error, trace):
        self.stop()
