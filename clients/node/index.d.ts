// For programs whose `lib` does not have it, as in the types of Node.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

export type Milliseconds = number;
/** A number is milliseconds; a text has a unit: 500ms, 30s, 5m, 2h. */
export type Duration = Milliseconds | `${number}${"ms" | "s" | "m" | "h"}`;
/** The name of a lock, or several names, all or none. */
export type Names = string | readonly string[];

export interface ClientOptions {
  /** The API key. */
  bearer?: string;
  /** For a whole answer, beside the wait; 5 s if absent. */
  timeout?: Duration;
  /** How long one request waits, less than any proxy allows; 25 s if absent. */
  portion?: Duration;
  /** How long a request is repeated while no batond can serve; 10 s if absent. */
  patience?: Duration;
}

export interface LockOptions {
  /** For all requests together; `Infinity` waits for ever. */
  wait?: Duration;
  /** Cancels the wait. */
  signal?: AbortSignal;
  ttl?: Duration;
  /** USER@HOST if absent. */
  owner?: string;
  mode?: "exclusive" | "shared";
  /** Of a semaphore, with the mode shared. */
  limit?: number;
  /** For how many the hold counts by the limit; 1 if absent. */
  permits?: number;
  /** Whether the owner's other holds let this one in. It needs an `owner`. */
  reentrant?: boolean;
  meta?: object;
  /** How long the name stays taken at least, also after a release. */
  at_least?: Duration;
  /** How long the hold lasts at most, renewals included. */
  max_held?: Duration;
  /** How many replicas of Redis must have the hold. */
  confirm?: "none" | `replicas:${number}`;
  /** How long the place in the queue is kept between two requests; 10 s if absent. */
  keep?: Duration;
  /** Fields that a later batond has. */
  fields?: Record<string, unknown>;
}

export interface Holder {
  owner: string;
  mode: "exclusive" | "shared";
  fence: number;
  ttl_ms: number;
  held_ms: number;
  meta: object | null;
  [field: string]: unknown;
}

/** A lock as GET /locks/NAME shows it. */
export interface LockState {
  name: string;
  state: "free" | "held";
  version: number;
  hold_count: number;
  holders: Holder[];
  queue_length: number;
  [field: string]: unknown;
}

/** How a hold ended. */
export interface Ended {
  fence: number;
  reason: "forced" | "expired" | "released";
  ago_ms: number;
  owner?: string;
  principal?: string;
  /** Who broke it, from where, and why. */
  broken?: { principal?: string; client?: string; reason?: string };
  /** Of several names, the one whose hold ended. */
  name?: string;
}

/** What a break has broken. */
export interface Broken {
  name: string;
  broken: number;
  version: number;
  holders: Holder[];
  [field: string]: unknown;
}

/** The locks under a prefix that have changed, as GET /events shows them. */
export interface Changes {
  version: number;
  changed: boolean;
  /** False if what you know of other locks is out of date: `locks` is all that is held. */
  complete: boolean;
  /** More is held than `locks` has: `list` has it. */
  more?: true;
  locks: LockState[];
  [field: string]: unknown;
}

export interface EventOptions {
  prefix?: string;
  after?: number;
  signal?: AbortSignal;
}

export class Lock {
  private constructor();
  readonly names: string[];
  readonly token: string;
  readonly mode: "exclusive" | "shared";
  /** The fence; of several locks, that of the first name. */
  readonly fence: number;
  readonly fences: Record<string, number>;
  /** Aborts when the lock is lost, with a LockLost as its reason. */
  readonly signal: AbortSignal;
  /** Milliseconds for which you may count on the lock; 0 if it is lost. */
  readonly left: number;
  /** Throws LockLost if the lock may be another's. */
  check(): void;
  /** Renews the lock now. With a `ttl` it has that one from now on; nothing is added to the time left. */
  extend(ttl?: Duration): Promise<void>;
  /** Ends the hold. Throws LockLost if it was lost before. */
  release(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Talks to one batond, or to several that share a Redis. */
export class Client {
  constructor(urls?: string | URL | readonly (string | URL)[], options?: ClientOptions);
  /** With `skip` the body does not run if another has the lock, and this resolves to undefined. */
  withLock<T>(
    names: Names,
    options: LockOptions & { skip: boolean },
    body: (lock: Lock) => Promise<T> | T,
  ): Promise<T | undefined>;
  withLock<T>(names: Names, options: LockOptions, body: (lock: Lock) => Promise<T> | T): Promise<T>;
  /** Waits until this process leads, and runs the body; after a loss again. Resolves to what it has returned. */
  lead<T>(name: string, options: Omit<LockOptions, "wait">, body: (lock: Lock) => Promise<T> | T): Promise<T>;
  acquire(names: Names, options?: LockOptions): Promise<Lock>;
  /** A lock that another has taken, who has passed its token on. */
  held(names: Names, token: string): Promise<Lock>;
  inspect(name: string): Promise<LockState>;
  /** What is held under a prefix; with `owner` or `heldFor`, what has a hold that fits. */
  list(prefix?: string, options?: { owner?: string; heldFor?: Duration; signal?: AbortSignal }): AsyncGenerator<LockState, void, void>;
  /** Ends all holds of the name, whoever has them, or that of the fence. */
  breakLock(name: string, options?: { fence?: number; reason?: string }): Promise<Broken>;
  events(name: string, options?: EventOptions): AsyncGenerator<LockState, void, void>;
  events(name: null | undefined, options: EventOptions & { prefix: string }): AsyncGenerator<Changes, void, void>;
}

export class BatonError extends Error {}
export class LockLost extends BatonError {
  /** `not_held` or `max_held` if batond has said so. */
  readonly code: string;
  /** If batond knows it. */
  readonly ended?: Ended;
}
export class Problem extends BatonError {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly document: Record<string, unknown>;
  /** Milliseconds after which it makes sense to ask again; 0 if unknown. */
  readonly retryAfter: number;
}
export class Locked extends Problem {
  readonly holders: Holder[];
}
export class WaitTimeout extends Locked {}
export class NotHeld extends Problem {}
export class MaxHeld extends Problem {}
export class TokenInUse extends Problem {}
export class UpgradeConflict extends Problem {}
export class Superseded extends Problem {}
export class Invalid extends Problem {}
export class Unauthorized extends Problem {}
export class Forbidden extends Problem {}
export class TooMany extends Problem {}
export class Damaged extends Problem {}
export class Unavailable extends Problem {}
export class Quarantined extends Unavailable {}
export class Unreachable extends Unavailable {}
