// Pictures of the page, for people to look at: build/ui/*.png.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { withStage } = require("./stage.js");
const { sleep, until } = require("./driver.js");

const FOLDER = process.env.BATON_PICTURES ?? "build/ui";

async function save(stage, name) {
  await sleep(400); // what moves comes to rest
  fs.mkdirSync(FOLDER, { recursive: true });
  fs.writeFileSync(path.join(FOLDER, name + ".png"), await stage.browser.screenshot());
}

const PLAIN = [["deploy/billing", "release-bot", 343], ["migrate/catalog", "carol", 395], ["report/daily", "cron@cron-7", 160],
  ["cache/warm", "etl-2", 570], ["invoice/2026-11", "billing@web-3", 300], ["search/reindex", "indexer", 540]];
const HOSTS = ["web-1", "web-2", "web-3", "web-4"];

async function fill({ batond }) {
  await batond.take("deploy/shop", { owner: "alice", ttl_ms: 225000, meta: { commit: "9f2c1e7", run: 5512 } });
  for (const [name, owner, ttl] of PLAIN) await batond.take(name, { owner, ttl_ms: ttl * 1000 });
  for (let i = 0; i < 4; i++) await batond.take("gpu/pool", { owner: "train-" + i, mode: "shared", limit: 4, ttl_ms: 90000 + i * 8000 });
  for (let i = 0; i < 40; i++) await batond.take("order:" + (81700 + 3 * i), { owner: "checkout@" + HOSTS[i % 4], ttl_ms: 15000 + (i * 7919) % 45000 });
  await batond.take("accounts/eu", { owner: "mover-1", ttl_ms: 240000 });
  await batond.take("accounts/us", { owner: "mover-2", ttl_ms: 180000 });
  await batond.queue("accounts/us", { owner: "mover-1" });
  await batond.queue("accounts/eu", { owner: "mover-2" });
  for (const owner of ["release-bot", "bob", "carol", "hotfix-17", "nightly"]) await batond.queue("deploy/shop", { owner });
  for (let i = 0; i < 14; i++) await batond.queue("gpu/pool", { owner: "sweep-" + i, mode: "shared", limit: 4 });
  await batond.queue("order:81706", { owner: "refund@web-4" });
  await batond.queue("search/reindex", { owner: "alice" });
}

module.exports = {
  "all that there is to see": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.comesToSee("#empty");
    await save(stage, "idle");
    await fill(stage);
    await until("most who wait", async () => Number(await stage.browser.text("#count-waiting")) > 15);
    await sleep(1500);
    await save(stage, "busy");
    await stage.look("deploy/shop");
    await save(stage, "details");
    await stage.browser.click("#break");
    await stage.comesToSee("#break-dialog");
    await save(stage, "break");
    await stage.browser.click("#break-cancel");
    await stage.browser.prefer({ width: 1440, height: 860, dark: true });
    await save(stage, "dark");
    await stage.browser.prefer({ width: 390, height: 844, mobile: true });
    await save(stage, "narrow-details");
    await stage.browser.click("#details-close");
    await save(stage, "narrow");
    await stage.browser.prefer({ width: 390, height: 844, mobile: true, dark: true });
    await save(stage, "narrow-dark");
    await stage.browser.prefer({ width: 1024, height: 768 });
    await save(stage, "medium");
    await stage.batond.stop();
    await stage.shows("#notice", "Not live");
    await save(stage, "not-live");
    await stage.batond.start();
  }, { width: 1440, height: 860 }),
};
