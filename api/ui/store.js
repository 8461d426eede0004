// What is known of the locks that are held. Times are those of the local clock, worked out from
// the milliseconds that batond tells.

const LOCKS_MOST = 20000;

const store = {
  locks: new Map(), // by name
  changes: 0,       // grows whenever anything here changes
  loaded: false,    // what is held has been told once
  left: 0,          // names that there was no room for
};

function readHolder(holder, now, known) {
  const before = known?.holders.find((one) => one.fence === holder.fence);
  // The whole of the bar: the TTL, as far as it can be told. A renewed hold is older than that.
  const ttl = holder.held_ms <= holder.ttl_ms ? holder.ttl_ms + holder.held_ms : holder.ttl_ms;
  return {
    owner: holder.owner,
    principal: holder.principal ?? "",
    client: holder.client ?? "",
    mode: holder.mode,
    fence: holder.fence,
    meta: holder.meta,
    permits: holder.permits ?? 1,
    isReleased: holder.released === true,
    takenUntil: holder.at_least_ms ? now + holder.at_least_ms : 0,
    mostUntil: holder.max_held_ms ? now + holder.max_held_ms : 0,
    endsAt: now + holder.ttl_ms,
    since: now - holder.held_ms,
    span: Math.max(before ? before.span : ttl, holder.ttl_ms, 1),
  };
}

function readWaiter(waiter, now) {
  return {
    owner: waiter.owner,
    principal: waiter.principal ?? "",
    client: waiter.client ?? "",
    mode: waiter.mode,
    since: now - waiter.waited_ms,
  };
}

function readLock(view, now, known) {
  return {
    name: view.name,
    version: view.version,
    holdCount: view.hold_count,
    limit: view.limit ?? 0,
    taken: view.taken ?? 0,
    queueLength: view.queue_length,
    holders: view.holders.map((holder) => readHolder(holder, now, known)),
    waiters: (view.waiters ?? []).map((waiter) => readWaiter(waiter, now)),
    lastRelease: view.last_release && {
      fence: view.last_release.fence,
      owner: view.last_release.owner ?? null,
      principal: view.last_release.principal ?? "",
      reason: view.last_release.reason,
      broken: view.last_release.broken ?? null,
      at: now - view.last_release.ago_ms,
    },
    seenAt: now,
  };
}

// Takes in what batond tells of a lock, unless something newer is known. Returns it as it is kept,
// or as it would be: a free lock is not.
function learn(view) {
  const known = store.locks.get(view.name);
  const lock = readLock(view, Date.now(), known);
  if (known && known.version > lock.version) return known;
  recordEvents(known, lock);
  if (lock.holdCount === 0) store.locks.delete(lock.name);
  else if (known || store.locks.size < LOCKS_MOST) store.locks.set(lock.name, lock);
  else store.left++;
  store.changes++;
  return lock;
}

function forgetAll() {
  store.locks.clear();
  store.loaded = false;
  store.left = 0;
  store.changes++;
}

// Those that a whole snapshot or listing begun at that time did not show are not held.
function forgetUnseen(since) {
  for (const lock of store.locks.values()) {
    if (lock.seenAt < since) {
      store.locks.delete(lock.name);
      store.changes++;
    }
  }
}

// When the first of its holds ends.
function endOf(lock) {
  return lock.holders.length > 0 ? lock.holders[0].endsAt : 0;
}
