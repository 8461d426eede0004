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
  report("refused", { error: problem.name, code: problem.code, holder: problem.holders?.[0]?.owner ?? null });
}

let client, over, cancels;

async function hold({ names, wait_ms: wait, checks, fields }) {
  let lastAct = 0;
  let ended = 0;
  try {
    await client.withLock(names, { ...fields, wait, signal: cancels.signal }, async (lock) => {
      const { token, fence, fences, mode } = lock;
      report("granted", { token, fence, fences, mode });
      lock.signal.addEventListener("abort", () => {
        ended = time();
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
    });
    report("ended", { why: "released", last_act: lastAct });
  } catch (error) {
    if (error instanceof LockLost) {
      const code = ["not_held", "max_held"].find((word) => error.message.includes(word)) ?? "";
      report("ended", { why: "lost", last_act: lastAct, at: ended, code });
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
  watch,
  break({ name }) {
    client.breakLock(name).then(() => report("broken")).catch(refuse);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  COMMANDS[command.do](command);
}
