// The page as a whole: joins what is known to what is shown.

const FRAME_MS = 200;   // what changes with time
const SLOW_MS = 1000;   // what takes all locks to work out
const STATS_MS = 5000;
const FILTER_MS = 250;

const page = {
  line: null, refresher: null, changes: -1, arranged: 0,
  isFollowing: false, // it has a line, be it broken just now
  isLive: false,      // that line stands
  failing: null,      // why not, and when it is tried again
  snapshotAt: 0,      // when the latest snapshot began
  wakesAt: 0,
  heardAt: 0,         // when all was well the last time
};

// What the line is like, and what is the matter with it.

function showLink(state, text) {
  const link = at("link");
  if (link.dataset.state !== state) announce(state === "live" ? "Live" : text);
  link.dataset.state = state;
  setText(at("link-text"), text);
  document.body.classList.toggle("stale", page.isFollowing && state !== "live");
}

// Why what is shown may be out of date; "" while it is not.
function troubleOfLine() {
  if (page.failing) return page.failing;
  if (!page.isLive) return "";
  if (server.isStoreAway || isFailing("redis")) return SENTENCES.store_unavailable();
  return server.isSilent ? "batond does not answer" : "";
}

function againText() {
  if (!page.failing) return "";
  const seconds = Math.max(0, Math.ceil((page.wakesAt - Date.now()) / 1000));
  return " Trying again" + (seconds > 0 ? " in " + seconds + " s." : "…");
}

function showLine() {
  if (!page.isFollowing) return;
  const trouble = troubleOfLine();
  if (trouble) {
    const of = page.heardAt > 0 ? " You see the state of " + zonedClock.format(page.heardAt) + "." : "";
    showLink("asleep", "not live");
    showNotice("notice", "alarm", ["Not live: " + trouble + "." + of + againText()]);
    return;
  }
  hideNotice("notice");
  page.heardAt = page.isLive ? Date.now() : page.heardAt;
  if (page.isLive) showLink("live", "live");
}

async function lookAtServer() {
  await refreshServer();
  if (!page.isFollowing) return;
  showServerNotices();
  showLine();
  showEmpty();
  showContention();
}

function forgetServer() {
  takeServer({});
  showServerNotices();
}

function hearOfStore(isAvailable) {
  server.isStoreAway = !isAvailable;
  showLine();
  lookAtServer();
}

// What is held is told anew: what is not told is gone, but is shown until then.
function snapshotBegins() {
  page.snapshotAt = Date.now();
  store.left = 0;
}

function snapshotEnds() {
  forgetUnseen(page.snapshotAt);
  store.loaded = true;
  store.changes++;
}

const lineListener = {
  live() {
    page.failing = null;
    page.isLive = true;
    server.isStoreAway = false;
    lookAtServer();
  },
  event(type, data) {
    if (type === "snapshot") snapshotBegins();
    else if (type === "lock") learnt(learn(data));
    else if (type === "complete") snapshotEnds();
    else if (type === "store") hearOfStore(data.available);
  },
  asleep(why, ms) {
    page.failing = why;
    page.isLive = false;
    page.wakesAt = Date.now() + ms;
    showLine();
    lookAtServer();
  },
  refused(refusal) {
    if (refusal.status === 401) showSignIn(refusal);
    else showRefused(refusal);
  },
};

function learnt(lock) {
  if (lock.name !== details.name) return;
  details.last = lock;
  if (!isShort(lock) || lock.queueLength <= lock.waiters.length) details.line = lock.waiters;
}

// Those that the page has to know best: the one whose details are shown, those that ought to have
// ended or been renewed by now, and those that most wait for.
function pickLocks(most) {
  const now = Date.now();
  const due = [...store.locks.values()].filter((lock) => endOf(lock) < now).map((lock) => lock.name);
  const names = [...(details.name ? [details.name] : []), ...due, ...mostWaitedFor()];
  return [...new Set(names)].slice(0, most);
}

function connect() {
  disconnect();
  forgetAll();
  page.isFollowing = true;
  showLink("connecting", "connecting");
  page.line = new LiveLine(table.prefix, lineListener);
  page.refresher = new Refresher(table.prefix, pickLocks, { learnt, refused: lineListener.refused });
}

