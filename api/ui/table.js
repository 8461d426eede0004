// The table of held locks. Only the rows in sight are in the document, so that thousands do not
// slow it down; two empty rows keep the place of the others.

const ORDERS = {
  name: (a, b) => byName.compare(a.name, b.name),
  owner: (a, b) => byName.compare(holdOf(a).owner, holdOf(b).owner),
  left: (a, b) => holdOf(a).endsAt - holdOf(b).endsAt,
  held: (a, b) => holdOf(a).since - holdOf(b).since,
  waiting: (a, b) => b.queueLength - a.queueLength,
};
const byName = new Intl.Collator("en", { numeric: true });
const GREATEST_FIRST = ["held", "waiting"]; // unless they are turned round
const AROUND = 6; // rows beyond both edges
const HELD_FOR_MS = { "": -Infinity, "1m": 60000, "10m": 600000, "1h": 3600000, "24h": 86400000 };

const table = {
  prefix: "",
  owner: "",
  heldFor: "",        // one of HELD_FOR_MS
  before: Infinity,   // when holds were granted that were held for so long
  sort: "",
  reversed: false,
  shown: [],          // the locks in their order
  rows: new Map(),    // the rows in the document, by name
  selected: "",       // the lock whose details are shown
  current: "",        // the one that the keys move from
  choose: () => {},
};

function compare(a, b) {
  const first = ORDERS[table.sort](a, b);
  return (table.reversed ? -first : first) || ORDERS.name(a, b);
}

const isFiltered = () => table.owner !== "" || table.heldFor !== "";

const fits = (hold) => (table.owner === "" || hold.owner === table.owner) && hold.since <= table.before;

// The hold that a row is about: the first that fits.
const holdOf = (lock) => lock.holders.find(fits) ?? lock.holders[0];

// Beginning with the order of before: what is nearly sorted is soon sorted.
function arrange() {
  const isShown = (lock) => lock !== undefined && lock.name.startsWith(table.prefix) && lock.holders.some(fits);
  table.before = Date.now() - HELD_FOR_MS[table.heldFor];
  const before = new Set(table.shown.map((lock) => lock.name));
  const old = table.shown.map((lock) => store.locks.get(lock.name));
  const added = [...store.locks.values()].filter((lock) => !before.has(lock.name));
  table.shown = [...old, ...added].filter(isShown).sort(compare);
}

function rowHeight() {
  return parseFloat(getComputedStyle(at("table")).getPropertyValue("--row")) || 36;
}

function modeOf(lock) {
  const hold = holdOf(lock);
  if (hold.isReleased) return "released";
  if (hold.mode === "exclusive") return "exclusive";
  return lock.limit > 0 ? "shared " + lock.taken + "/" + lock.limit : "shared";
}

function cell(className, ...children) {
  return element("td", { role: "cell", class: className }, ...children);
}

// The bar is a picture of the text beside it.
function timeLeft(hold) {
  return element("span", { class: "ttl" }, element("span", { class: "ttl-text" }),
    element("span", { class: "ttl-bar", "aria-hidden": "true" }, element("i")));
}

function showTimeLeft(node, hold, now) {
  const left = hold.endsAt - now;
  const share = Math.max(0, Math.min(1, left / hold.span));
  setText(node.querySelector(".ttl-text"), left > 0 ? duration(left) : "due");
  node.querySelector("i").style.transform = "scaleX(" + share.toFixed(4) + ")";
  node.classList.toggle("soon", left < 5000 || share < 0.1);
}

const TAIL = 12; // characters

// Of a long name both ends are seen: it is often the end that tells it from others. Not where the
// order of reading may be another one.
function nameOf(name) {
  const isSplit = name.length > 2 * TAIL && /^[\x21-\x7e]+$/.test(name);
  if (!isSplit) return [foreign(name)];
  const tail = foreign(name.slice(-TAIL));
  tail.classList.add("tail");
  return [foreign(name.slice(0, -TAIL)), tail];
}

function makeRow(name) {
  const button = element("button", { type: "button", class: "open", tabindex: "-1" }, ...nameOf(name));
  button.title = plain(name);
  button.addEventListener("click", () => table.choose(name));
  button.addEventListener("focus", () => setCurrent(name));
  const row = element("tr", { role: "row" },
    element("th", { role: "rowheader", scope: "row", class: "name" }, button),
    cell("owner"), cell("mode"), cell("fence"), cell("left", timeLeft()), cell("held"), cell("waiting"));
  row.addEventListener("click", (event) => {
    if (!event.target.closest("button") && !getSelection().toString()) table.choose(name);
  });
  return row;
}

// One dot for each of the first ten, so that a queue is seen before its number is read.
function queueOf(lock) {
  if (lock.queueLength === 0) return [];
  const dots = element("span", { class: "dots", "aria-hidden": "true" });
  dots.style.width = Math.min(lock.queueLength, 10) * 8 - 3 + "px";
  const next = lock.waiters[0];
  return [element("span", { class: "queue" }, String(lock.queueLength)), " ", dots,
    graph.names.has(lock.name) ? element("strong", { class: "alarm" }, "deadlock") : null, " ",
    next ? element("span", { class: "next" }, "next: ", ownerOf(next)) : null];
}

function holdersOf(lock) {
  const others = lock.holdCount - 1;
  return [ownerOf(holdOf(lock)), others > 0 ? element("span", { class: "more" }, " +" + others) : null];
}

