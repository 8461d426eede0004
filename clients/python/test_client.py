"""What only the client for Python has; all else is in clients/cases.yaml. clients/conformance/run.py runs it."""
import asyncio
import contextlib
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import baton
import baton.testing


def setUpModule():
    global server, client
    server = baton.testing.Server()
    unittest.addModuleCleanup(server.stop)
    client = baton.Client(server.url, patience=1)


class Forks(unittest.TestCase):
    def in_child(self, act) -> str:
        """What the child says: the result, or its error."""
        read, write = os.pipe()
        if (pid := os.fork()) == 0:
            try:
                said = repr(act())
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(write, said.encode())
            os._exit(0)
        os.close(write)
        os.waitpid(pid, 0)
        with open(read) as pipe:
            return pipe.read()

    def test_child_neither_releases_nor_counts_on_the_lock_of_its_parent(self):
        def leave():
            with lock:
                pass

        lock = client.lock("fork", ttl=30)
        with lock:
            self.assertIn("None", self.in_child(lambda: lock.__exit__(None, None, None)))
            self.assertIn("None", self.in_child(lock.release))
            self.assertIn("LockLost: fork: process ", self.in_child(lock.check))
            self.assertIn("RuntimeError", self.in_child(leave))
            self.assertEqual(client.inspect("fork")["hold_count"], 1)
            lock.check()

    def test_child_of_an_event_loop_releases_nothing(self):
        async def main():
            async with baton.AsyncClient(server.url).lock("fork", ttl=30) as lock:
                end = lock.__aexit__(None, None, None)
                said = self.in_child(lambda: end.send(None))
                end.close()
                return said, client.inspect("fork")["hold_count"]
        self.assertEqual(asyncio.run(main()), ("StopIteration: ", 1))

    def test_lock_that_both_take_after_the_fork_is_not_one(self):
        lock = client.lock("fork", ttl=30)
        with client.lock("other"):  # whose connection waits for the next request
            with lock:
                self.assertIn("Locked", self.in_child(client.lock("fork").acquire))
        early = client.lock("fork", ttl=30)
        self.assertIn("Lock object", self.in_child(early.acquire))  # and it ends without a release
        with self.assertRaises(baton.Locked):
            early.acquire()
        client.break_lock("fork")

    def test_child_does_not_ask_on_the_connections_of_its_parent(self):
        def places():
            with client.lock("of-child"):
                return [len(idle) for idle in client._pool._idle.values()]
        with client.lock("fork"):
            before = [idle[0].getsockname() for idle in client._pool._idle.values()]
            self.in_child(places)
            self.assertEqual([idle[0].getsockname() for idle in client._pool._idle.values()], before)
            self.assertEqual(client.inspect("fork")["hold_count"], 1)


class Https(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cert, key = f"{cls.folder.name}/cert.pem", f"{cls.folder.name}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "1", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        cls.server = baton.testing.Server(f"--tls-cert={cert}", f"--tls-key={key}")
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url.replace("127.0.0.1", "localhost")
        cls.cert = cert

    def test_locks_share_a_context_and_their_renewals_a_connection(self):
        async def extend(tls):
            async with tls.lock("a", ttl=30) as lock:
                for _ in range(9):
                    await lock.extend()

        context = ssl.create_default_context(cafile=self.cert)
        with mock.patch.object(ssl, "create_default_context", return_value=context) as contexts, \
                mock.patch.object(ssl.SSLContext, "wrap_socket", autospec=True,
                                  side_effect=ssl.SSLContext.wrap_socket) as connections:
            with baton.Client(self.url).lock("a", ttl=30) as lock:
                for _ in range(9):
                    lock.extend()
            asyncio.run(extend(baton.AsyncClient(self.url)))
            self.assertEqual((contexts.call_count, connections.call_count), (2, 1))


class Secrets(unittest.TestCase):
    def test_no_text_shows_a_key_or_a_token(self):
        keyed = baton.Client(server.url, bearer="SECRET-KEY")
        with client.lock("secret", ttl=30) as lock:
            waits = client.lock("secret", wait=0.05)
            with self.assertRaises(baton.WaitTimeout) as caught:
                waits.acquire()
            texts = repr([keyed._config, lock._lease, waits._lease, caught.exception, str(caught.exception), lock])
            for secret in ("SECRET", lock.token, waits.token):
                self.assertNotIn(secret, texts)


class Waits(unittest.TestCase):
    def test_release_during_the_wait_cancels_it(self):
        with client.lock("wait", ttl=30):
            waits, refusals = client.lock("wait", wait=60), []

            def wait():
                try:
                    waits.acquire()
                except baton.BatonError as error:
                    refusals.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            while not client.inspect("wait")["queue_length"]:
                time.sleep(0.01)
            waits.release()
            thread.join()
            self.assertIsInstance(refusals[0], baton.Cancelled)
            self.assertEqual(client.inspect("wait")["queue_length"], 0)


    def test_cancel_leaves_a_lock_that_is_granted(self):
        with client.lock("granted", ttl=30) as lock:
            lock.cancel()
            lock.check()
        self.assertEqual(client.inspect("granted")["state"], "free")

    def test_connections_end_with_the_last_lock(self):
        with contextlib.ExitStack() as locks:
            for i in range(20):
                locks.enter_context(client.lock(f"many-{i}"))
            self.assertEqual(len(client._pool._idle), 1)
        self.assertEqual(client._pool._idle, {})


class Extensions(unittest.TestCase):
    OPTIONS = {"timeout": 1, "patience": 1}

    def setUp(self):
        self.server = baton.testing.Server()
        self.addCleanup(self.server.stop)
        self.addCleanup(self.server._process.send_signal, signal.SIGCONT)

    def freeze(self):
        self.server._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.server._process.pid, os.WSTOPPED)

    def test_shorter_ttl_counts_although_its_answer_is_lost(self):
        with self.server.client(**self.OPTIONS).lock("shorter", ttl=120) as lock:
            self.freeze()
            with self.assertRaises(baton.Unavailable):
                lock.extend("20s")
            self.assertLess(lock.left, 20)
            self.server._process.send_signal(signal.SIGCONT)
            for _ in range(2):  # of two requests that are on their way, either may come first
                lock.extend()
                self.assertLess(lock.left, 20)

    def test_shorter_ttl_counts_in_an_event_loop(self):
        async def extend():
            async with baton.AsyncClient(self.server.url, **self.OPTIONS).lock("shorter", ttl=120) as lock:
                self.freeze()
                with self.assertRaises(baton.Unavailable):
                    await lock.extend(20)
                self.assertLess(lock.left, 20)
                self.server._process.send_signal(signal.SIGCONT)
        asyncio.run(extend())

    def test_refused_ttl_changes_nothing(self):
        with self.server.client().lock("refused", ttl=60) as lock:
            for ttl in ("9999h", "1ms"):
                with self.assertRaises(baton.Invalid):
                    lock.extend(ttl)
                self.assertGreater(lock.left, 30)


