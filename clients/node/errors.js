// errors.js: what can go wrong; a class for each kind of problem document.

/** All errors of this package. */
export class BatonError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The lock may be another's from now on. Stop the work that it protects. */
export class LockLost extends BatonError {}

/** batond, or the proxy in front of it, has refused a request. */
export class Problem extends BatonError {
  constructor(status, document) {
    super(`${document.code ?? status}: ${document.detail ?? ""}`);
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
export class Locked extends Problem {
  get holders() {
    return this.document.holders ?? [];
  }
}

export class WaitTimeout extends Locked {}
export class NotHeld extends Problem {}
/** The hold has reached its max_held, and cannot get longer. */
export class MaxHeld extends Problem {}
export class TokenInUse extends Problem {}
export class UpgradeConflict extends Problem {}
export class Superseded extends Problem {}
/** The request itself is wrong; repeating it does not help. */
export class Invalid extends Problem {}
export class Unauthorized extends Problem {}
export class Forbidden extends Problem {}
/** Too many requests wait, or were sent in a second. */
export class TooMany extends Problem {}
/** The record of the lock in Redis cannot be read. */
export class Damaged extends Problem {}
/** No batond can serve now, or the outcome is unknown. Repeating the request is safe. */
export class Unavailable extends Problem {}
/** New locks are paused, because Redis may have lost some. */
export class Quarantined extends Unavailable {}
/** No batond has answered. */
export class Unreachable extends Unavailable {}

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

/** The error that a reply stands for; its status is 0 if nobody has answered. */
export function problemOf(reply) {
  const Kind = OF_CODE.get(reply.document.code) ?? OF_STATUS.get(reply.status) ?? Invalid;
  return new Kind(reply.status, reply.document);
}
