// index.js: a client of Baton. It renews locks by itself, and their blocks end before they do.
import { setTimeout as pause } from "node:timers/promises";
import {
  Invalid,
  LockLost,
  MaxHeld,
  NotHeld,
  Quarantined,
  Superseded,
  TooMany,
  Unavailable,
  WaitTimeout,
  problemOf,
} from "./errors.js";
import { LATE, Lease, apiFields, milliseconds, now } from "./lease.js";

export * from "./errors.js";

const KEEP = 10_000; // for the place in the queue between two requests
const LEAVING = 2000; // how long an acquire that has failed tries to end what it may have got
const SHORTEST_PORTION = 1000; // a batond with a shorter max-wait is not waited at
const FLAGS = new Set(["released", "changed"]); // the proofs of an answer that are booleans; the others are numbers
const AWAY = new Set([0, 502, 503, 504]);

// What stands before each path. A URL with /locks, as for curl, would make another lock of each name.
function baseOf(url) {
  const base = url.replace(/\/+$/, "");
  const instead = /^(.*\/\/.+)\/locks$/.exec(base)?.[1];
  if (instead) throw new TypeError(`"${url}" ends in /locks, which the client adds. Write "${instead}".`);
  return base;
}

// A server of another kind may answer anything.
function replyOf(status, text) {
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

// If it is done, the document, or each of its locks, has a boolean of this name, or a number.
function proven(reply, proof) {
  const kind = FLAGS.has(proof) ? "boolean" : "number";
  const { document } = reply;
  const locks = proof in document ? [document] : document.locks;
  const isProven = Array.isArray(locks) && locks.length > 0 && locks.every((lock) => typeof lock?.[proof] === kind);
  return isProven || !reply.isDone ? reply : ofAnother(reply.status);
}

function ofAnother(status) {
  const detail = `the answer (${status}) is not one of batond`;
  return { status: AWAY.has(status) ? status : 0, document: { detail }, isDone: false };
}

// Whether batond has refused the wait, since its max-wait is shorter, and takes half of it.
function isTooLong(portion, error) {
  const isRefused = error instanceof Invalid && error.document.parameter?.startsWith("wait");
  return isRefused && portion / 2 >= SHORTEST_PORTION;
}

/** A lock that is held. It ends by `release`, or with `await using`. */
export class Lock {
  #client;
  #lease;
  #lost = new AbortController();
  #over = new AbortController();
  #released;

  constructor(client, lease) {
    this.#client = client;
    this.#lease = lease;
    this.#keep();
  }

  get names() {
    return this.#lease.names;
  }
  get token() {
    return this.#lease.token;
  }
  get mode() {
    return this.#lease.holds[0].mode;
  }

  /** The fence of each name. */
  get fences() {
    return Object.fromEntries(this.#lease.holds.map((hold) => [hold.name, hold.fence]));
  }

  /** The fence; of several locks, that of the first name. */
  get fence() {
    return this.fences[this.names[0]];
  }

  /** Aborts when the lock is lost, with a LockLost as its reason. */
  get signal() {
    return this.#lost.signal;
  }

  /** Milliseconds for which you may count on the lock, unless a renewal adds to them; 0 if it is lost. */
  get left() {
    return this.signal.aborted || this.#over.signal.aborted ? 0 : Math.max(0, this.#lease.left);
  }

  /** Throws if the lock may be another's. A program that was stopped learns of it here before its signal aborts. */
  check() {
    this.signal.throwIfAborted();
    if (!this.left) throw this.#loss(this.#lease.why);
  }

  /** Ends the hold. Throws if it was lost before, so that the work may have been in vain. */
  release() {
    return (this.#released ??= this.#release());
  }

  async #release() {
    const { expires } = this.#lease;
    const lost = this.left ? undefined : this.signal.reason ?? this.#loss(this.#lease.why);
    this.#over.abort();
    const reply = await this.#client._release(this.#lease);
    if (lost) throw lost;
    const error = problemOf(reply);
    // If it has found no hold before that could end by itself, it was lost after the last renewal.
    if (error instanceof NotHeld && !reply.isRepeated && now() < expires) throw this.#loss(error.message);
  }

  #loss(why) {
    return new LockLost(`${this.names.join(", ")}: ${why}`);
  }

  async #keep() {
    // Whatever ends the renewals, the block must learn of it.
    await this.#client._keep(this.#lease, this.#over.signal).catch((error) => {
      this.#lease.why = String(error);
    });
    if (!this.#over.signal.aborted) this.#lost.abort(this.#loss(this.#lease.why));
  }
}

// For `await using`, where the language has it.
if (Symbol.asyncDispose) Lock.prototype[Symbol.asyncDispose] = Lock.prototype.release;

