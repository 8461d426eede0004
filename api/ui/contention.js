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

// What is certain: batond counts names in a bounded place, and says by how much it may be too many.
// A count that is mostly that says nothing.
function mostExpired() {
  const certain = (one) => one.expirations - one.error;
  const top = (counted.stats?.most_expirations ?? []).filter((one) => certain(one) > one.error)
    .sort((a, b) => certain(b) - certain(a)).slice(0, LISTED_MOST);
  return top.map((one) => entry(one.name, (one.error > 0 ? "at least " : "") + count(certain(one), "time"),
    certain(one) / certain(top[0]), null));
}

function longestHolds() {
  const top = (counted.stats?.longest_holds ?? []).slice(0, LISTED_MOST);
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

// What is so where nobody is seen to wait.
function calmText() {
  if (!at("sign-in").hidden) return "Sign in to see who waits for what.";
  if (!page.isFollowing) return "The waiters cannot be shown.";
  if (!store.loaded) return "The waiters are not known yet.";
  const what = table.prefix ? "a lock that begins so" : "anything";
  return troubleOfLine() ? "Nobody waited for " + what + " when batond last answered, at " + zonedClock.format(page.heardAt) + "."
    : "Nobody waits for " + what + ". Queues, long waits and deadlocks show up here.";
}

function contentionPart(now) {
  const contended = [...store.locks.values()].filter((lock) => lock.queueLength > 0);
  const past = [list("Expired most often", mostExpired()), list("Held longest", longestHolds())];
  const present = contended.length === 0 ? [element("p", { class: "hint" }, calmText())]
    : [list("Longest queues", longestQueues(contended)), list("Longest waits", longestWaits(contended, now))];
  const span = past.every((part) => part === null) ? null
    : element("p", { class: "span" }, "By this batond in the last " + duration(counted.stats.window_ms));
  return [...present, span, ...past];
}

function showContention() {
  if (details.name) return;
  const keyOfDeadlock = graph.deadlocks.map((cycle) => cycle.map((edge) => keyOf(edge.who) + edge.lock.name).join()).join();
  renew(at("deadlocks"), keyOfDeadlock, deadlocksPart);
  renew(at("server"), JSON.stringify(serverFacts()), () => [serverPart()]);
  const focused = at("contention").contains(document.activeElement);
  if (!focused) at("contention").replaceChildren(...contentionPart(Date.now()).filter((part) => part !== null));
}
