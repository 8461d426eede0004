// Breaking a lock, and who may; how one says who one is.
"use strict";

const assert = require("node:assert/strict");
const { tokenOf } = require("./batond.js");
const { withStage } = require("./stage.js");
const { until } = require("./driver.js");

const ALL = [{ prefix: "", verbs: ["acquire", "read", "break"] }];
const READ = [{ prefix: "", verbs: ["read"] }];
const PRINCIPALS = [{ name: "boss", rules: ALL }, { name: "guest", rules: READ }, { name: "nobody", rules: [] }];

const isHeld = async (stage, name, as) => (await stage.batond.ask("GET", "/locks/" + name, { as })).hold_count > 0;

async function signIn(stage, name) {
  await stage.browser.visit(stage.batond.url + "/ui");
  await stage.comesToSee("#sign-in");
  await stage.browser.type("#token", tokenOf(name) + "\n");
}

module.exports = {
  "what is broken is shown before, and goes to who is next": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const { fence } = await stage.batond.take("stuck", { owner: "gone" });
    await stage.batond.queue("stuck", { owner: "next" });
    await until("who waits", async () => ((await stage.row("stuck")) ?? [])[6]?.includes("next"));
    await stage.look("stuck");
    await stage.browser.click("#break");
    await stage.comesToSee("#break-dialog");
    const told = await stage.browser.text("#break-dialog");
    for (const part of ["stuck", "gone", String(fence), "goes to next"]) assert.ok(told.includes(part), told);
    assert.equal(await stage.browser.focused(), "Keep it");
    await stage.browser.type("#break-reason", "host is gone");
    await stage.browser.click("#break-confirm");
    await stage.shows("#details-events", "broken, of gone from 127.0.0.1: host is gone");
    await stage.shows("#announcement", "1 hold of stuck broken");
    assert.equal((await stage.batond.ask("GET", "/locks/stuck")).last_release.reason, "forced");
    await stage.hadNoTrouble();
  }),

  "nothing is broken by Escape, nor by Enter alone": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("kept");
    for (const key of ["\uE00C", "\uE007"]) {
      await stage.look("kept");
      await stage.browser.click("#break");
      await stage.comesToSee("#break-dialog");
      await stage.browser.keys(key);
      await until("no dialog", async () => !(await stage.isVisible("#break-dialog")));
    }
    assert.ok(await isHeld(stage, "kept"));
  }),

  "a hold that nobody was shown is not broken": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const { token } = await stage.batond.take("handed", { owner: "before" });
    await stage.look("handed");
    await stage.browser.click("#break");
    await stage.comesToSee("#break-dialog");
    await stage.batond.release("handed", token);
    await stage.batond.take("handed", { owner: "after" });
    await stage.browser.click("#break-confirm");
    await stage.shows("#break-trouble", "have changed");
    await stage.shows("#break-holds", "after");
    assert.ok(await isHeld(stage, "handed"));
    await stage.browser.click("#break-confirm");
    await until("broken", async () => !(await isHeld(stage, "handed")));
  }),

  "one of several shared holds is broken alone": (driver) => withStage(driver, async (stage) => {
    const fences = {};
    for (const owner of ["left", "middle", "right"])
      fences[owner] = (await stage.batond.take("pool", { owner, mode: "shared", limit: 3 })).fence;
    await stage.visit();
    await stage.look("pool");
    await until("three holds", () => stage.browser.run(() => document.querySelectorAll("#details .hold .danger").length === 3));
    await stage.browser.run((fence) => [...document.querySelectorAll("#details .hold")]
      .find((one) => one.innerText.includes(fence)).querySelector(".danger").click(), String(fences.middle));
    await stage.comesToSee("#break-dialog");
    const told = await stage.browser.text("#break-dialog");
    for (const part of ["Break this hold?", "middle", "ends 1 hold now", "2 more holds stay"]) assert.ok(told.includes(part), told);
    assert.ok(!told.includes("left") && !told.includes("right"), told);
    await stage.browser.click("#break-confirm");
    await stage.shows("#announcement", "1 hold of pool broken");
    const { holders } = await stage.batond.ask("GET", "/locks/pool");
    assert.deepEqual(holders.map((one) => one.owner).sort(), ["left", "right"]);
    await stage.hadNoTrouble();
  }),

  "who may not break a lock is told so, once": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("theirs", {}, "boss");
    await signIn(stage, "guest");
    await stage.look("theirs");
    await stage.browser.click("#break");
    await stage.comesToSee("#break-dialog");
    await stage.browser.click("#break-confirm");
    await stage.shows("#break-trouble", "Not permitted");
    await stage.browser.click("#break-cancel");
    assert.equal(await stage.isVisible("#break"), false);
    await stage.shows("#break-refused", "You may not break this lock");
    assert.ok(await isHeld(stage, "theirs", "boss"));
  }, { principals: PRINCIPALS }),

  "a token is in no address and in no storage, and gone with the page": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("mine", { owner: "me" }, "boss");
    await signIn(stage, "wrong");
    await stage.shows("#sign-in-why", "does not work");
    await signIn(stage, "boss");
    await until("the row", () => stage.row("mine"));
    assert.match((await stage.row("mine"))[1], /me \(boss\)/);
    const kept = await stage.browser.run(() => [location.href, document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)].join());
    assert.ok(!kept.includes("token-of"), kept);
    const asked = await stage.browser.requests();
    assert.ok(asked.some(({ url }) => url.includes("/events?")));
    assert.ok(!asked.some(({ url }) => url.includes("token-of")));
    await stage.browser.click("#sign-out");
    await stage.comesToSee("#sign-in");
    assert.equal(await stage.row("mine"), null);
    await signIn(stage, "boss");
    await until("the row", () => stage.row("mine"));
    await stage.browser.visit(stage.batond.url + "/ui");
    await stage.comesToSee("#sign-in");
  }, { principals: PRINCIPALS }),

  "who may see nothing is told why": (driver) => withStage(driver, async (stage) => {
    await signIn(stage, "nobody");
    await stage.shows("#notice", "You may not look at these locks");
    await stage.comesToSee("#sign-out");
  }, { principals: PRINCIPALS }),
};
