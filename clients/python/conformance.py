"""Does what clients/conformance/run.py says on standard input, and reports what it saw, as lines of JSON."""
import asyncio
import json
import sys
import threading
import time

import baton

ACT = 0.01  # seconds between two steps of the work in a block


def report(saw, **fields):
    sys.stdout.write(json.dumps({"saw": saw, "at": time.time() * 1000} | fields) + "\n")  # at once, whatever the thread
    sys.stdout.flush()


def report_grant(lock):
    report("granted", token=lock.token, fence=lock.fence, fences=lock.fences, mode=lock.mode)


def report_refusal(error):
    holders = getattr(error, "holders", None)
    report("refused", error=type(error).__name__, code=getattr(error, "code", ""), detail=str(error),
           holder=holders[0]["owner"] if holders else None)


def report_break(document):
    report("broken", broken=document["broken"], owner=document["holders"][0]["owner"] if document["holders"] else None)


def report_loss(lost, last_act, over):
    report("ended", why="lost", last_act=last_act, at=over, code=lost.code, ended=lost.ended, detail=str(lost))


def options_of(command):
    return {"wait": command["wait_ms"] / 1000} | command["fields"]


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
                case "cancel":
                    self.lock.cancel()
                case "extend":
                    self.attempt(lambda ttl=command["ttl_ms"]: self.lock.extend(f"{ttl}ms") or report("extended"))
                case "disturb":
                    threading.Thread = ThreadThatDoesNotStart
                case "watch":
                    threading.Thread(target=self.watch, args=(command,), daemon=True).start()
                case "break":
                    self.attempt(lambda name=command["name"], which=command["which"]:
                                 report_break(self.client.break_lock(name, **which)))
                case "list":
                    self.attempt(lambda prefix=command["prefix"]: report(
                        "list", names=[lock["name"] for lock in self.client.list(prefix)]))

    @staticmethod
    def attempt(call):
        try:
            call()
        except baton.BatonError as error:
            report_refusal(error)

    def hold(self, command):
        """In one of the ways that the client has."""
        self.last_act = self.end = 0.0
        options = options_of(command) | ({} if command["checks"] else {"on_lost": self.over.set})
        try:
            if command.get("lead"):
                del options["wait"]
                self.client.lead(command["names"][0], lambda lock: self.term(lock, command), **options)
            elif command.get("skip"):
                run = self.client.locked(command["names"], skip=True, **options)(
                    lambda: self.act(baton.current(), command) or True)
                report("ended", why="released", last_act=self.last_act) if run() else report("skipped")
            else:
                self.lock = self.client.held(command["names"], command["token"]) if "token" in command else \
                    self.client.lock(command["names"], **options)
                with self.lock as lock:
                    self.act(lock, command)
                report("ended", why="still held" if lock.left else "released", last_act=self.last_act)
        except baton.Cancelled:
            report("cancelled")
        except baton.LockLost as lost:
            report_loss(lost, self.last_act, self.end)
        except (baton.BatonError, RuntimeError) as error:
            report_refusal(error)

    def term(self, lock, command):
        try:
            self.act(lock, command)
            report("ended", why="released", last_act=self.last_act)
        except baton.LockLost:  # then it stands for election again
            report("ended", why="lost", last_act=self.last_act, at=self.end)
            raise

    def act(self, lock, command):
        report_grant(lock)
        try:
            while not self.over.wait(ACT):
                if command["checks"]:
                    lock.check()
                self.last_act = time.time() * 1000
        finally:
            self.end = time.time() * 1000

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
                case "extend":
                    await self.attempt(self.lock.extend(f"{command['ttl_ms']}ms"), lambda _: report("extended"))
                case "break":
                    await self.attempt(self.client.break_lock(command["name"], **command["which"]), report_break)
                case "list":
                    report("list", names=[lock["name"] async for lock in self.client.list(command["prefix"])])

    @staticmethod
    async def attempt(call, tell):
        try:
            tell(await call)
        except baton.BatonError as error:
            report_refusal(error)

    @staticmethod
    def cancel_tasks_of_client():
        """As asyncio.run does it at its end, to all tasks."""
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if task.get_name() != "block":
                task.cancel()

    async def hold(self, command):
        """In one of the ways that the client has."""
        self.last_act = self.end = 0.0
        options = options_of(command)
        try:
            if command.get("lead"):
                del options["wait"]
                await self.client.lead(command["names"][0], lambda lock: self.term(lock, command), **options)
            elif command.get("skip"):
                run = self.client.locked(command["names"], skip=True, **options)(self.job)
                report("ended", why="released", last_act=self.last_act) if await run(command) else report("skipped")
            else:
                self.lock = self.client.held(command["names"], command["token"]) if "token" in command else \
                    self.client.lock(command["names"], **options)
                async with self.lock as lock:
                    await self.act(lock, command)
                report("ended", why="still held" if lock.left else "released", last_act=self.last_act)
        except asyncio.CancelledError:
            report("cancelled")
        except baton.LockLost as lost:
            report_loss(lost, self.last_act, self.end)
        except baton.BatonError as error:
            report_refusal(error)

    async def term(self, lock, command):
        try:
            await self.act(lock, command)
            report("ended", why="released", last_act=self.last_act)
        except (baton.LockLost, asyncio.CancelledError):  # then it stands for election again
            report("ended", why="lost", last_act=self.last_act, at=self.end)
            raise

    async def job(self, command):
        await self.act(baton.current(), command)
        return True

    async def act(self, lock, command):
        report_grant(lock)
        try:
            while not self.over.is_set():
                if command["checks"]:
                    lock.check()
                self.last_act = time.time() * 1000
                await asyncio.sleep(ACT)
        finally:
            self.end = time.time() * 1000

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
