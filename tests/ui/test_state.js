// How batond and its Redis are: said at once, in words for people, and nothing is said that may not be so.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { withStage } = require("./stage.js");
const { sleep, until } = require("./driver.js");

const AT_ONCE_MS = 1500;

module.exports = {
  "a Redis that dies is told at once, and that it is back": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.shows("#server", "well");
    await stage.shows("#contention", "Nobody waits for anything");
    await stage.batond.loseRedis();
    const before = Date.now();
    await stage.shows("#link-text", "not live", AT_ONCE_MS);
    console.log("  told after " + (Date.now() - before) + " ms");
    await stage.shows("#notice", "Redis is not available");
    await stage.shows("#server", "away");
    await stage.shows("#contention", "Nobody waited for anything when batond last answered");
    await stage.shows("#empty", "Nothing was held");
    assert.equal(await stage.isVisible("#empty-command"), false);
    await stage.batond.startRedis();
    await stage.shows("#link-text", "live", 15000);
    await stage.showsNot("#link-text", "not", 15000);
    assert.equal(await stage.isVisible("#notice"), false);
  }),

  "a pause of grants is told, with what it is for": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.shows("#server", "as usual");
    await stage.batond.take("lost", { ttl_ms: 60000 });
    await stage.batond.loseRedis();
    await stage.batond.startRedis();
    await stage.shows("#server", "paused for", 15000);
    await stage.shows("#quarantine", "New locks are paused for");
    await stage.shows("#quarantine", "because another server has taken the place of Redis, or Redis was started anew");
    await stage.shows("#quarantine", "Renewals and releases work");
    assert.match(await stage.browser.text("#quarantine"), /for (about \d+ minutes?|\d+ s),/);
    assert.equal((await stage.batond.ask("DELETE", "/quarantine?reason=a-test")).status, 200);
    await stage.shows("#server", "as usual");
    await stage.showsNot("#quarantine", "paused");
  }),

  "a long pause of grants is told in hours": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("long", { ttl_ms: 86400000 });
    await stage.batond.loseRedis();
    await stage.batond.startRedis();
    await stage.visit();
    await stage.shows("#quarantine", "paused for about 24 hours,", 15000);
  }, { settings: ["--max-ttl=24h"] }),

  "batond's version and its workers are told, and that it is about to stop": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const [, version] = fs.readFileSync(path.join(__dirname, "../../Makefile"), "utf8").match(/^VERSION +:= (\S+)/m);
    await stage.shows("#server", version);
    await stage.shows("#server", "worker");
    stage.batond.drain();
    await stage.shows("#draining", "about to stop");
    await stage.shows("#server", "until it stops");
  }, { settings: ["--drain=20s"] }),

  "who is signed out is not told that nobody waits": (driver) => withStage(driver, async (stage) => {
    await stage.browser.visit(stage.batond.url + "/ui");
    await stage.comesToSee("#sign-in");
    await stage.shows("#contention", "Sign in to see who waits");
    assert.ok(!(await stage.browser.text("body")).includes("Nobody waits"));
    assert.ok(!(await stage.browser.text("body")).includes("Authorization"));
  }, { principals: [{ name: "boss", rules: [] }] }),

  "no problem speaks of headers and parameters": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const source = fs.readFileSync(path.join(__dirname, "../../api/http/problem.h"), "utf8");
    const problems = [...source.matchAll(/X\(PROBLEM_\w+, "(\w+)", (\d+),[\s\\]+"([^"]+)"\)/g)].map(([, code, status, title]) => ({ code, status: Number(status), title }));
    assert.ok(problems.length >= 27, problems.length + " problems");
    const said = await stage.browser.run((all) => all.map((one) => new Refusal(one.status,
      { ...one, detail: "send Authorization: Bearer TOKEN", verb: "break", prefix: "ci/" }).message), problems);
    for (const [i, text] of said.entries()) {
      assert.ok(text.length > 10, problems[i].code);
      assert.doesNotMatch(text, /Authorization|header|parameter=|undefined/, problems[i].code);
      assert.match(text, /^[a-zA-Z].*[^.]$/, problems[i].code);
    }
    assert.match(said[problems.findIndex((one) => one.code === "forbidden")], /no right to break locks that begin with ci\//);
    const proxy = await stage.browser.run(() => new Refusal(502, {}).message);
    assert.match(proxy, /proxy/);
  }),

  "what expired often is told, not what may have": (driver) => withStage(driver, async (stage) => {
    const { batond } = stage;
    for (let i = 0; i < 8; i++) {
      const names = Array.from({ length: 60 }, (_, j) => "once:" + (60 * i + j));
      assert.equal((await batond.ask("POST", "/locks", { body: { names, ttl_ms: 100 } })).status, 201);
    }
    for (let i = 0; i < 12; i++) {
      await until("it is free", async () => (await batond.take("often", { ttl_ms: 100 })).status === 201);
    }
    await until("all have expired", async () => (await batond.ask("GET", "/stats?limit=1")).most_expirations[0]?.name === "often", 15000);
    await sleep(1000);
    await stage.visit();
    await stage.shows("#contention", "often", 12000);
    const shown = await stage.browser.text("#contention");
    assert.match(shown, /often\n(at least )?\d+ times/);
    assert.ok(!shown.split("Held longest")[0].includes("once:"), shown);
  }),
};