class Wrappers(unittest.TestCase):
    def test_names_may_depend_on_the_arguments_and_what_is_refused_inside_is_not_skipped(self):
        @client.locked(lambda account: f"account:{account}", skip=True)
        def job(account):
            """Moves money."""
            self.assertEqual(baton.current().names, [f"account:{account}"])
            with client.lock(f"account:{account}"):
                pass

        self.assertEqual(job.__doc__, "Moves money.")
        with client.lock("account:7"):
            self.assertIsNone(job(7))
        with self.assertRaises(baton.Locked):
            job(8)
        self.assertIsNone(baton.current())


class Arguments(unittest.TestCase):
    def test_what_is_no_name_is_an_error_at_once(self):
        for names in (None, "", [], [""], [None], {}, b"bytes", 7):
            with self.assertRaises(TypeError):
                client.lock(names)

    def test_token_that_is_empty_is_no_reason_to_take_the_lock(self):
        with self.assertRaises(ValueError):
            client.held("empty", "")

    def test_on_lost_is_no_field_of_the_api(self):
        with self.assertRaisesRegex(TypeError, "the task of its block is cancelled"):
            baton.AsyncClient(server.url).lock("job", on_lost=print)

    def test_reentrant_needs_an_owner(self):
        with self.assertRaises(ValueError):
            client.lock("job", reentrant=True)


class Recipes(unittest.TestCase):
    """docs/recipes.md with the frameworks of Debian, if they are there."""

    def run_recipe(self, framework, heading, use, *changes):
        """What the lines print, with the changes, and with lines behind them that use them."""
        page = (pathlib.Path(__file__).parents[2] / "docs/recipes.md").read_text()
        code = page.partition(heading)[2].partition("```python\n")[2].partition("```")[0] + use
        for old, new in (("http://127.0.0.1:7420", server.url), *changes):
            self.assertIn(old, code)
            code = code.replace(old, new)
        ran = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False,
                             env=os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent)})
        if f"No module named '{framework}'" in ran.stderr:
            self.skipTest(f"There is no {framework}. deploy/install-packages.sh recipes installs it.")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_task_of_celery(self):
        said = self.run_recipe("celery", "A task of Celery", """
app.conf.task_always_eager = True
with client.lock("statement:7"):
    print(statement.delay(7).get(), statement.delay(8).get())
""", ("redis://127.0.0.1", "memory://"))
        self.assertRegex(said, "^None statement 8, written with fence [0-9]+\n$")

    def test_job_of_apscheduler(self):
        said = self.run_recipe("apscheduler", "A job of APScheduler", "", ('"cron", hour=3', '"date"'), ("scheduler.start()", """
scheduler.add_job(nightly)
scheduler.add_listener(lambda event: scheduler.get_jobs() or scheduler.shutdown(wait=False))
scheduler.start()"""))
        self.assertEqual(said.count("backing up with fence"), 1)

    def test_command_of_django(self):
        said = self.run_recipe("django", "A management command of Django", """
from django.conf import settings
from django.core.management import call_command
settings.configure()
call_command(Command())
call_command(Command())
""", ('"nightly"', '"nightly-of-django"'))
        self.assertEqual(said.count("backing up with fence"), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
