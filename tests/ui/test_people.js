// The page for those who use the keyboard, a screen reader, a phone, or the dark.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { withStage } = require("./stage.js");
const { KEYS, until } = require("./driver.js");

const AXE = fs.readFileSync(process.env.BATON_AXE ?? "build/npm-ui/node_modules/axe-core/axe.min.js", "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

async function fill(stage) {
  await stage.batond.take("deploy/shop", { owner: "alice", meta: { commit: "9f2c1e7" } });
  await stage.batond.take("accounts/eu", { owner: "mover-1" });
  await stage.batond.take("accounts/us", { owner: "mover-2" });
  await stage.batond.queue("accounts/us", { owner: "mover-1" });
  await stage.batond.queue("accounts/eu", { owner: "mover-2" });
  await stage.batond.queue("deploy/shop", { owner: "bob" });
  for (const i of [1, 2, 3]) await stage.batond.take("pool", { owner: "worker-" + i, mode: "shared", limit: 3 });
  await stage.shows("#count-waiting", "3");
}

// What axe finds fault with, of the whole page as it is now.
async function faults(stage) {
  const { violations } = await stage.browser.call("POST", "/execute/async", {
    script: AXE + "; axe.run({ runOnly: arguments[0] }).then(arguments[1])", args: [RULES],
  });
  return violations.map((one) => one.impact + " " + one.id + ": " + one.nodes.map((node) => node.target.join() + " " + node.failureSummary).join(" | "));
}

async function isAccessible(stage, what) {
  const found = await faults(stage);
  assert.deepEqual(found, [], what);
}

async function fits(stage, what) {
  for (const width of [320, 390, 700, 1000]) {
    await stage.browser.prefer({ width, height: 740, mobile: width < 500 });
    const [page, window] = await stage.browser.run(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(page <= width && window === width, what + ": " + page + " in " + width);
  }
}

async function eachState(stage, check) {
  await stage.visit();
  await stage.comesToSee("#empty");
  await check(stage, "empty");
  await fill(stage);
  await check(stage, "busy");
  await stage.look("deploy/shop");
  await check(stage, "details");
  await stage.browser.click("#break");
  await stage.comesToSee("#break-dialog");
  await check(stage, "dialog");
}

module.exports = {
  "axe finds no fault, by day": (driver) => withStage(driver, (stage) => eachState(stage, isAccessible)),

  "axe finds no fault, in the dark": (driver) => withStage(driver, (stage) => eachState(stage, isAccessible), { dark: true }),

  "axe finds no fault, on a phone": (driver) => withStage(driver, (stage) => eachState(stage, isAccessible),
    { width: 390, height: 844, mobile: true }),

  "axe finds no fault while something is the matter": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await fill(stage);
    await stage.batond.loseRedis();
    await stage.shows("#server", "away");
    for (const dark of [false, true]) {
      await stage.browser.prefer({ width: 1280, height: 860, dark });
      await isAccessible(stage, "without Redis");
    }
  }),

  "axe finds no fault where one signs in": (driver) => withStage(driver, async (stage) => {
    await stage.browser.visit(stage.batond.url + "/ui");
    await stage.comesToSee("#sign-in");
    await isAccessible(stage, "sign in");
  }, { principals: [{ name: "boss", rules: [] }] }),

  "a narrow screen needs no scrolling sideways": (driver) => withStage(driver, (stage) => eachState(stage, fits)),

  "all can be done by the keyboard": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await fill(stage);
    await until("the rows", () => stage.row("pool"));
    await stage.browser.keys("/");
    assert.equal(await stage.browser.focused(), "prefix");
    await stage.browser.keys(KEYS.enter);
    assert.equal(await stage.browser.focused(), "accounts/eu");
    await stage.browser.keys(KEYS.down, KEYS.down);
    assert.equal(await stage.browser.focused(), "deploy/shop");
    await stage.browser.keys(KEYS.enter);
    await stage.comesToSee("#details");
    assert.equal(await stage.browser.focused(), "deploy/shop");
    assert.equal(await stage.browser.run(() => document.activeElement.id), "details-name");
    await stage.browser.keys(KEYS.escape);
    assert.equal(await stage.isVisible("#details"), false);
    assert.equal(await stage.browser.focused(), "deploy/shop");
    await stage.browser.keys(KEYS.end);
    assert.equal(await stage.browser.focused(), "pool");
    await stage.browser.keys(KEYS.home, KEYS.up);
    assert.equal(await stage.browser.focused(), "accounts/eu");
    await stage.browser.keys(KEYS.enter);
    for (let i = 0; i < 10 && (await stage.browser.focused()) !== "Break this lock…"; i++) await stage.browser.keys(KEYS.tab);
    await stage.browser.keys(KEYS.enter);
    await stage.comesToSee("#break-dialog");
    await stage.browser.keys(KEYS.tab, KEYS.enter);
    await stage.shows("#details-events", "broken");
    await until("where the keys go on", async () => (await stage.browser.run(() => document.activeElement !== document.body)));
  }),

  "a row that has the focus keeps it while others come and go": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("m");
    await until("the row", () => stage.row("m"));
    await stage.browser.keys("/", KEYS.enter);
    for (const name of ["a", "z", "b"]) await stage.batond.take(name);
    await until("the others", () => stage.row("b"));
    assert.equal(await stage.browser.focused(), "m");
    await stage.browser.keys(KEYS.up);
    assert.equal(await stage.browser.focused(), "b");
  }),

  "who prefers little motion sees none": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("still");
    await until("the row", () => stage.row("still"));
    const durations = await stage.browser.run(() => [...document.querySelectorAll("*")].map((one) => getComputedStyle(one))
      .flatMap((style) => [style.transitionDuration, style.animationDuration]));
    assert.deepEqual([...new Set(durations)], ["0s"]);
  }, { still: true }),
};