// What changes with the lock; what changes with time is done by showTimes.
function fillRow(row, lock, index) {
  const [, owner, mode, fence, , , waiting] = row.cells;
  const isInDeadlock = graph.names.has(lock.name);
  const hold = holdOf(lock);
  row.setAttribute("aria-rowindex", index + 2);
  row.classList.toggle("selected", lock.name === table.selected);
  row.classList.toggle("deadlocked", isInDeadlock);
  row.cells[0].firstChild.tabIndex = lock.name === table.current ? 0 : -1;
  renew(owner, [lock.version, lock.holdCount, hold.fence].join(), () => holdersOf(lock));
  owner.title = plain(hold.owner);
  setText(mode, modeOf(lock));
  setText(fence, String(hold.fence));
  renew(waiting, [lock.queueLength, isInDeadlock, lock.waiters[0]?.owner, lock.waiters[0]?.principal].join(),
    () => queueOf(lock));
}

function showTimes(now) {
  for (const [name, row] of table.rows) {
    const lock = store.locks.get(name);
    if (!lock) continue;
    const hold = holdOf(lock);
    showTimeLeft(row.querySelector(".ttl"), hold, now);
    setText(row.cells[5], age(now - hold.since));
  }
}

function spacer(height) {
  const row = element("tr", { "aria-hidden": "true", class: "spacer" }, element("td"));
  row.style.height = height + "px";
  return row;
}

// What scrolls the rows: their box, or on a narrow screen the whole page.
function pane() {
  return getComputedStyle(at("scroller")).overflowY === "visible" ? at("main") : at("scroller");
}

// How much of the table is above what is seen; less than 0 if it begins further down.
function scrolledBy() {
  return pane().getBoundingClientRect().top - at("table").getBoundingClientRect().top;
}

function inSight() {
  const height = rowHeight();
  const first = Math.min(table.shown.length, Math.max(0, Math.floor(scrolledBy() / height) - AROUND));
  const fits = Math.ceil(pane().clientHeight / height) + 2 * AROUND;
  return { first, last: Math.min(table.shown.length, first + fits), height };
}

// Puts the rows in sight into the document, those that are there already where they belong.
function showRows() {
  const { first, last, height } = inSight();
  const body = at("rows");
  const rows = new Map();
  const focused = document.activeElement?.closest("#rows tr");
  const wanted = [spacer(first * height)];
  for (let i = first; i < last; i++) {
    const lock = table.shown[i];
    const row = table.rows.get(lock.name) ?? makeRow(lock.name);
    fillRow(row, lock, i);
    rows.set(lock.name, row);
    wanted.push(row);
  }
  wanted.push(spacer((table.shown.length - last) * height));
  place(body, wanted);
  table.rows = rows;
  if (focused && !focused.isConnected) at("scroller").focus({ preventScroll: true });
  at("table").setAttribute("aria-rowcount", table.shown.length + 1);
  showTimes(Date.now());
}

// A node that is moved loses its focus, so those that stand right stay.
function place(body, wanted) {
  const keep = new Set(wanted);
  for (const row of [...body.children]) if (!keep.has(row)) row.remove();
  let next = body.firstChild;
  for (const row of wanted) {
    if (row === next) next = next.nextSibling;
    else body.insertBefore(row, next);
  }
}

function setCurrent(name) {
  if (table.current === name) return;
  const before = table.rows.get(table.current);
  const after = table.rows.get(name);
  if (before) before.cells[0].firstChild.tabIndex = -1;
  if (after) after.cells[0].firstChild.tabIndex = 0;
  table.current = name;
}

// Where the keys have not been yet, they begin at the first row in sight.
function ensureCurrent() {
  if (table.shown.some((lock) => lock.name === table.current)) return;
  table.current = table.shown[inSight().first + (scrolledBy() > 0 ? AROUND : 0)]?.name ?? "";
}

function focusRow(index) {
  const lock = table.shown[Math.max(0, Math.min(index, table.shown.length - 1))];
  if (!lock) return;
  const top = table.shown.indexOf(lock) * rowHeight();
  const head = at("table").tHead.offsetHeight;
  const room = pane().clientHeight - head - rowHeight();
  pane().scrollTop += Math.min(0, top - scrolledBy()) + Math.max(0, top - room - scrolledBy());
  table.current = lock.name;
  showRows();
  table.rows.get(lock.name)?.cells[0].firstChild.focus({ preventScroll: true });
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

function moveByKey(event) {
  if (!(event.key in STEPS) || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const isInRow = document.activeElement.closest("#rows tr") !== null;
  const index = table.shown.findIndex((lock) => lock.name === table.current);
  focusRow(isInRow || !Number.isFinite(STEPS[event.key]) ? Math.max(index, 0) + STEPS[event.key] : Math.max(index, 0));
}

function sortBy(key) {
  table.reversed = table.sort === key && !table.reversed;
  table.sort = key;
  at("sort").value = key;
  for (const head of at("table").tHead.rows[0].cells) {
    const isSorted = head.dataset.sort === key;
    const isDown = table.reversed !== GREATEST_FIRST.includes(key);
    if (isSorted) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function openTable(changed) {
  for (const id of ["scroller", "main"]) at(id).addEventListener("scroll", () => requestAnimationFrame(showRows), { passive: true });
  at("scroller").addEventListener("keydown", moveByKey);
  const resized = new ResizeObserver(() => showRows());
  for (const id of ["scroller", "main"]) resized.observe(at(id));
  for (const head of at("table").tHead.rows[0].cells) {
    head.querySelector("button")?.addEventListener("click", () => {
      sortBy(head.dataset.sort);
      changed();
    });
  }
  at("sort").addEventListener("change", () => {
    table.sort = "";
    sortBy(at("sort").value);
    changed();
  });
  sortBy("name");
}
