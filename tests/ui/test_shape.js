// What the page looks like, by geometry: from a phone to a wide screen nothing is cut that has to be
// read, nothing lies on something else, and the name of a lock is the last thing to shrink.
"use strict";

const assert = require("node:assert/strict");
const { withStage } = require("./stage.js");
const { KEYS, until } = require("./driver.js");
const { crowded, LONG_NAME } = require("./crowd.js");

// Pixels for a name that needs them, by the width of the window.
const NAMES = { 390: 220, 640: 220, 800: 240, 1000: 200, 1181: 240, 1280: 240, 1440: 300, 1920: 420 };

// Has all holds be older, and last for longer, than these tests take: "59 m 59 s".
function age() {
  const read = window.readHolder;
  window.readHolder = (...given) => {
    const hold = read(...given);
    return { ...hold, since: hold.since - 3599000, endsAt: hold.endsAt + 3000000, span: hold.span + 3600000 };
  };
}

// What is wrong with what is seen now, in words.
function faults(least) {
  const found = [];
  const shown = (root, selector) => [...root.querySelectorAll(selector)].filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0
    && getComputedStyle(one).clipPath === "none" && !one.closest("thead")?.matches("[style*=none]"));
  const isCut = (one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline";
  const what = (one) => one.className + " \"" + one.innerText.slice(0, 30) + "\"";
  const overlap = (a, b) => {
    const [x, y] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
    return Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1 && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 1;
  };
  const apart = (parts) => parts.forEach((a, i) => parts.slice(i + 1).forEach((b) => overlap(a, b) && found.push(what(a) + " lies on " + what(b))));

  if (document.documentElement.scrollWidth > innerWidth) found.push("the page is " + document.documentElement.scrollWidth + " wide");
  const scroller = document.getElementById("scroller");
  if (scroller.scrollWidth > scroller.clientWidth) found.push("the table is " + scroller.scrollWidth + " wide");
  for (const name of shown(document, "#rows .open")) {
    const needs = Math.max(name.scrollWidth, [...name.children].reduce((sum, part) => sum + part.scrollWidth, 0));
    const cell = name.closest("th").getBoundingClientRect();
    const has = name.getBoundingClientRect().width;
    if (has < Math.min(needs, least) - 1) found.push(what(name) + " is " + has + " wide");
    if (name.getBoundingClientRect().right > cell.right + 1) found.push(what(name) + " sticks out");
  }
  const whole = "td.held, td.mode, td.fence, td.left, .ttl-text, .queue, th:not(.name), .bar *, .notice, .figure, .side h2, .side h3, .side dt, .side dd, .side p, .side .since";
  for (const one of shown(document, whole)) if (isCut(one) && !one.matches("input")) found.push(what(one) + " is cut");
  apart(shown(document, ".bar > *"));
  for (const row of shown(document, "#rows tr:not(.spacer)")) apart(shown(row, ":scope > *"));
  for (const entry of shown(document, ".top li, .line li, .events li, .hold dl div, .server div")) apart(shown(entry, ":scope > *"));
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowY) && one.scrollHeight > one.clientHeight + 1;
  // What is fixed stands in front of the rest, and does not move with it.
  const around = (one) => (one.matches("dialog") || getComputedStyle(one).position === "fixed" ? [] : one.parentElement ? [one.parentElement, ...around(one.parentElement)] : []);
  for (const one of shown(document, "body *").filter(scrolls)) if (around(one).some(scrolls)) found.push(what(one) + " scrolls inside what scrolls");
  apart(shown(document, "body > *").filter((one) => !one.matches(".skip, .unseen, dialog, script")));
  return found;
}

async function eachWidth(stage, what, widths = Object.keys(NAMES).map(Number)) {
  for (const width of widths) {
    await stage.browser.prefer({ width, height: 860, mobile: width < 500 });
    let found = [];
    await until(what + " at " + width, async () => {
      found = await stage.browser.run(faults, NAMES[width]);
      return found.length === 0;
    }, 2000).catch(() => assert.deepEqual(found.slice(0, 12), [], what + " at " + width));
  }
}

module.exports = {
  "nothing is cut or covered, from a phone to a wide screen": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await crowded(stage);
    await stage.browser.run(age);
    await until("older holds", async () => /^(59 m|1 h)/.test(((await stage.row("deploy/shop")) ?? [])[5]), 8000);
    await eachWidth(stage, "the list");
    await stage.look(LONG_NAME);
    await eachWidth(stage, "details");
    await stage.hadNoTrouble();
  }),

  "on a phone all scrolls as one, and a deadlock is one tap away": (driver) => withStage(driver, async (stage) => {
    const inSight = (selector) => stage.browser.run((s) => {
      const box = document.querySelector(s)?.getBoundingClientRect();
      return box !== undefined && box.top >= 0 && box.top < innerHeight && document.elementFromPoint(box.left + 5, box.top + 5) !== null;
    }, selector);
    await stage.visit();
    await crowded(stage);
    for (let i = 0; i < 10; i++) await stage.batond.take("gpu/wide", { owner: "train-" + i, mode: "shared" });
    await stage.browser.keys("/", KEYS.enter, KEYS.end);
    await until("the last lock", () => stage.browser.run(() => document.activeElement.closest("tr")?.getBoundingClientRect().bottom <= innerHeight));
    assert.equal(await inSight("#deadlocks"), false);
    // Far below the table its rows take no more room than in sight.
    const below = await stage.browser.run(() => {
      const [main, side] = [document.getElementById("main"), document.getElementById("side")];
      side.style.minHeight = "4000px";
      main.scrollTop = main.scrollHeight;
      showRows();
      side.style.minHeight = "";
      return document.getElementById("table").offsetHeight - table.shown.length * rowHeight();
    });
    assert.ok(below < 5, "the table is " + below + " pixels too high");
    await stage.browser.click("#count-deadlocks");
    await until("the deadlock", () => inSight("#deadlocks h3"));
    await stage.browser.click("#deadlocks .name-link");
    await stage.shows("#details-chain", "deadlock");
    await stage.browser.click("#details-close");
    await stage.look("gpu/wide");
    await stage.browser.click("#break");
    await stage.comesToSee("#break-dialog");
    await eachWidth(stage, "the dialog", [390]);
    await stage.hadNoTrouble();
  }, { width: 390, height: 844, mobile: true }),

  "nor while batond is away": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await crowded(stage);
    await stage.batond.stop();
    await stage.shows("#notice", "Not live");
    await eachWidth(stage, "not live");
    await stage.batond.start();
  }),
};
