"""Does what clients/conformance/run.py says on standard input, and reports what it saw, as lines of JSON."""
import asyncio
import json
import sys
import threading
import time

import baton

ACT = 0.01  # seconds between two steps of the work in a block


def report(saw, **fields):
    print(json.dumps({"saw": saw, "at": time.time() * 1000} | fields), flush=True)


def report_grant(lock):
    report("granted", token=lock.token, fence=lock.fence, fences=lock.fences, mode=lock.mode)


def report_refusal(error):
    holders = getattr(error, "holders", None)
    report("refused", error=type(error).__name__, code=getattr(error, "code", ""),
           holder=holders[0]["owner"] if holders else None)


def report_loss(lost, last_act, over):
    code = next((code for code in ("not_held", "max_held") if code in str(lost)), "")
    report("ended", why="lost", last_act=last_act, at=over, code=code)


def open_client(kind, command):
    options = {name: command[f"{name}_ms"] / 1000 for name in ("timeout", "portion", "patience")}
    try:
        return kind(command["urls"], bearer=command["bearer"], **options)
    except ValueError as error:
        return report("refused", detail=str(error))


class ThreadThatDoesNotStart(threading.Thread):
    """As where the system has no more threads. Those of this program and the first of a lock do start."""

    def start(self):
        if self.name == "baton-watch":
            raise RuntimeError("can't start new thread")
        super().start()


class Blocking:
    """The blocking client: a thread reads what comes next, since a block may be under way."""

    def run(self):
        for line in sys.stdin:
            command = json.loads(line)
            match command["do"]:
                case "open":
                    self.client = open_client(baton.Client, command)
                case "hold":
                    self.over = threading.Event()
                    threading.Thread(target=self.hold, args=(command,), daemon=True).start()
                case "release":
                    self.over.set()
                case "disturb":
                    threading.Thread = ThreadThatDoesNotStart
                case "watch":
                    threading.Thread(target=self.watch, args=(command,), daemon=True).start()
                case "break":
                    try:
                        self.client.break_lock(command["name"])
                        report("broken")
                    except baton.BatonError as error:
                        report_refusal(error)

    def hold(self, command):
        last_act = over = 0.0
        on_lost = None if command["checks"] else self.over.set
        try:
            with self.client.lock(command["names"], wait=command["wait_ms"] / 1000, on_lost=on_lost,
                                  **command["fields"]) as lock:
                report_grant(lock)
                try:
                    while not self.over.wait(ACT):
                        if command["checks"]:
                            lock.check()
                        last_act = time.time() * 1000
                finally:
                    over = time.time() * 1000
            report("ended", why="still held" if lock.left else "released", last_act=last_act)
        except baton.LockLost as lost:
            report_loss(lost, last_act, over)
        except (baton.BatonError, RuntimeError) as error:
            report_refusal(error)

    def watch(self, command):
        for change, _ in zip(self.client.events(command["name"]), range(command["count"])):
            report("change", state=change["state"], version=change["version"])


class Asyncio:
    """The client of asyncio: a block is a task."""

    async def run(self):
        loop, tasks = asyncio.get_running_loop(), set()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = json.loads(line)
            match command["do"]:
                case "open":
                    self.client = open_client(baton.AsyncClient, command)
                case "hold":
                    self.over = asyncio.Event()
                    self.task = asyncio.create_task(self.hold(command), name="block")
                    tasks.add(self.task)
                case "release":
                    self.over.set()
                case "cancel":
                    self.task.cancel()
                    await asyncio.sleep(0)  # the client has begun to leave the queue
                    self.cancel_tasks_of_client()
                case "disturb":
                    self.cancel_tasks_of_client()
                case "watch":
                    tasks.add(asyncio.create_task(self.watch(command)))
                case "break":
                    try:
                        await self.client.break_lock(command["name"])
                        report("broken")
                    except baton.BatonError as error:
                        report_refusal(error)

    @staticmethod
    def cancel_tasks_of_client():
        """As asyncio.run does it at its end, to all tasks."""
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if task.get_name() != "block":
                task.cancel()

    async def hold(self, command):
        last_act = over = 0.0
        try:
            async with self.client.lock(command["names"], wait=command["wait_ms"] / 1000, **command["fields"]) as lock:
                report_grant(lock)
                try:
                    while not self.over.is_set():
                        if command["checks"]:
                            lock.check()
                        last_act = time.time() * 1000
                        await asyncio.sleep(ACT)
                finally:
                    over = time.time() * 1000
            report("ended", why="still held" if lock.left else "released", last_act=last_act)
        except asyncio.CancelledError:
            report("cancelled")
        except baton.LockLost as lost:
            report_loss(lost, last_act, over)
        except baton.BatonError as error:
            report_refusal(error)

    async def watch(self, command):
        count = 0
        async for change in self.client.events(command["name"]):
            report("change", state=change["state"], version=change["version"])
            if (count := count + 1) == command["count"]:
                return


if sys.argv[1] == "asyncio":
    asyncio.run(Asyncio().run())
else:
    Blocking().run()
