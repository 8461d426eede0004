// index.js: a client of Baton. It renews locks by itself, and their blocks end before they do.
"use strict";
const { Batonds } = require("./batonds.js");
const { Locked, LockLost, NotHeld, problemOf } = require("./errors.js");
const { Lease, milliseconds, now, pathOf } = require("./lease.js");
const { after } = require("./wire.js");

/** A lock that is held. It ends by `release`, or with `await using`. */
class Lock {
  #batonds;
  #lease;
  #lost = new AbortController();
  #released;
  #timer;
  #renewals = Promise.resolve(); // take turns: a late answer to a longer TTL would count for too long
  #pending = 0; // of them

  constructor(batonds, lease) {
    this.#batonds = batonds;
    this.#lease = lease;
    this.#plan();
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
    return this.signal.aborted || this.#released ? 0 : Math.max(0, this.#lease.left);
  }

  /** Throws if the lock may be another's. A program that was stopped learns of it here before its signal aborts. */
  check() {
    this.signal.throwIfAborted();
    if (this.#released) throw this.#loss("it was released");
    if (!this.left) throw this.#lose();
  }

  /** Renews the lock now. With a `ttl` it has that one from now on; nothing is added to the time left. */
  async extend(ttl) {
    await this.#renew(async () => {
      this.check();
      const extension = this.#batonds.extend(this.#lease, ttl);
      this.#plan(); // a shorter TTL counts already
      await extension.catch((error) => {
        throw error instanceof NotHeld ? this.#lose() : error;
      });
    });
  }

  /** Ends the hold. Throws if it was lost before, so that the work may have been in vain. */
  release() {
    return (this.#released ??= this.#release());
  }

  async #release() {
    const { expires } = this.#lease;
    const lost = this.left ? undefined : this.#lose();
    clearTimeout(this.#timer);
    const reply = await this.#batonds.release(this.#lease);
    if (lost) throw lost;
    const error = problemOf(reply);
    // If it has found no hold before that could end by itself, it was lost after the last renewal.
    if (error instanceof NotHeld && !reply.isRepeated && now() < expires) throw this.#loss(error);
  }

  #loss(why) {
    return new LockLost(`${this.names.join(", ")}: ${why.message ?? why}`, why.document);
  }

  // For good: an answer that comes later does not count.
  #lose() {
    if (!this.signal.aborted) this.#lost.abort(this.#loss(this.#lease.why));
    return this.signal.reason;
  }

  // Sets the timer for what comes next: a renewal, or the loss, which a renewal that hangs does not delay.
  #plan() {
    clearTimeout(this.#timer);
    if (this.#released || this.signal.aborted) return;
    const lease = this.#lease;
    const { left } = lease;
    if (left <= 0) return void this.#lose();
    // Whatever ends the renewals, the block must learn of it.
    const renew = () => this.#batonds.renew(lease).catch((error) => lease.lose(String(error)));
    const renewal = this.#pending ? Infinity : lease.renewAt - now();
    const act = renewal < left ? () => this.#renew(renew) : () => this.#plan();
    this.#timer = after(Math.max(0, Math.min(left, renewal)), act, true);
  }

  #renew(act) {
    this.#pending++;
    this.#plan();
    const renewal = this.#renewals.then(act).finally(() => {
      this.#pending--;
      this.#plan();
    });
    this.#renewals = renewal.catch(() => {});
    return renewal;
  }
}

// For `await using`, where the language has it.
if (Symbol.asyncDispose) Lock.prototype[Symbol.asyncDispose] = Lock.prototype.release;

/** Talks to one batond, or to several that share a Redis. */
class Client {
  #batonds;

  constructor(urls = "http://127.0.0.1:7420", options = {}) {
    this.#batonds = new Batonds(urls, options);
  }

  /** Runs a function while it holds the lock. If the lock is lost, `lock.signal` aborts, and this throws LockLost. With
   * `skip` it does not run if another has the lock, and this resolves to undefined. */
  async withLock(names, { skip = false, ...options } = {}, body = undefined) {
    if (typeof body !== "function") throw new TypeError("withLock takes names, options, and a function.");
    let lock;
    try {
      lock = await this.acquire(names, options);
    } catch (error) {
      if (skip && error instanceof Locked) return undefined;
      throw error;
    }
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

  /** Waits until this process leads, and runs the function. If the lock is lost, it waits and runs it again. It resolves
   * to what the function has returned while this process led. */
  async lead(name, options, body) {
    for (;;) {
      try {
        return await this.withLock(name, { ...options, wait: Infinity }, body);
      } catch (error) {
        if (!(error instanceof LockLost)) throw error;
      }
    }
  }

  /** Takes the lock. `wait` is for all requests together; all but `wait` and `signal` are fields of the API, and so are
   * those of `fields`, for a batond that has more of them. */
  async acquire(names, { wait = 0, signal, fields, ...options } = {}) {
    const lease = new Lease(names, { ...options, ...fields });
    const limit = milliseconds(wait, Infinity);
    signal?.throwIfAborted();
    try {
      await this.#batonds.acquire(lease, limit, signal);
    } catch (error) {
      await this.#batonds.release(lease); // leaves the queue; a grant whose answer was lost ends, too
      throw error;
    }
    return new Lock(this.#batonds, lease);
  }

  /** A lock that another has taken, who has passed its token on. It is renewed and released like any other. */
  async held(names, token) {
    const lease = new Lease(names, {}, token ?? "");
    await this.#batonds.adopt(lease);
    return new Lock(this.#batonds, lease);
  }

  async inspect(name) {
    return this.#batonds.request("GET", pathOf(name), "version");
  }

  /** Yields what is held under a prefix; with `owner` or `heldFor`, what has a hold that fits. */
  async *list(prefix, { owner, heldFor: held_for, signal } = {}) {
    for (let cursor; cursor !== null; ) {
      const fields = { prefix: prefix || undefined, owner, held_for, cursor };
      const page = await this.#batonds.request("GET", "/locks", "locks", fields, signal);
      yield* page.locks;
      cursor = page.cursor ?? null;
    }
  }

  /** Ends all holds of the name, whoever has them, or that of the fence, and says which. After an Unavailable, look
   * before you repeat it. */
  async breakLock(name, { fence, reason } = {}) {
    return this.#batonds.request("DELETE", pathOf(name), "broken", { force: true, fence, reason });
  }

  /** Yields the lock as it is, and whenever it changes; with a prefix in place of a name, what changes under it. */
  async *events(name, { prefix, after, signal } = {}) {
    const path = name === undefined || name === null ? "/events" : `${pathOf(name)}/events`;
    for (;;) {
      const document = await this.#batonds.change(path, { prefix, after }, signal);
      after = document.version;
      yield document;
    }
  }
}

module.exports = { Client, Lock, ...require("./errors.js") };