/** Talks to one batond, or to several that share a Redis. */
export class Client {
  #urls;
  #current = 0; // the URL that answered last
  #options;

  constructor(urls = "http://127.0.0.1:7420", options = {}) {
    this.#urls = [urls].flat().map(baseOf);
    this.#options = { timeout: 5000, portion: 25_000, patience: 10_000, ...options };
    this.#options.bearer = options.bearer?.trim(); // a file ends in a line break
  }

  /** Runs a function while it holds the lock. If the lock is lost, `lock.signal` aborts, and this throws LockLost. */
  async withLock(names, options, body) {
    const lock = await this.acquire(names, options);
    let result;
    try {
      result = await body(lock);
    } catch (error) {
      await lock.release().catch(() => {});
      // A timer that the signal has ended says only that it was aborted.
      throw lock.signal.aborted && error?.name === "AbortError" ? lock.signal.reason : error;
    }
    await lock.release();
    return result;
  }

  /** Takes the lock. `wait` is for all requests together; all fields but `wait` and `signal` are those of the API. */
  async acquire(names, { wait = 0, signal, ...fields } = {}) {
    const lease = new Lease([names].flat(), fields);
    try {
      await this.#acquire(lease, milliseconds(wait), signal);
    } catch (error) {
      await this._release(lease); // leaves the queue; a grant whose answer was lost ends, too
      throw error;
    }
    return new Lock(this, lease);
  }