function disconnect() {
  page.line?.close();
  page.refresher?.close();
  page.line = page.refresher = page.failing = null;
  page.isFollowing = page.isLive = false;
  page.heardAt = 0;
}

// Who asks.

function showSignIn(refusal) {
  disconnect();
  forgetServer();
  forgetAll();
  showLink("closed", "signed out");
  hideNotice("notice");
  setText(at("sign-in-why"), credentials.token ? "This API key does not work: " + refusal.message + "."
    : "This batond shows its locks only to known callers. Ask its operator for an API key.");
  at("sign-in").hidden = false;
  at("sign-out").hidden = true;
  redraw();
  at("token").focus();
}

function showRefused(refusal) {
  disconnect();
  forgetServer();
  forgetAll();
  showLink("closed", refusal.status === 403 ? "not permitted" : "not possible");
  showNotice("notice", "warn", [(refusal.status === 403 ? "You may not look at these locks: " : "These locks cannot be shown: ") + refusal.message + "."]);
  at("sign-out").hidden = credentials.token === "";
  redraw();
}

function signIn(event) {
  event.preventDefault();
  const token = at("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    setText(at("sign-in-why"), "An API key has letters, digits and signs, and no spaces.");
    return;
  }
  credentials.token = token;
  at("token").value = "";
  at("sign-in").hidden = true;
  at("sign-out").hidden = false;
  forgetRefusals();
  connect();
  at("prefix").focus();
}

function signOut() {
  credentials.token = "";
  counted.stats = null;
  eventsByName.clear();
  choose("");
  forgetRefusals();
  connect();
}

// Which lock is looked at, and which ones are shown: in the part of the URL that no server sees.

function choose(name) {
  const before = details.name;
  if (name) openDetails(name);
  else closeDetails();
  table.selected = name;
  saveAddress();
  render();
  if (name && !details.last) inspect(name).then((view) => learnt(learn(view))).then(render, () => {});
  if (!name && before) returnTo(before);
}

// On a narrow screen it stands below all locks.
function showOverview() {
  choose("");
  at("side").scrollTop = 0;
  at("side").scrollIntoView();
  at("overview-title").focus({ preventScroll: true });
}

function returnTo(name) {
  const index = table.shown.findIndex((lock) => lock.name === name);
  if (index >= 0) focusRow(index);
  else at("scroller").focus({ preventScroll: true });
}

function saveAddress() {
  const parts = new URLSearchParams();
  if (table.prefix) parts.set("prefix", table.prefix);
  if (table.owner) parts.set("owner", table.owner);
  if (table.heldFor) parts.set("held_for", table.heldFor);
  if (details.name) parts.set("lock", details.name);
  history.replaceState(null, "", parts.size > 0 ? "#" + parts : location.pathname);
}

function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  at("prefix").value = parts.get("prefix") ?? "";
  at("owner").value = parts.get("owner") ?? "";
  at("held-for").value = parts.get("held_for") in HELD_FOR_MS ? parts.get("held_for") : "";
  readFilter();
  return parts.get("lock") ?? "";
}

function readFilter() {
  table.prefix = at("prefix").value;
  table.owner = at("owner").value;
  table.heldFor = at("held-for").value;
}

let filtering;

// batond filters by prefix alone, so that the line need not be made anew for the rest.
function filter() {
  readFilter();
  at("scroller").scrollTop = 0;
  redraw();
  clearTimeout(filtering);
  filtering = setTimeout(() => {
    saveAddress();
    if (at("sign-in").hidden && page.line?.prefix !== table.prefix) connect();
  }, FILTER_MS);
}

// Showing.

function showCounts() {
  const isKnown = store.loaded;
  setText(at("count-held"), isKnown ? table.shown.length.toLocaleString("en") : "–");
  const waiting = table.shown.reduce((sum, lock) => sum + lock.queueLength, 0);
  setText(at("count-waiting"), isKnown ? waiting.toLocaleString("en") : "–");
  setText(at("count-deadlocks"), String(graph.deadlocks.length));
  setText(at("count-deadlocks-label"), graph.deadlocks.length === 1 ? "deadlock" : "deadlocks");
  at("count-deadlocks-box").hidden = graph.deadlocks.length === 0;
  if (store.left > 0) {
    showNotice("too-many", "note", ["There are more than " + LOCKS_MOST.toLocaleString("en") + " held locks: filter by prefix to see the others."]);
  } else hideNotice("too-many");
}

