// Why everything waits: deadlocks, the longest queues, the longest waits, and what the batond that
// answers has counted in the last hour or so.

const LISTED_MOST = 5;

const counted = { stats: null };

async function refreshStats() {
  try {
    counted.stats = await stats();
  } catch {
    counted.stats = null; // the line says what is the matter
  }
}

// The names with most waiters, be they on the page of the list that is looked at next or not.
function mostWaitedFor() {
  return (counted.stats?.waiting ?? []).map((one) => one.name).filter((name) => name.startsWith(table.prefix));
}

function entry(name, figure, share, note) {
  const bar = element("span", { class: "share", "aria-hidden": "true" }, element("i"));
  bar.firstChild.style.transform = "scaleX(" + share.toFixed(3) + ")";
  return element("li", {}, link(name), element("span", { class: "figure" }, figure), bar,
    note ? element("span", { class: "note" }, note) : null);
}

function list(title, entries) {
  return entries.length === 0 ? null
    : element("div", { class: "top" }, heading(title), element("ol", {}, ...entries));
}

function longestQueues(locks) {
  const top = [...locks].sort((a, b) => b.queueLength - a.queueLength).slice(0, LISTED_MOST);
  return top.map((lock) => entry(lock.name, count(lock.queueLength, "waiter"),
    lock.queueLength / top[0].queueLength, null));
}

function longestWaits(locks, now) {
  const waits = locks.filter((lock) => lock.waiters.length > 0)
    .map((lock) => ({ lock, first: lock.waiters.reduce((a, b) => (b.since < a.since ? b : a)) }))
    .sort((a, b) => a.first.since - b.first.since).slice(0, LISTED_MOST);
  return waits.map(({ lock, first }) => entry(lock.name, age(now - first.since),
    (now - first.since) / Math.max(1, now - waits[0].first.since), ownerOf(first)));
}

function mostExpired() {
  const top = counted.stats?.most_expirations ?? [];
  return top.map((one) => entry(one.name, count(one.expirations, "time"), one.expirations / top[0].expirations, null));
}

function longestHolds() {
  const top = counted.stats?.longest_holds ?? [];
  return top.map((one) => entry(one.name, duration(one.held_ms), one.held_ms / Math.max(1, top[0].held_ms), null));
}

function deadlockItem(cycle) {
  return element("li", {}, ...cycle.map((edge) =>
    element("p", {}, ownerOf(edge.who), " waits for ", link(edge.lock.name))));
}

function deadlocksPart() {
  if (graph.deadlocks.length === 0) return [];
  return [element("div", { class: "deadlocks" },
    heading(count(graph.deadlocks.length, "deadlock")),
    element("ul", {}, ...graph.deadlocks.slice(0, LISTED_MOST).map(deadlockItem)),
    element("p", { class: "hint" }, "Each waits for what the next one holds. It ends when a wait or a hold ends, or when you break one of the locks."))];
}

function contentionPart(now) {
  const contended = [...store.locks.values()].filter((lock) => lock.queueLength > 0);
  const past = [list("Expired most often", mostExpired()), list("Held longest", longestHolds())];
  const present = contended.length === 0 ? [element("p", { class: "hint" }, "Nobody waits for anything. Queues, long waits and deadlocks show up here.")]
    : [list("Longest queues", longestQueues(contended)), list("Longest waits", longestWaits(contended, now))];
  const span = past.every((part) => part === null) ? null
    : element("p", { class: "span" }, "By this batond in the last " + duration(counted.stats.window_ms));
  return [...present, span, ...past];
}

function showContention() {
  if (details.name) return;
  const keyOfDeadlock = graph.deadlocks.map((cycle) => cycle.map((edge) => keyOf(edge.who) + edge.lock.name).join()).join();
  renew(at("deadlocks"), keyOfDeadlock, deadlocksPart);
  const focused = at("contention").contains(document.activeElement);
  if (!focused) at("contention").replaceChildren(...contentionPart(Date.now()).filter((part) => part !== null));
}
