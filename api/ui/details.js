// One lock: its holds, its queue, what they wait for, what happened to it.

const details = {
  name: "",
  last: null,        // the latest that is known of it, held or not
  isLineOpen: false, // all who wait are to be seen
  openNotes: new Set(), // the fences of the holds whose whole meta is to be seen
  line: [],          // as they were last told
};

const SHOWN_WAITERS = 10; // that are told unless one asks for more

const isShort = (lock) => lock.waiters.length <= SHOWN_WAITERS;
const isLineOpen = (name) => details.isLineOpen && name === details.name;

const WORDS = {
  granted: "granted",
  released: "released",
  expired: "expired",
  forced: "broken",
  ended: "ended",
};

function link(name) {
  const button = element("button", { type: "button", class: "name-link" }, ...nameOf(name));
  button.addEventListener("click", () => table.choose(name));
  return button;
}

function row(label, ...content) {
  return element("div", {}, element("dt", {}, label), element("dd", {}, ...content));
}

function holdCard(hold, isOneOfMany) {
  const left = timeLeft();
  left.dataset.fence = hold.fence;
  return element("li", { class: "hold" },
    element("p", {}, ownerOf(hold), element("span", { class: "mode" }, hold.isReleased ? "released" : hold.mode)),
    hold.isReleased ? element("p", { class: "hint" }, "Released, but taken for a least time.") : null,
    left,
    element("dl", {}, row("Fence", element("code", {}, String(hold.fence))),
      hold.permits > 1 ? row("Permits", String(hold.permits)) : null,
      hold.client ? row("From", element("code", {}, plain(hold.client))) : null,
      hold.mostUntil ? row("Held until, at most", zonedClock.format(hold.mostUntil)) : null,
      hold.takenUntil ? row("Taken at least until", zonedClock.format(hold.takenUntil)) : null,
      row(hold.isReleased ? "Granted before" : "Held for", element("span", { class: "since", "data-since": hold.since })),
      hold.meta === null ? null : row("Meta", ...notesOf(hold))),
    isOneOfMany ? breakOneButton(hold.fence) : null);
}

// A long note is shown from its beginning, with a button for the rest.
function notesOf(hold) {
  const whole = JSON.stringify(hold.meta, null, 2);
  const beginning = beginningOf(whole);
  const text = element("pre", {});
  const button = element("button", { type: "button", class: "quiet" });
  const show = () => {
    const isOpen = details.openNotes.has(hold.fence);
    text.replaceChildren(foreignLines(isOpen ? whole : beginning));
    setText(button, isOpen ? "Show less" : "Show all " + count(whole.length, "character"));
    button.setAttribute("aria-expanded", String(isOpen));
  };
  button.addEventListener("click", () => {
    if (!details.openNotes.delete(hold.fence)) details.openNotes.add(hold.fence);
    show();
  });
  show();
  return beginning === whole ? [text] : [text, button];
}

const NOTE_LINES = 10;
const NOTE_CHARACTERS = 400;

function beginningOf(text) {
  const lines = text.split("\n").slice(0, NOTE_LINES).join("\n");
  const beginning = [...lines].slice(0, NOTE_CHARACTERS).join("");
  return beginning === text ? text : beginning + "…";
}

function foreignLines(text) {
  const lines = text.split("\n").flatMap((line) => [...spaced(line), "\n"]);
  return element("span", {}, ...lines.slice(0, -1));
}

// The indentation is ours.
function spaced(line) {
  const indent = line.match(/^ */)[0];
  return [indent, foreign(line.slice(indent.length))];
}

function heading(text) {
  return element("h3", {}, text);
}

function holdersPart(lock) {
  if (lock.holdCount === 0) return [];
  const hidden = lock.holdCount - lock.holders.length;
  const isOneOfMany = lock.holdCount > 1 && mayBreak(lock.name);
  return [heading(lock.holdCount === 1 ? "Held by" : "Held by " + lock.holdCount),
    element("ul", { class: "holds" }, ...lock.holders.map((hold) => holdCard(hold, isOneOfMany))),
    hidden > 0 ? element("p", { class: "hint" }, "and " + count(hidden, "more hold")) : null];
}

// Who is told of by the way are the first ones; the others are asked for every two seconds.
function waitersOf(lock) {
  return details.isLineOpen && details.line.length > lock.waiters.length ? details.line : lock.waiters;
}

function openLine(isOpen) {
  details.isLineOpen = isOpen;
  details.line = [];
  showDetails();
  if (isOpen) inspect(details.name, { isLong: true }).then((view) => learnt(learn(view))).then(showDetails, () => {});
}

// A line for those who are not seen, and what shows or hides them. It stays the same button, so that
// it keeps the focus.
function restOfLine(lock, shown) {
  const hidden = lock.queueLength - shown;
  const more = details.isLineOpen ? 0 : Math.min(hidden, WAITERS_MOST - shown);
  if (!details.isLineOpen && hidden <= 0) return null;
  const button = element("button", { type: "button", class: "quiet", "aria-expanded": String(details.isLineOpen) },
    details.isLineOpen ? "Show the first " + SHOWN_WAITERS : "Show " + more + " more");
  button.addEventListener("click", () => {
    openLine(!details.isLineOpen);
    at("details-line").querySelector("button")?.focus({ preventScroll: true });
  });
  return element("p", { class: "hint rest" }, button,
    hidden > more ? element("span", {}, "and " + (hidden - more).toLocaleString("en") + " more behind them") : null);
}

