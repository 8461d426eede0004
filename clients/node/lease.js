// lease.js: a hold of one name or several, and how long this client counts on it. All times are in milliseconds.
"use strict";
const { randomBytes } = require("node:crypto");
const os = require("node:os");
const { inspect } = require("node:util");

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const DURATIONS = new Set(["ttl", "wait", "keep", "at_least", "max_held", "held_for"]);

const LATE = "no batond has renewed the lock in time";

const now = () => performance.now();

/** A number is milliseconds; a text has a unit: 500ms, 30s, 5m, 2h. */
function milliseconds(duration, most = Number.MAX_SAFE_INTEGER) {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(duration);
  const ms = match ? Number(match[1]) * UNITS[match[2]] : duration;
  if (typeof ms === "number" && ms >= 0 && ms <= most) return ms;
  throw new TypeError(`${inspect(duration)} is no duration. Write a number of milliseconds, or 500ms, 30s, 5m or 2h.`);
}

/** Fields of a request: durations become those with _ms, all others stay as they are. */
function apiFields(fields) {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) =>
      DURATIONS.has(name) ? [`${name}_ms`, Math.round(milliseconds(value))] : [name, value],
    ),
  );
}

function pathOf(name) {
  if (typeof name === "string" && name) return `/locks/${encodeURIComponent(name)}`;
  throw new TypeError(`The name of a lock is a text that is not empty, and not ${inspect(name)}.`);
}

/** A secret, without the line break at the end of a file. */
function ofHeader(text, what) {
  const secret = String(text).trim();
  if (/^[!-~]+$/.test(secret)) return secret;
  throw new TypeError(`The ${what} has a character that no header can carry. Is it the ${what}, and nothing else?`);
}

function ownerHere() {
  let user = "user";
  try {
    user = os.userInfo().username;
  } catch {
    // The user of this process may have no name.
  }
  return `${user.slice(0, 32)}@${os.hostname()}`;
}

const holdsOf = (document) => (Array.isArray(document.locks) ? document.locks : [document]);

class Lease {
  /** The token is given if the hold is another's, who has passed it on. */
  constructor(names, fields, token = randomBytes(16).toString("base64url")) {
    this.names = [names].flat();
    const paths = this.names.map(pathOf);
    if (!paths.length) throw new TypeError("A lock has a name, or several.");
    [this.path, this.body] = paths.length === 1 ? [paths[0], {}] : ["/locks", { names: this.names }];
    this.token = ofHeader(token, "token");
    this.fields = apiFields(fields);
    if (this.fields.reentrant && !("owner" in this.fields))
      throw new TypeError("reentrant is for the holds of one owner. Name it: owner.");
    this.fields.owner ??= ownerHere();
    this.document = {};
    this.ttl = 0;
    this.expires = -Infinity; // by the monotonic clock, before it ends in Redis
    this.renewAt = 0;
    this.most = Infinity; // that a TTL counts, since an unanswered request may yet shorten it
    this.why = ""; // it is lost, if it is: a text or a problem
    this.isTaken = false; // by an acquire that has succeeded
  }

  get holds() {
    return holdsOf(this.document);
  }

  get left() {
    return this.expires - now();
  }

  lose(why) {
    this.expires = -Infinity;
    this.why = why;
  }

  // From when the request was sent: it may have been on its way for any part of the time since.
  count(reply) {
    this.document = reply.document;
    this.ttl = Math.min(this.most, ...this.holds.map((hold) => hold.ttl_ms));
    this.expires = endOf(reply.sent, this.ttl);
    this.renewAt = reply.sent + this.ttl / 3;
    this.why = LATE;
  }

  // While a request for a shorter TTL is on its way: it may be obeyed at any time.
  limit(ttl = Infinity) {
    this.most = Math.min(this.most, ttl);
    this.expires = Math.min(this.expires, endOf(now(), ttl));
    this.renewAt = Math.min(this.renewAt, now() + ttl / 3);
  }
}

// A hundredth is for clocks that differ, the rest for a program that is slow to stop.
const endOf = (sent, ttl) => sent + ttl * 0.99 - Math.min(ttl / 10, 1000);

module.exports = { LATE, Lease, apiFields, milliseconds, now, ofHeader, pathOf };