function showEmpty() {
  const isEmpty = store.loaded && table.shown.length === 0 && at("sign-in").hidden;
  at("empty").hidden = !isEmpty;
  at("scroller").hidden = table.shown.length === 0;
  if (!isEmpty) return;
  const base = new URL("locks/", location.href).href;
  const name = table.prefix ? encodeURIComponent(table.prefix) + "demo" : "demo";
  const who = credentials.token ? ' -H "Authorization: Bearer $TOKEN"' : "";
  const isWas = troubleOfLine() ? " was held" : " is held";
  setText(at("empty-title"), (isFiltered() ? "Nothing that fits" : table.prefix ? "Nothing with this prefix" : "Nothing") + isWas);
  setText(at("empty-text"), troubleOfLine() ? "That was so when batond last answered."
    : isFiltered() ? "Locks that are held otherwise are not shown."
    : pauseOf() ? "Locks can be taken once their pause is over, and appear here." : "Take a lock in a terminal, and watch it appear here:");
  at("empty-try").hidden = troubleOfLine() !== "" || isFiltered() || pauseOf() !== null;
  setText(at("empty-command"), "curl -X POST" + who + " '" + base + name.replaceAll("'", "%27") + "?ttl=30s'");
}

function announceDeadlocks(before) {
  if (graph.deadlocks.length > before) announce(count(graph.deadlocks.length, "deadlock"));
}

// All of it, now.
function redraw() {
  page.changes = -1;
  page.arranged = 0;
  render();
}

// What takes all locks is done once a second where there are many.
function render() {
  const now = Date.now();
  const isDue = now - page.arranged > (store.locks.size > 500 ? SLOW_MS : 0);
  if (page.changes !== store.changes && isDue) {
    const before = graph.deadlocks.length;
    page.changes = store.changes;
    page.arranged = now;
    updateGraph();
    arrange();
    ensureCurrent();
    announceDeadlocks(before);
    showCounts();
    showEmpty();
  }
  showRows();
  showDetails();
}

function frame() {
  if (document.hidden) return;
  showLine();
  if (page.changes !== store.changes) render();
  else {
    showTimes(Date.now());
    showDetailTimes(Date.now());
  }
}

async function copyCommand() {
  try {
    await navigator.clipboard.writeText(at("empty-command").textContent);
    announce("Copied");
    setText(at("copy"), "Copied");
  } catch {
    getSelection().selectAllChildren(at("empty-command")); // where pages may not write there
  }
}

function onKey(event) {
  const isTyping = event.target.closest("input, select, dialog") !== null;
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    at("prefix").focus();
    at("prefix").select();
  }
  if (event.key === "Escape" && !event.target.closest("dialog")) {
    if (event.target.matches("#prefix, #owner")) at("scroller").focus();
    else if (details.name) choose("");
  }
}

function open() {
  table.choose = choose;
  openTable(redraw);
  openBreaking();
  for (const form of [at("filter"), at("fitting")]) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      focusRow(0);
    });
  }
  for (const id of ["prefix", "owner", "held-for"]) at(id).addEventListener("input", filter);
  at("sign-in").addEventListener("submit", signIn);
  at("sign-out").addEventListener("click", signOut);
  at("details-close").addEventListener("click", () => choose(""));
  for (const id of ["count-waiting", "count-deadlocks"]) at(id).addEventListener("click", showOverview);
  at("copy").addEventListener("click", copyCommand);
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", () => document.hidden || page.line?.hurry());
  window.addEventListener("online", () => page.line?.hurry());
  const name = readAddress();
  connect();
  if (name) choose(name);
  setInterval(frame, FRAME_MS);
  setInterval(() => document.hidden || showContention(), SLOW_MS);
  setInterval(() => document.hidden || !page.isLive || refreshStats(), STATS_MS);
  setInterval(() => document.hidden || !page.isFollowing || lookAtServer(), SERVER_MS);
}

open();