function linePart(lock) {
  if (lock.queueLength === 0) return [];
  const waiters = waitersOf(lock);
  const items = waiters.map((waiter) => element("li", waiter.client ? { title: "from " + plain(waiter.client) } : {}, ownerOf(waiter),
    waiter.mode === "exclusive" ? null : element("span", { class: "mode" }, waiter.mode),
    element("span", { class: "since", "data-since": waiter.since })));
  return [heading("Waiting: " + lock.queueLength), element("ol", { class: "line" }, ...items), restOfLine(lock, waiters.length)];
}

function chainList(links) {
  return element("ul", { class: "chain" }, ...links.map((one) => element("li", {},
    ownerOf(one.who), " waits for ", link(one.lock.name), ", held by ",
    ...one.lock.holders.slice(0, 3).flatMap((hold, i) => [i > 0 ? ", " : "", ownerOf(hold)]),
    one.closes ? element("strong", { class: "alarm" }, "deadlock") : null,
    one.deeper.length > 0 ? chainList(one.deeper) : null)));
}

function chainPart(links) {
  return links.length === 0 ? [] : [heading("Its holder waits for"), chainList(links)];
}

// Who broke a hold, from where and why, as far as it is known.
function breakerOf(broken) {
  if (!broken) return "";
  const { principal, client, reason } = broken;
  const part = (before, text) => (text ? before + plain(text) : "");
  return part(" by ", principal) + part(" from ", client) + part(": ", reason);
}

function eventItem(event) {
  const time = element("time", { datetime: new Date(event.at).toISOString() }, clock.format(event.at));
  const whom = event.owner === null ? [] : [event.what === "granted" ? " to " : ", of ", foreign(event.owner)];
  return element("li", { class: event.what }, time, element("div", {}, element("span", {}, WORDS[event.what], ...whom, breakerOf(event.broken)), " ",
    element("code", {}, String(event.fence))));
}

function eventsPart(name) {
  const events = eventsByName.get(name) ?? [];
  if (events.length === 0) return [];
  return [heading("Events (times in " + zoneOf(events[0].at) + ")"), element("ol", { class: "events" }, ...events.map(eventItem))];
}

function stateOf(lock) {
  if (lock.holdCount > 0) return "";
  const last = lock.lastRelease;
  if (!last) return "Free, and not held in the last hour or so.";
  const whose = last.owner === null ? "" : ", of " + plain(last.owner) + (last.principal ? " (" + plain(last.principal) + ")" : "") + ",";
  return "Free. The last hold" + whose + " was " + WORDS[last.reason] + breakerOf(last.broken) + ".";
}

const keyOfHolds = (lock) => lock.holders.map((hold) => hold.fence + String(hold.isReleased)).join() + lock.holdCount + mayBreak(lock.name);
const keyOfLine = (lock) => lock.queueLength + waitersOf(lock).map((one) => keyOf(one) + one.mode).join() + details.isLineOpen;
const keyOfChain = (links) => links.map((one) => keyOf(one.who) + one.lock.name + one.lock.version + one.closes + keyOfChain(one.deeper)).join();

function showDetails() {
  const lock = details.last;
  if (!details.name || !lock) return;
  const links = chainOf(graph.waits, lock);
  setText(at("details-state"), stateOf(lock));
  renew(at("details-holders"), details.name + keyOfHolds(lock), () => holdersPart(lock));
  renew(at("details-line"), details.name + keyOfLine(lock), () => linePart(lock));
  renew(at("details-chain"), details.name + keyOfChain(links), () => chainPart(links));
  renew(at("details-events"), details.name + JSON.stringify(eventsByName.get(details.name) ?? []), () => eventsPart(details.name));
  showBreakButton(lock);
  showDetailTimes(Date.now());
}

function showDetailTimes(now) {
  if (!details.last) return;
  for (const node of at("details").querySelectorAll(".ttl")) {
    const hold = details.last.holders.find((one) => String(one.fence) === node.dataset.fence);
    if (hold) showTimeLeft(node, hold, now);
  }
  for (const node of at("details").querySelectorAll(".since")) {
    setText(node, age(now - Number(node.dataset.since)));
  }
}

function openDetails(name) {
  details.name = name;
  details.last = store.locks.get(name) ?? null;
  details.isLineOpen = false;
  details.openNotes.clear();
  at("details-name").replaceChildren(foreign(name));
  at("overview").hidden = true;
  at("details").hidden = false;
  document.body.classList.add("has-details");
  at("side").scrollTop = 0;
  at("details-name").focus({ preventScroll: true });
  showDetails();
}

function closeDetails() {
  if (!details.name) return;
  details.name = "";
  details.last = null;
  at("details").hidden = true;
  at("overview").hidden = false;
  document.body.classList.remove("has-details");
}
