// wire.js: one request and its answer, and timers and signals as a library needs them.
"use strict";
const { setMaxListeners } = require("node:events");
const http = require("node:http");
const https = require("node:https");
const { setTimeout: sleep } = require("node:timers/promises");

const LONGEST = 16 * 2 ** 20; // bytes of an answer
const LONGEST_TIMER = 2 ** 31 - 1; // milliseconds; Node takes a longer one for 1

// An idle connection is closed before the other side does it.
const settings = { keepAlive: true, maxFreeSockets: 8, timeout: 4000 };
const SCHEMES = {
  "http:": { request: http.request, agent: new http.Agent(settings) },
  "https:": { request: https.request, agent: new https.Agent(settings) },
};

/** Calls `end` when the signal aborts, until the function that it returns is called. */
function follow(signal, end) {
  if (!signal) return () => {};
  setMaxListeners(0, signal); // any number of waits may have it
  if (signal.aborted) end();
  signal.addEventListener("abort", end);
  return () => signal.removeEventListener("abort", end);
}

/** A timer. One that is idle keeps no process alive. */
function after(ms, act, isIdle = false) {
  const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
  return isIdle ? timer.unref() : timer;
}

/** Ends early if the signal aborts. */
const pause = (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {});

/** Resolves to the status and the text of an answer that is here, whole, in time. An idle one keeps no process alive. */
async function send(base, { method, path, headers, body, timeout, signal, isIdle }) {
  const { request: begin, agent } = SCHEMES[base.protocol];
  const length = { "Content-Length": Buffer.byteLength(body) };
  // It follows no redirect, which would show the token of the lock to another host.
  const request = begin({ ...base, path: base.prefix + path, method, headers: { ...headers, ...length }, agent });
  const stop = (why) => request.destroy(new Error(why));
  const timer = after(timeout, () => stop("no answer in time"), isIdle);
  const leave = follow(signal, () => stop("the request was cancelled"));
  try {
    return await new Promise((resolve, reject) => {
      request.on("error", reject);
      request.on("close", () => reject(new Error("the connection ended before the answer did")));
      request.on("socket", (socket) => isIdle && socket.unref());
      request.on("response", (response) => {
        const pieces = [];
        let size = 0;
        response.on("data", (piece) => {
          pieces.push(piece);
          size += piece.length;
          if (size > LONGEST) stop("the answer is too long");
        });
        response.on("end", () => resolve({ status: response.statusCode, text: Buffer.concat(pieces).toString() }));
      });
      request.end(body);
    });
  } finally {
    clearTimeout(timer);
    leave();
  }
}

module.exports = { after, pause, send };
