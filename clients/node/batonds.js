// batonds.js: asks batonds that share a Redis for what a client wants, and again where that helps.
"use strict";
const { Invalid, MaxHeld, NotHeld, Quarantined, Superseded, TooMany, Unavailable } = require("./errors.js");
const { WaitTimeout, problemOf } = require("./errors.js");
const { LATE, apiFields, milliseconds, now, ofHeader } = require("./lease.js");
const { pause, send } = require("./wire.js");

const KEEP = 10_000; // for the place in the queue between two requests
const LEAVING = 2000; // how long an acquire that has failed tries to end what it may have got
const SHORTEST_PORTION = 1000; // a batond with a shorter max-wait is not waited at
const LONGEST_PORTION = 86_400_000; // halved until batond takes it
const KINDS = { released: "boolean", changed: "boolean", locks: "array" }; // of proofs; the others are numbers
const AWAY = new Set([0, 502, 503, 504]);
const URL_OF_BATOND = /^(https?:)\/\/(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?(\/[!-"$->@-~]*)?$/;

// What stands before each path. A URL with /locks, as for curl, would make another lock of each name.
function baseOf(url) {
  const shown = JSON.stringify(String(url));
  const base = String(url).replace(/\/+$/, "");
  if (shown.includes("@"))
    throw new TypeError("A URL of batond has no user and no password. Give the client the API key as bearer.");
  const [isUrl, protocol, ipv6, host, port, prefix = ""] = URL_OF_BATOND.exec(base) ?? [];
  if (!isUrl || port < 1 || port > 65535)
    throw new TypeError(`${shown} is not a URL of batond. Write http://HOST:PORT or https://HOST:PORT.`);
  if (prefix.endsWith("/locks"))
    throw new TypeError(`${shown} ends in /locks, which the client adds. Write "${base.slice(0, -"/locks".length)}".`);
  return { url: base, protocol, host: ipv6 ?? host, port, prefix };
}

// A server of another kind may answer anything.
function replyOf({ status, text }) {
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    document = null;
  }
  const isDone = status >= 200 && status < 300;
  if (document && typeof document === "object" && (isDone || typeof document.code === "string"))
    return { status, document, isDone };
  return ofAnother(status);
}

// If it is done, the document, or each of its locks, has a field of this name and its kind.
function proven(reply, proof) {
  const kind = KINDS[proof] ?? "number";
  const kindOf = (value) => (Array.isArray(value) ? "array" : typeof value);
  const { document } = reply;
  const locks = proof in document ? [document] : document.locks;
  const isProven = Array.isArray(locks) && locks.length > 0 && locks.every((lock) => kindOf(lock?.[proof]) === kind);
  return isProven || !reply.isDone ? reply : ofAnother(reply.status);
}

function ofAnother(status) {
  return trouble(`the answer (${status}) is not one of batond`, AWAY.has(status) ? status : 0);
}

function trouble(detail, status = 0) {
  return { status, document: { detail }, isDone: false };
}

function noAnswer(url, why) {
  return trouble(`No batond answers at ${url} (${why}). Check the URL, and that batond runs there.`);
}

function isTransient(error) {
  return error instanceof Unavailable || error instanceof TooMany;
}

// Whether batond has refused the wait, since its max-wait is shorter, and takes half of it.
function isTooLong(portion, error) {
  const isRefused = error instanceof Invalid && String(error.document.parameter).startsWith("wait");
  return isRefused && portion / 2 >= SHORTEST_PORTION;
}

class Batonds {
  #bases;
  #current = 0; // the base that answered last
  #bearer;

  constructor(urls, { bearer, timeout = 5000, portion = 25_000, patience = 10_000 }) {
    this.#bases = [urls].flat().map(baseOf);
    if (!this.#bases.length)
      throw new TypeError("There is no URL of batond. Write http://HOST:PORT or https://HOST:PORT.");
    this.#bearer = bearer && ofHeader(bearer, "API key");
    this.timeout = milliseconds(timeout, Infinity);
    this.portion = Math.min(milliseconds(portion, Infinity), LONGEST_PORTION);
    this.patience = milliseconds(patience, Infinity);
  }

  // All requests of an acquire have one token, and so one place in the queue.
  async acquire(lease, wait, signal) {
    const begun = now();
    const endOfWait = begun + wait;
    const endOfTrouble = begun + Math.max(wait, this.patience);
    let { portion } = this;
    let isGranted = false;
    for (;;) {
      const left = endOfWait - now();
      const waits = isGranted ? 0 : Math.max(0, Math.min(portion, left));
      const body = { ...lease.body, ...lease.fields };
      if (waits) {
        body.wait_ms = Math.round(waits);
        if (lease.names.length === 1) body.keep_ms ??= KEEP;
      }
      const reply = await this.#take(lease, "POST", { body, timeout: waits + this.timeout, signal });
      signal?.throwIfAborted();
      // A wait counts as time on the way. The same request again, without one, says what is left.
      if (reply.isDone && (lease.left > lease.ttl / 2 || (isGranted && lease.left > 0))) {
        lease.isTaken = true;
        return;
      }
      isGranted = reply.isDone;
      const error = problemOf(isGranted ? trouble("the answers come too late for this TTL") : reply);
      if (isTooLong(portion, error)) {
        portion /= 2;
        continue;
      }
      const isOneOf = (...kinds) => kinds.some((Kind) => error instanceof Kind);
      // An earlier request, given up here, may come late to batond, and supersede the one that waits.
      const isTrouble = isOneOf(Unavailable, Superseded) && !isOneOf(Quarantined);
      const mayGoOn = isTrouble || isOneOf(WaitTimeout, Quarantined, TooMany);
      const end = isTrouble ? endOfTrouble : endOfWait;
      const isOver = now() >= end || (isOneOf(WaitTimeout) && left <= portion);
      if (!mayGoOn || isOver) throw error;
      if (!isGranted && !isOneOf(WaitTimeout)) {
        await pause(Math.max(0, Math.min(error.retryAfter || 300, 1000, end - now())), signal);
      }
    }
  }

  /** Goes on with a hold that another has taken. */
  async adopt(lease) {
    await this.#insist(() => this.#take(lease, "PUT", { body: lease.body }), now() + this.patience);
    lease.isTaken = true;
  }

  /** Renews the lease now. From then on its renewals have this TTL. */
  async extend(lease, ttl) {
    const body = { ...lease.body, ...apiFields({ ttl }) };
    const { expires, renewAt, most } = lease;
    lease.limit(body.ttl_ms);
    const take = () => this.#take(lease, "PUT", { body, end: expires });
    try {
      await this.#insist(take, Math.min(expires, now() + this.patience));
      lease.most = most;
    } catch (error) {
      if (error instanceof NotHeld) lease.lose(error);
      else if (!isTransient(error)) Object.assign(lease, { expires, renewAt, most });
      throw error;
    }
  }

  /** One attempt to renew it. */
  async renew(lease) {
    const timeout = Math.min(this.timeout, lease.ttl / 4);
    const reply = await this.#take(lease, "PUT", { body: lease.body, timeout, end: lease.expires, isIdle: true });
    if (reply.isDone) return;
    const error = problemOf(reply);
    if (error instanceof NotHeld) {
      lease.lose(error);
    } else if (error instanceof MaxHeld) {
      lease.why = error;
      lease.renewAt = Infinity;
    } else {
      lease.why = `${LATE}; at last: ${error.message}`;
      lease.renewAt = now() + lease.ttl / 20;
    }
  }

  /** Ends the hold, or the wait. If nobody answers, the hold ends with its TTL. */
  async release(lease) {
    const { path, token, body } = lease;
    const end = Math.min(lease.isTaken ? lease.expires : now() + LEAVING, now() + this.patience);
    for (let isRepeated = false; ; isRepeated = true) {
      const timeout = Math.min(this.timeout, Math.max(lease.left, 1000));
      const reply = await this.#ask("DELETE", path, "released", { token, body, timeout });
      reply.isRepeated ||= isRepeated;
      if (reply.isDone || !isTransient(problemOf(reply)) || now() >= end) return reply;
      await pause(200);
    }
  }

  /** Waits for the next change, with the fields of `GET …/events`; resolves to it. */
  async change(path, { prefix, after }, signal) {
    for (let wait = this.portion; ; ) {
      try {
        const document = await this.request("GET", path, "changed", { wait, prefix, after }, signal);
        if (document.changed) return document;
        after = document.version;
      } catch (error) {
        if (!isTooLong(wait, error)) throw error;
        wait /= 2;
      }
    }
  }

  /** Any other request; resolves to its document. One that only reads is repeated while nobody answers. */
  async request(method, path, proof, fields = {}, signal = undefined) {
    // To batond a + is no space.
    const query = Object.entries(apiFields(fields)).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const target = query.length ? `${path}?${query.join("&")}` : path;
    const waits = fields.wait ?? 0;
    const ask = () => this.#ask(method, target, proof, { timeout: waits + this.timeout, signal });
    return (await this.#insist(ask, method === "GET" ? now() + waits + this.patience : -Infinity, signal)).document;
  }

  // Repeats a request while no batond can serve.
  async #insist(attempt, end, signal) {
    for (;;) {
      const reply = await attempt();
      signal?.throwIfAborted();
      if (reply.isDone) return reply;
      const error = problemOf(reply);
      if (now() >= end || !isTransient(error)) throw error;
      await pause(300, signal);
    }
  }

  // One request that takes the lock or renews it.
  async #take(lease, method, options) {
    const reply = await this.#ask(method, lease.path, "ttl_ms", { token: lease.token, ...options });
    if (reply.isDone) lease.count(reply);
    return reply;
  }

  // Asks one URL after another until a batond can serve; all of them until `end` by the monotonic clock. The proof is
  // a field that the answer of a batond has.
  async #ask(method, path, proof, { token, body, timeout = this.timeout, end = Infinity, signal, isIdle }) {
    const headers = { Accept: "application/json" };
    if (body) headers["Content-Type"] = "application/json";
    if (token) headers["Lock-Token"] = token;
    if (this.#bearer) headers.Authorization = `Bearer ${this.#bearer}`;
    const request = { method, path, headers, body: body ? JSON.stringify(body) : "", signal, isIdle };
    let reply = trouble("the request was cancelled");
    for (let i = 0; i < this.#bases.length && !signal?.aborted; i++) {
      const asked = this.#current;
      const base = this.#bases[asked];
      const sent = now();
      const answer = send(base, { ...request, timeout: Math.max(0, Math.min(timeout, end - sent)) });
      reply = proven(await answer.then(replyOf, (error) => noAnswer(base.url, error.message)), proof);
      reply.sent = sent;
      reply.isRepeated = i > 0; // an earlier request may have done the same
      if (reply.isDone || !(problemOf(reply) instanceof Unavailable)) break;
      // Another lock may have gone on to the next URL.
      if (this.#current === asked) this.#current = (asked + 1) % this.#bases.length;
      if (!token && method !== "GET") break; // a break that is repeated could end another's hold
    }
    return reply;
  }
}

module.exports = { Batonds };
