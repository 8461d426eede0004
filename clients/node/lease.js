// lease.js: a hold of one name or several, and how long this client counts on it. All times are in milliseconds.
import { randomBytes } from "node:crypto";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, "": 1000 };
const DURATIONS = new Set(["ttl", "wait", "keep", "at_least", "max_held"]);

export const LATE = "no batond has renewed the lock in time";

export const now = () => performance.now();

/** A number is milliseconds; a text is what the API takes: 500ms, 30s, 5m, 2h. */
export function milliseconds(duration) {
  if (typeof duration === "number") return duration;
  const match = /^(\d+)(ms|s|m|h|)$/.exec(duration);
  if (!match) throw new TypeError(`${duration} is no duration; send 500ms, 30s, 5m or 2h`);
  return Number(match[1]) * UNITS[match[2]];
}

/** Fields of a request: durations that are numbers become those with _ms, all others stay as they are. */
export function apiFields(fields) {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) =>
      DURATIONS.has(name) && typeof value === "number" ? [`${name}_ms`, Math.round(value)] : [name, value],
    ),
  );
}

const holdsOf = (document) => (Array.isArray(document.locks) ? document.locks : [document]);

export class Lease {
  constructor(names, fields) {
    this.names = names;
    this.token = randomBytes(16).toString("base64url");
    this.fields = apiFields(fields);
    this.path = names.length === 1 ? `/locks/${encodeURIComponent(names[0])}` : "/locks";
    this.body = names.length === 1 ? {} : { names };
    this.document = {};
    this.ttl = 0;
    this.expires = -Infinity; // by the monotonic clock, before it ends in Redis
    this.renewAt = 0;
    this.why = ""; // it is lost, if it is
    this.isTaken = false; // by an acquire that has succeeded
  }

  get holds() {
    return holdsOf(this.document);
  }

  get left() {
    return this.expires - now();
  }

  // From when the request was sent: it may have been on its way for any part of the time since. A hundredth is for
  // clocks that differ, the rest for a program that is slow to stop.
  count(reply) {
    this.document = reply.document;
    this.ttl = Math.min(...this.holds.map((hold) => hold.ttl_ms));
    this.expires = reply.sent + this.ttl * 0.99 - Math.min(this.ttl / 10, 1000);
    this.renewAt = reply.sent + this.ttl / 3;
    this.why = LATE;
  }
}
