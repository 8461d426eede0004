// conformance.mjs: does what clients/conformance/run.py says on standard input, and reports what it saw.
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Client, LockLost, Problem } from "./index.js";

const ACT = 10; // milliseconds between two steps of the work in a block
const time = () => performance.timeOrigin + performance.now();

function report(saw, fields) {
  console.log(JSON.stringify({ saw, at: time(), ...fields }));
}

function refuse(problem) {
  const { name: error, code, message: detail } = problem;
  report("refused", { error, code, detail, holder: problem.holders?.[0]?.owner ?? null });
}

let client, held, over, cancels, lastAct, ended;

async function act(lock, checks) {
  held = lock;
  const { token, fence, fences, mode } = lock;
  [lastAct, ended] = [0, 0];
  report("granted", { token, fence, fences, mode });
  lock.signal.addEventListener("abort", () => {
    ended ||= time();
  });
  try {
    while (!over.aborted && !lock.signal.aborted) {
      if (checks) lock.check();
      lastAct = time();
      await pause(ACT, undefined, { signal: lock.signal }).catch(() => {});
    }
  } finally {
    ended ||= time();
  }
  return true;
}

async function term(lock, checks) {
  try {
    await act(lock, checks);
    lock.check();
    report("ended", { why: "released", last_act: lastAct });
  } catch (error) {
    report("ended", { why: "lost", last_act: lastAct, at: ended });
    throw error; // then it stands for election again
  }
}

async function adopt({ names, token, checks }) {
  const lock = await client.held(names, token);
  await act(lock, checks);
  await lock.release();
  return true;
}

// In one of the ways that the client has.
async function hold(command) {
  const { names, wait_ms: wait, checks, fields, lead, skip, token } = command;
  const options = { ...fields, wait, signal: cancels.signal };
  try {
    if (lead) {
      await client.lead(names[0], options, (lock) => term(lock, checks));
    } else if (await (token ? adopt(command) : client.withLock(names, { ...options, skip }, (lock) => act(lock, checks)))) {
      report("ended", { why: held.left ? "still held" : "released", last_act: lastAct });
    } else {
      report("skipped");
    }
  } catch (error) {
    if (error instanceof LockLost) {
      const { code, ended: end, message: detail } = error;
      report("ended", { why: "lost", last_act: lastAct, at: ended, code, ended: end, detail });
    } else if (error instanceof Problem) {
      refuse(error);
    } else {
      report("cancelled", { error: String(error) });
    }
  }
}

async function watch({ name, count }) {
  for await (const { state, version } of client.events(name)) {
    report("change", { state, version });
    if (--count === 0) return;
  }
}

async function list({ prefix }) {
  const names = [];
  for await (const { name } of client.list(prefix)) names.push(name);
  report("list", { names });
}

const COMMANDS = {
  open({ urls, bearer, timeout_ms: timeout, portion_ms: portion, patience_ms: patience }) {
    try {
      client = new Client(urls, { bearer, timeout, portion, patience });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      report("refused", { detail: error.message });
    }
  },
  hold(command) {
    over = { aborted: false };
    cancels = new AbortController();
    hold(command);
  },
  release() {
    over.aborted = true;
  },
  cancel() {
    cancels.abort();
  },
  extend({ ttl_ms: ttl }) {
    held.extend(ttl).then(() => report("extended")).catch(refuse);
  },
  watch,
  list,
  break({ name, which }) {
    const tell = ({ broken, holders }) => report("broken", { broken, owner: holders[0]?.owner ?? null });
    client.breakLock(name, which).then(tell).catch(refuse);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  COMMANDS[command.do](command);
}
