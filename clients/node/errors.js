// errors.js: what can go wrong; a class for each kind of problem document.
"use strict";

/** All errors of this package. */
class BatonError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The lock may be another's from now on. Stop the work that it protects. */
class LockLost extends BatonError {
  constructor(message, document) {
    super(message);
    this.code = document?.code ?? "";
    this.ended = document?.ended;
  }
}

/** batond, or the proxy in front of it, has refused a request. */
class Problem extends BatonError {
  constructor(status, document) {
    super((document.code ? `${document.code}: ` : "") + (document.detail ?? ""));
    this.status = status;
    this.document = document;
    this.code = document.code ?? "";
    this.detail = document.detail ?? "";
  }

  /** Milliseconds after which it makes sense to ask again; 0 if unknown. */
  get retryAfter() {
    return this.document.retry_after_ms ?? 0;
  }
}

/** Others hold the lock, or wait for it. */
class Locked extends Problem {
  get holders() {
    return this.document.holders ?? [];
  }
}

class WaitTimeout extends Locked {}
class NotHeld extends Problem {}
/** The hold has reached its max_held, and cannot get longer. */
class MaxHeld extends Problem {}
class TokenInUse extends Problem {}
class UpgradeConflict extends Problem {}
class Superseded extends Problem {}
/** The request itself is wrong; repeating it does not help. */
class Invalid extends Problem {}
class Unauthorized extends Problem {}
class Forbidden extends Problem {}
/** Too many requests wait, or were sent in a second. */
class TooMany extends Problem {}
/** The record of the lock in Redis cannot be read. */
class Damaged extends Problem {}
/** No batond can serve now, or the outcome is unknown. Repeating the request is safe. */
class Unavailable extends Problem {}
/** New locks are paused, because Redis may have lost some. */
class Quarantined extends Unavailable {}
/** No batond has answered. */
class Unreachable extends Unavailable {}

const OF_CODE = new Map(
  Object.entries({
    locked: Locked,
    wait_timeout: WaitTimeout,
    not_held: NotHeld,
    max_held: MaxHeld,
    token_in_use: TokenInUse,
    upgrade_conflict: UpgradeConflict,
    superseded: Superseded,
    damaged: Damaged,
    quarantined: Quarantined,
  }),
);
const OF_STATUS = new Map([
  [0, Unreachable],
  [401, Unauthorized],
  [403, Forbidden],
  [408, Unavailable],
  [409, Problem],
  [429, TooMany],
  [500, Problem],
  [502, Unavailable],
  [503, Unavailable],
  [504, Unavailable],
]);

// What a refused acquire says of its token, and what is so when its error is thrown.
const OF_TOKEN = /(^|(?<=\. ))(Your place in the queue|[^.]*\bthis token\b).*/s;
const GIVEN_UP = "The client has given up its place in the queue.";

/** The error that a reply stands for; its status is 0 if nobody has answered. */
function problemOf({ status, document: { token, ...document } }) {
  const Kind = OF_CODE.get(document.code) ?? OF_STATUS.get(status) ?? Invalid;
  if (token) document.detail = String(document.detail ?? "").replace(OF_TOKEN, GIVEN_UP);
  return new Kind(status, document);
}

module.exports = {
  BatonError, LockLost, Problem, Locked, WaitTimeout, NotHeld, MaxHeld, TokenInUse, UpgradeConflict, Superseded,
  Invalid, Unauthorized, Forbidden, TooMany, Damaged, Unavailable, Quarantined, Unreachable, problemOf,
};
