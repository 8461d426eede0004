// Who waits for whom: a lock, those who hold it, and what they wait for themselves.

const keyOf = (who) => who.principal + "\u001f" + who.owner;

// One free place among several is enough for this waiter: it waits for no holder in particular.
function waitsForAny(lock, waiter) {
  return waiter.mode === "shared" && lock.limit > 1 && lock.holders.every((hold) => hold.mode === "shared");
}

// For each owner that waits: {who, lock, for: [keys of those it waits for]}.
function waitsByOwner(locks) {
  const waits = new Map();
  for (const lock of locks) {
    for (const waiter of lock.waiters) {
      const key = keyOf(waiter);
      const holders = waitsForAny(lock, waiter) ? [] : lock.holders.map(keyOf).filter((one) => one !== key);
      const edges = waits.get(key) ?? [];
      edges.push({ who: waiter, lock, for: holders });
      waits.set(key, edges);
    }
  }
  return waits;
}

const LOOK_MOST = 500; // owners on the way

// The way from an owner back to itself, as edges; null where there is none.
function findCycle(waits, start) {
  const seen = new Set();
  const path = [];
  const visit = (key) => {
    if (seen.has(key) || seen.size === LOOK_MOST) return false;
    seen.add(key);
    for (const edge of waits.get(key) ?? []) {
      path.push(edge);
      if (edge.for.some((next) => next === start || visit(next))) return true;
      path.pop();
    }
    return false;
  };
  return visit(start) ? path : null;
}

// Every owner is in one cycle at most: that is enough to see what has to be broken.
function findDeadlocks(waits) {
  const deadlocks = [];
  const found = new Set();
  for (const key of waits.keys()) {
    const cycle = found.has(key) ? null : findCycle(waits, key);
    if (!cycle) continue;
    for (const edge of cycle) found.add(keyOf(edge.who));
    deadlocks.push(cycle);
  }
  return deadlocks;
}

const LINKS_MOST = 100;

// What the holders of a lock wait for themselves, and so on: [{who, lock, deeper}]. The near ones
// first: there may be millions of ways from here, and so many are more than anybody reads.
function chainOf(waits, lock, depth = 6, seen = new Set(), room = { left: LINKS_MOST }) {
  if (depth === 0 || seen.has(lock.name)) return [];
  const further = new Set(seen).add(lock.name);
  const links = [];
  for (const holder of lock.holders) {
    for (const edge of waits.get(keyOf(holder)) ?? []) {
      if (edge.lock.name === lock.name) continue;
      if (room.left === 0) break;
      room.left--;
      links.push({ who: holder, lock: edge.lock, closes: further.has(edge.lock.name), deeper: [] });
    }
  }
  for (const next of links) next.deeper = chainOf(waits, next.lock, depth - 1, further, room);
  return links;
}

const graph = { waits: new Map(), deadlocks: [], names: new Set() };

function updateGraph() {
  const contended = [...store.locks.values()].filter((lock) => lock.waiters.length > 0);
  graph.waits = waitsByOwner(contended);
  graph.deadlocks = findDeadlocks(graph.waits);
  graph.names = new Set(graph.deadlocks.flat().map((edge) => edge.lock.name));
}