  async inspect(name) {
    return (await this.#request("GET", `/locks/${encodeURIComponent(name)}`, "version")).document;
  }

  /** Ends all holds of the name, whoever has them. After an Unavailable, look before you repeat it. */
  async breakLock(name) {
    return (await this.#request("DELETE", `/locks/${encodeURIComponent(name)}`, "broken", { force: true })).document;
  }

  /** Yields the lock as it is, and whenever it changes; with a prefix in place of a name, what changes under it. */
  async *events(name, { prefix, after, signal } = {}) {
    const path = name === undefined || name === null ? "/events" : `/locks/${encodeURIComponent(name)}/events`;
    let { portion: wait } = this.#options;
    for (;;) {
      let document;
      try {
        ({ document } = await this.#request("GET", path, "changed", { wait, prefix, after }, signal));
      } catch (error) {
        if (!isTooLong(wait, error)) throw error;
        wait /= 2;
        continue;
      }
      after = document.version;
      if (document.changed) yield document;
    }
  }

  // All requests of an acquire have one token, and so one place in the queue.
  async #acquire(lease, wait, signal) {
    const begun = now();
    const endOfWait = begun + wait;
    const endOfTrouble = begun + Math.max(wait, this.#options.patience);
    let { portion } = this.#options;
    let isGranted = false;
    for (;;) {
      const left = endOfWait - now();
      const waits = isGranted ? 0 : Math.max(0, Math.min(portion, left));
      const body = { ...lease.body, ...lease.fields };
      if (waits) {
        body.wait_ms = Math.round(waits);
        if (lease.names.length === 1 && !("keep" in body)) body.keep_ms ??= KEEP;
      }
      const timeout = waits + this.#options.timeout;
      const reply = await this.#take(lease, "POST", { body, timeout, signal });
      signal?.throwIfAborted();
      let error;
      if (reply.isDone) {
        // A wait counts as time on the way. The same request again, without one, says what is left.
        if (lease.left > lease.ttl / 2 || (isGranted && lease.left > 0)) {
          lease.isTaken = true;
          return;
        }
        error = problemOf({ status: 0, document: { detail: "the answers come too late for this TTL" } });
      } else {
        error = problemOf(reply);
      }
      isGranted = reply.isDone;
      if (isTooLong(portion, error)) {
        portion /= 2;
        continue;
      }
      const isOneOf = (...kinds) => kinds.some((Kind) => error instanceof Kind);
      // An earlier request, given up here, may come late to batond, and supersede the one that waits.
      const isTrouble = isOneOf(Unavailable, Superseded) && !isOneOf(Quarantined);
      const mayGoOn = isTrouble || isOneOf(WaitTimeout, Quarantined, TooMany);
      const end = isTrouble ? endOfTrouble : endOfWait;
      const isOver = now() >= end || (error instanceof WaitTimeout && left <= portion);
      if (!mayGoOn || isOver) throw error;
      if (!isGranted && !(error instanceof WaitTimeout)) {
        await pause(Math.max(0, Math.min(error.retryAfter || 300, 1000, end - now())), undefined, { signal });
      }
    }
  }

  // One request that takes the lock or renews it.
  async #take(lease, method, options) {
    const reply = await this.#ask(method, lease.path, "ttl_ms", { token: lease.token, ...options });
    if (reply.isDone) lease.count(reply);
    return reply;
  }

  /** Renews the lease for as long as it can. For Lock. */
  async _keep(lease, over) {
    while (lease.left > 0 && !over.aborted) {
      const wait = Math.min(lease.renewAt - now(), lease.left);
      if (wait > 0) {
        await pause(wait, undefined, { signal: over }).catch(() => {});
        continue;
      }
      const timeout = Math.min(this.#options.timeout, lease.ttl / 4);
      const { body, expires: end } = lease;
      const reply = await this.#take(lease, "PUT", { body, timeout, end, signal: over });
      if (reply.isDone) continue;
      const error = problemOf(reply);
      lease.why = error.message;
      if (error instanceof NotHeld) {
        lease.expires = -Infinity;
      } else if (error instanceof MaxHeld) {
        lease.renewAt = Infinity;
      } else {
        lease.why = `${LATE}; at last: ${error.message}`;
        lease.renewAt = now() + lease.ttl / 20;
      }
    }
  }

  /** Ends the hold, or the wait. If nobody answers, the hold ends with its TTL. For Lock. */
  async _release(lease) {
    const end = Math.min(lease.isTaken ? lease.expires : now() + LEAVING, now() + this.#options.patience);
    for (let isRepeated = false; ; isRepeated = true) {
      const timeout = Math.min(this.#options.timeout, Math.max(lease.left, 1000));
      const reply = await this.#ask("DELETE", lease.path, "released", { token: lease.token, body: lease.body, timeout });
      const error = reply.isDone ? undefined : problemOf(reply);
      if (!(error instanceof Unavailable || error instanceof TooMany) || now() >= end)
        return { ...reply, isRepeated: isRepeated || reply.isRepeated };
      await pause(200);
    }
  }

  // Any other request. One that only reads is repeated while nobody answers.
  async #request(method, path, proof, fields = {}, signal) {
    const query = new URLSearchParams(apiFields(fields)).toString();
    const waits = fields.wait ?? 0;
    const end = now() + waits + this.#options.patience;
    for (;;) {
      const timeout = waits + this.#options.timeout;
      const reply = await this.#ask(method, query ? `${path}?${query}` : path, proof, { timeout, signal });
      signal?.throwIfAborted();
      if (reply.isDone) return reply;
      const error = problemOf(reply);
      const mayGoOn = method === "GET" && (error instanceof Unavailable || error instanceof TooMany);
      if (!mayGoOn || now() >= end) throw error;
      await pause(300, undefined, { signal });
    }
  }

  // Asks one URL after another until a batond can serve; all of them until `end` by the monotonic clock. The proof is
  // a field that the answer of a batond has.
  async #ask(method, path, proof, { token, body, timeout, end = Infinity, signal }) {
    const headers = { Accept: "application/json" };
    if (body) headers["Content-Type"] = "application/json";
    if (token) headers["Lock-Token"] = token;
    if (this.#options.bearer) headers.Authorization = `Bearer ${this.#options.bearer}`;
    let reply;
    for (let i = 0; i < this.#urls.length && !signal?.aborted; i++) {
      const asked = this.#current;
      const sent = now();
      const limit = Math.max(0, Math.min(timeout, end - sent));
      const request = { method, path, headers, body: body && JSON.stringify(body) };
      reply = proven(await this.#send(this.#urls[asked], request, limit, signal), proof);
      reply.sent = sent;
      reply.isRepeated = i > 0; // an earlier request may have done the same
      if (reply.isDone || !(problemOf(reply) instanceof Unavailable)) break;
      // Another lock may have gone on to the next URL.
      if (this.#current === asked) this.#current = (asked + 1) % this.#urls.length;
      if (!token && method !== "GET") break; // a break that is repeated could end another's hold
    }
    return reply ?? { status: 0, document: { detail: "the request was cancelled" }, isDone: false };
  }

  async #send(url, { method, path, headers, body }, timeout, signal) {
    const ends = new AbortController();
    const cancel = () => ends.abort(signal.reason);
    const timer = setTimeout(() => ends.abort(new Error("no answer in time")), timeout);
    signal?.addEventListener("abort", cancel);
    try {
      // A redirect would show the token of the lock to another host, and make a GET of a POST.
      const response = await fetch(url + path, { method, headers, body, redirect: "manual", signal: ends.signal });
      return replyOf(response.status, await response.text());
    } catch (error) {
      return { status: 0, document: { detail: `${url}: ${error.cause?.message ?? error.message}` }, isDone: false };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
  }
}
