// test.mjs: what only the client for Node has; all else is in clients/cases.yaml. clients/conformance/run.py runs it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request as forward } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { Client, LockLost, Locked, NotHeld, WaitTimeout } from "baton-client";
import { startServer } from "baton-client/testing";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
let server, client;

before(async () => {
  server = await startServer();
  client = server.client({ patience: 1000 });
});
after(() => server.stop());

// What a program of CommonJS prints, which gets `client` and ends by itself.
async function program(code) {
  const begin = `const { Client } = require("baton-client"); const client = new Client(${JSON.stringify(server.url)});`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", begin + code], { cwd: FOLDER, timeout: 20_000 });
  return stdout;
}

async function queued(name) {
  while (!(await client.inspect(name)).queue_length) await pause(10);
}

test("one signal for many acquires warns of nothing and stays usable", async () => {
  const warnings = [];
  process.on("warning", (warning) => warnings.push(warning));
  const lock = await client.acquire("many");
  const cancels = new AbortController();
  const { signal } = cancels;
  const waits = Array.from({ length: 15 }, () => client.acquire("many", { wait: "1m", signal }));
  await queued("many");
  cancels.abort(new Error("enough"));
  for (const { reason } of await Promise.allSettled(waits)) assert.equal(reason.message, "enough");
  assert.deepEqual(warnings, []);
  assert.equal((await client.inspect("many")).queue_length, 0);
  await lock.release();
});

test("what is no name, no duration or no function is a TypeError at once", async () => {
  for (const names of [undefined, null, "", {}, [], [""], ["a", 7], 7])
    for (const call of [
      () => client.acquire(names),
      () => client.withLock(names, {}, () => {}),
      () => client.held(names, "t".repeat(22)),
      () => client.inspect(names),
      () => client.breakLock(names),
    ])
      await assert.rejects(call, TypeError, inspect(names));
  for (const ttl of ["30", "soon", -1, NaN, Infinity, true]) await assert.rejects(client.acquire("a", { ttl }), TypeError);
  await assert.rejects(client.acquire("a", { wait: "60" }), TypeError);
  await assert.rejects(client.acquire("a", { reentrant: true }), TypeError);
  await assert.rejects(client.withLock("a", () => {}), TypeError);
  await assert.rejects(client.held("a"), TypeError);
  assert.throws(() => new Client(server.url, { timeout: "5" }), TypeError);
});

test("a name of dots comes to batond as it is, which refuses it", async () => {
  await assert.rejects(client.acquire(".."), { code: "invalid_name" });
});

test("no text shows a key or a token", async () => {
  const keyed = new Client(server.url, { bearer: "SECRET-KEY" });
  await client.withLock("secret", { owner: "alice" }, async (lock) => {
    const error = await client.acquire("secret", { wait: 50 }).catch((reason) => reason);
    assert(error instanceof WaitTimeout);
    const texts = inspect([keyed, lock, error], { depth: null, showHidden: true }) + JSON.stringify([keyed, lock, error]);
    for (const secret of ["SECRET", lock.token]) assert(!texts.includes(secret), texts);
    assert(!("token" in error.document));
  });
});

test("require works, and a lock that is forgotten keeps no process alive", async () => {
  const code = 'client.acquire("forgotten", { ttl: "20s" }).then((lock) => console.log(lock.names[0]));';
  assert.equal(await program(code), "forgotten\n");
  await client.breakLock("forgotten");
});

test("a wait keeps its process alive", async () => {
  const lock = await client.acquire("awaited");
  const ends = program('client.withLock("awaited", { wait: "1m" }, () => console.log("granted"));');
  await queued("awaited");
  await lock.release();
  assert.equal(await ends, "granted\n");
});

test("extend of a lock that is lost or released sends nothing, and a refusal changes nothing", async () => {
  const lock = await client.acquire("extended", { ttl: "30s" });
  await assert.rejects(lock.extend("1000h"), { code: "invalid_parameter" });
  assert(lock.left > 20_000);
  await Promise.all([lock.extend("5m"), lock.extend("20s"), lock.extend()]);
  assert(lock.left > 15_000 && lock.left < 20_000);
  await client.breakLock("extended", { reason: "site closed" });
  const lost = once(lock.signal, "abort");
  await assert.rejects(lock.extend(), { name: "LockLost", code: "not_held", message: /site closed/ });
  await lost;
  await assert.rejects(lock.extend(), (error) => error === lock.signal.reason && error.ended.reason === "forced");
  await assert.rejects(lock.release(), LockLost);
  const other = await client.acquire("extended");
  await other.release();
  await assert.rejects(other.extend(), { name: "LockLost", message: "extended: it was released" });
  await assert.rejects(client.held("extended", other.token), NotHeld);
});

test("a shorter TTL counts from when its request is on its way", async () => {
  let isSilent = false;
  const proxy = createServer((request, response) => {
    const { url: path, method, headers } = request;
    const onward = forward(server.url + path, { method, headers }, (answer) => isSilent || answer.pipe(response));
    request.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = `http://127.0.0.1:${proxy.address().port}`;
  const lock = await new Client(url, { timeout: 300, patience: 100 }).acquire("shorter", { ttl: "60s" });
  isSilent = true;
  await assert.rejects(lock.extend("3s"), { name: "Unreachable" });
  assert(lock.left < 3000);
  assert((await client.inspect("shorter")).holders[0].ttl_ms < 3000);
  isSilent = false;
  await client.held("shorter", lock.token).then((other) => other.extend("60s"));
  await lock.extend(); // which may have come before that of 3s
  assert(lock.left < 3000);
  isSilent = true;
  proxy.close();
  proxy.closeAllConnections();
  await assert.rejects(once(lock.signal, "abort").then(() => lock.release()), LockLost);
});

test("skip is for the lock of the job alone", async () => {
  const taken = await client.acquire("inner");
  const job = () => client.withLock("inner", {}, () => {});
  await assert.rejects(client.withLock("outer", { skip: true }, job), Locked);
  assert.equal(await client.withLock("inner", { skip: true }, () => 7), undefined);
  await taken.release();
  assert.equal(await client.withLock("inner", { skip: true }, () => 7), 7);
});

test("an error of the work, or a signal, ends the election", async () => {
  const failed = client.lead("leader", {}, () => {
    throw new RangeError("no work");
  });
  await assert.rejects(failed, RangeError);
  const lock = await client.acquire("leader");
  const signal = AbortSignal.timeout(50);
  await assert.rejects(client.lead("leader", { signal }, () => {}), { name: "TimeoutError" });
  await lock.release();
});

test("a server that is not there says what to do", async () => {
  const { BATON_BATOND } = process.env;
  process.env.BATON_BATOND = "/nowhere/batond";
  await assert.rejects(startServer(), /Install the package baton/);
  process.env.BATON_BATOND = BATON_BATOND;
  await assert.rejects(startServer("--no-such-setting"), /batond ended with [0-9]+: .*no-such-setting/s);
});
