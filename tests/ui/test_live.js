// What the page shows is what is: at once, and after whatever has gone wrong.
"use strict";

const assert = require("node:assert/strict");
const { execFile } = require("node:child_process");
const { promisify } = require("node:util");
const { withStage } = require("./stage.js");
const { sleep, until } = require("./driver.js");

const run = promisify(execFile);

function seconds(text) {
  const found = text.match(/^([\d.]+) s$/);
  assert.ok(found, text);
  return Number(found[1]);
}

module.exports = {
  "the empty page teaches a command, and shows what it does within a second": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.comesToSee("#empty");
    const command = await stage.browser.text("#empty-command");
    const before = Date.now();
    await run("bash", ["-c", command]);
    await until("the row", () => stage.row("demo"), 1000);
    console.log("  seen after " + (Date.now() - before) + " ms, curl included");
    const elsewhere = (await stage.browser.requests()).filter(({ url }) => !url.startsWith(stage.batond.url + "/") && !url.startsWith("data:"));
    assert.deepEqual(elsewhere.filter(({ url }) => url !== "about:blank"), []);
    await stage.hadNoTrouble();
  }),

  "the time that is left runs down, and a lock that has expired is gone": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("short", { ttl_ms: 4000, owner: "me" });
    const row = await until("the row", () => stage.row("short"));
    await sleep(1200);
    const later = await stage.row("short");
    assert.equal(row[1], "me");
    assert.equal(row[2], "exclusive");
    assert.ok(seconds(row[4]) - seconds(later[4]) > 0.8, row[4] + ", then " + later[4]);
    await until("no row", async () => (await stage.row("short")) === null, 4000);
  }),

  "after a snapshot, what was not in it is gone": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("kept");
    await stage.batond.take("gone");
    await stage.visit();
    await until("the rows", async () => await stage.row("kept") && stage.row("gone"));
    const kept = await stage.batond.ask("GET", "/locks/kept");
    const [during, after, latest] = await stage.browser.run((view) => {
      const names = () => [...store.locks.keys()].sort().join(" ");
      page.line.hear({ type: "snapshot", data: "{}", id: "" });
      page.line.hear({ type: "lock", data: JSON.stringify(view), id: "" });
      const during = names(), latest = page.line.latest;
      page.line.hear({ type: "complete", data: "{}", id: "7" });
      return [during, names(), latest];
    }, kept);
    assert.equal(during, "gone kept"); // nothing flickers meanwhile
    assert.equal(after, "kept");
    assert.equal(latest, ""); // there is no resuming in the midst of it
  }),

  "a renewal is seen, although it is no event": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const { token } = await stage.batond.take("renewed", { ttl_ms: 5000 });
    await until("the row", () => stage.row("renewed"));
    await stage.batond.ask("PUT", "/locks/renewed", { body: { ttl_ms: 50000 }, headers: { "Lock-Token": token } });
    await until("the new time", async () => seconds((await stage.row("renewed"))[4]) > 40);
  }),

  "a released lock that stays taken is shown as what it is": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const { token } = await stage.batond.take("least", { at_least_ms: 50000, max_held_ms: 3600000, owner: "job" });
    await until("the row", () => stage.row("least"));
    await stage.look("least");
    await stage.shows("#details-holders", "Taken at least until");
    await stage.shows("#details-holders", "Held until, at most");
    await stage.batond.ask("DELETE", "/locks/least", { headers: { "Lock-Token": token } });
    await until("the release", async () => (await stage.row("least"))[2] === "released");
    await stage.shows("#details-holders", "Released, but taken");
    await stage.shows("#details-events", "released");
    await stage.hadNoTrouble();
  }),

  "the permits of a hold are shown, and count as taken": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("pool", { mode: "shared", limit: 8, permits: 3, ttl_ms: 50000 });
    await stage.batond.take("pool", { mode: "shared", limit: 8 });
    await until("the row", async () => ((await stage.row("pool")) ?? [])[2] === "shared 4/8");
    await stage.look("pool");
    await stage.shows("#details-holders", "Permits");
    assert.equal((await stage.browser.text("#details-holders")).match(/Permits/g).length, 1);
    for (let i = 0; i < 11; i++) await stage.batond.take("large", { mode: "shared", limit: 40, permits: 2 });
    await until("the row", async () => ((await stage.row("large")) ?? [])[2] === "shared 22/40");
    await stage.hadNoTrouble();
  }),

  "who waits appears, in the order of their turns": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const { token } = await stage.batond.take("queue", { owner: "first" });
    await until("the row", () => stage.row("queue"));
    await stage.batond.queue("queue", { owner: "second" });
    await stage.batond.queue("queue", { owner: "third" });
    await until("two who wait", async () => /^2\b.*second/s.test((await stage.row("queue"))[6]));
    await stage.look("queue");
    await stage.shows("#details-line", "Waiting: 2");
    const line = await stage.browser.text("#details-line");
    assert.ok(line.indexOf("second") < line.indexOf("third"), line);
    await stage.batond.release("queue", token);
    await stage.shows("#details-events", "released, of first");
    await stage.shows("#details-events", "granted to second");
    await stage.hadNoTrouble();
  }),

  "those who are not seen in a long queue can be": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("long", { owner: "first" });
    for (let i = 1; i <= 14; i++) await stage.batond.queue("long", { owner: "waiter-" + i });
    await stage.look("long");
    await stage.shows("#details-line", "Show 4 more", 8000);
    assert.ok(!(await stage.browser.text("#details-line")).includes("behind them")); // the button tells of them
    assert.ok(!(await stage.browser.text("#details-line")).includes("waiter-11"));
    await stage.browser.click("#details-line button");
    await stage.shows("#details-line", "waiter-14");
    await stage.batond.queue("long", { owner: "waiter-15" });
    await stage.shows("#details-line", "waiter-15", 8000);
    await stage.browser.click("#details-line button");
    await stage.showsNot("#details-line", "waiter-15");
    await stage.hadNoTrouble();
  }),

  "chains and deadlocks are told": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("a", { owner: "anna" });
    await stage.batond.take("b", { owner: "bert" });
    await stage.batond.take("c", { owner: "cleo" });
    await stage.batond.queue("b", { owner: "anna" });
    await stage.batond.queue("c", { owner: "bert" });
    await stage.look("a");
    await stage.shows("#details-chain", "anna waits for b, held by bert");
    await stage.shows("#details-chain", "bert waits for c, held by cleo");
    assert.equal(await stage.isVisible("#count-deadlocks-box"), false);
    await stage.batond.queue("a", { owner: "cleo" });
    await stage.comesToSee("#count-deadlocks-box");
    await stage.browser.click("#count-deadlocks");
    await stage.shows("#deadlocks", "cleo waits for a");
    assert.equal(await stage.isVisible("#details"), false);
    assert.match((await stage.row("b"))[6], /deadlock/);
  }),

  "a free place among several is no deadlock": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    for (const owner of ["one", "two"]) await stage.batond.take("pool", { owner, mode: "shared", limit: 2 });
    await stage.batond.take("other", { owner: "three" });
    await stage.batond.queue("pool", { owner: "three", mode: "shared", limit: 2 });
    await stage.batond.queue("other", { owner: "one" });
    await stage.shows("#count-waiting", "2");
    assert.equal((await stage.row("pool"))[2], "shared 2/2");
    assert.equal(await stage.isVisible("#count-deadlocks-box"), false);
  }),

  "it says when it is not live, and is again after a restart": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("before", { owner: "me" });
    await until("the row", () => stage.row("before"));
    await stage.batond.stop();
    await stage.shows("#link-text", "not live");
    await stage.shows("#notice", "Trying again");
    assert.ok(await stage.row("before"));
    await stage.batond.start();
    await stage.shows("#link-text", "live", 15000);
    await stage.showsNot("#link-text", "not", 15000);
    assert.equal(await stage.isVisible("#notice"), false);
    await stage.batond.take("after");
    await until("the row", () => stage.row("after"), 2000);
    assert.ok(await stage.row("before"));
  }),

  "a filter is for names that begin so, and lasts in the address": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    for (const name of ["shop/a", "shop/b", "shopping", "other"]) await stage.batond.take(name);
    await stage.shows("#count-held", "4");
    await stage.browser.type("#prefix", "shop/");
    await stage.shows("#count-held", "2");
    assert.equal(await stage.row("other"), null);
    await stage.batond.take("shop/c");
    await stage.batond.take("another");
    await until("the row", () => stage.row("shop/c"));
    assert.equal(await stage.row("another"), null);
    await until("the address", async () => /prefix=shop/.test(await stage.browser.run(() => location.hash)));
    await stage.visit("#prefix=nothing");
    await stage.shows("#empty-title", "Nothing with this prefix is held");
    await stage.hadNoTrouble();
  }),

  "the holds of one owner can be looked at, and those that last long": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.browser.run(() => { // one owner has all its holds for more than an hour
      const read = window.readHolder;
      window.readHolder = (holder, now, known) => {
        const hold = read(holder, now, known);
        return hold.owner === "old" ? { ...hold, since: hold.since - 3601000 } : hold;
      };
    });
    await stage.batond.take("pool", { owner: "first", mode: "shared", ttl_ms: 50000 });
    await stage.batond.take("pool", { owner: "old", mode: "shared" });
    await stage.batond.take("queued", { owner: "old" });
    await stage.batond.take("other", { owner: "first" });
    for (const name of ["queued", "other"]) await stage.batond.queue(name, { owner: "waiter" });
    await stage.shows("#count-held", "3");
    await stage.shows("#count-waiting", "2");
    await stage.browser.type("#owner", "old");
    await stage.shows("#count-held", "2");
    await stage.shows("#count-waiting", "1");
    assert.match((await stage.row("pool"))[1], /^old\s*\+1$/);
    assert.equal(await stage.row("other"), null);
    await until("the address", async () => /owner=old/.test(await stage.browser.run(() => location.hash)));
    await stage.browser.type("#owner", "er");
    await stage.shows("#empty-title", "Nothing that fits is held");
    assert.equal(await stage.isVisible("#empty-command"), false);
    await stage.browser.run(() => {
      document.getElementById("owner").value = "";
      document.getElementById("held-for").value = "1h";
      document.getElementById("held-for").dispatchEvent(new Event("input"));
    });
    await stage.shows("#count-held", "2");
    assert.match((await stage.row("pool"))[1], /^old/);
    await stage.visit("#owner=first&held_for=1h");
    await stage.shows("#empty-title", "Nothing that fits is held");
    assert.equal(await stage.browser.run(() => document.getElementById("held-for").value), "1h");
    await stage.visit("#owner=first&held_for=never");
    await stage.shows("#count-held", "2");
    await stage.hadNoTrouble();
  }),

  "what expired is counted": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("forgotten", { ttl_ms: 200 });
    await stage.shows("#contention", "Expired most often", 12000);
    await stage.shows("#contention", "forgotten");
    await stage.shows("#contention", "1 time");
    await stage.hadNoTrouble();
  }),

  "it is sorted as one likes": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("x2", { ttl_ms: 50000 });
    await stage.batond.take("x10", { ttl_ms: 40000 });
    await stage.batond.take("x1", { ttl_ms: 60000 });
    const names = () => stage.browser.run(() => [...document.querySelectorAll("#rows .open")].map((one) => one.innerText).join());
    await until("by name", async () => (await names()) === "x1,x2,x10");
    await stage.browser.click("th.left button");
    await until("by time left", async () => (await names()) === "x10,x2,x1");
    await stage.browser.click("th.left button");
    await until("the other way", async () => (await names()) === "x1,x2,x10");
    assert.equal(await stage.browser.run(() => document.querySelector("th.left").getAttribute("aria-sort")), "descending");
  }),
};
