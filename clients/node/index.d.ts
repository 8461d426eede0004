// For programs whose `lib` does not have it, as in the types of Node.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/** A number is milliseconds; a text is what the API takes: 500ms, 30s, 5m, 2h. */
export type Duration = number | string;

export interface ClientOptions {
  /** The API key. */
  bearer?: string;
  /** Milliseconds for an answer, beside the wait; 5000 if absent. */
  timeout?: number;
  /** Milliseconds that one request waits, less than any proxy allows; 25000 if absent. */
  portion?: number;
  /** Milliseconds for which a request is repeated while no batond can serve; 10000 if absent. */
  patience?: number;
}

/** `wait` is for all requests together. Each further field goes to batond as it is. */
export interface LockOptions {
  wait?: Duration;
  /** Cancels the wait. */
  signal?: AbortSignal;
  ttl?: Duration;
  owner?: string;
  mode?: "exclusive" | "shared";
  /** Of a semaphore, with the mode shared. */
  limit?: number;
  /** For how many the hold counts by the limit; 1 if absent. */
  permits?: number;
  /** Whether the owner's other holds let this one in. */
  reentrant?: boolean;
  meta?: object;
  [field: string]: unknown;
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

/** The locks under a prefix that have changed, as GET /events shows them. */
export interface Changes {
  version: number;
  changed: boolean;
  complete: boolean;
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
  /** Ends the hold. Throws LockLost if it was lost before. */
  release(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

export class Client {
  constructor(urls?: string | string[], options?: ClientOptions);
  withLock<T>(names: string | string[], options: LockOptions, body: (lock: Lock) => Promise<T> | T): Promise<T>;
  acquire(names: string | string[], options?: LockOptions): Promise<Lock>;
  inspect(name: string): Promise<LockState>;
  breakLock(name: string): Promise<{ name: string; broken: number; version: number }>;
  events(name: string, options?: EventOptions): AsyncGenerator<LockState, void, void>;
  events(name: null | undefined, options: EventOptions & { prefix: string }): AsyncGenerator<Changes, void, void>;
}

export class BatonError extends Error {}
export class LockLost extends BatonError {}
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
