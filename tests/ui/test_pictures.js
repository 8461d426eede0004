// Pictures of the page, for people to look at: build/ui/*.png. README shows the first of them: docs/images/page.png is a
// copy of build/ui/page.png.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { withStage } = require("./stage.js");
const { sleep } = require("./driver.js");
const { crowded, LONG_NAME } = require("./crowd.js");

const FOLDER = process.env.BATON_PICTURES ?? "build/ui";

async function save(stage, name) {
  await sleep(400); // what moves comes to rest
  fs.mkdirSync(FOLDER, { recursive: true });
  fs.writeFileSync(path.join(FOLDER, name + ".png"), await stage.browser.screenshot());
}

const WIDTHS = [390, 800, 1181, 1280, 1440, 1920];

async function saveAt(stage, width, dark, what) {
  await stage.browser.prefer({ width, height: width < 500 ? 844 : 860, mobile: width < 500, dark });
  await save(stage, what + "-" + width + (dark ? "-dark" : ""));
}

// A few locks of a small shop, one of them with a queue.
async function shop({ batond }) {
  await batond.take("deploy/shop", { owner: "release-bot", ttl_ms: 225000 });
  await batond.take("backup/orders", { owner: "backup@db-1", ttl_ms: 580000 });
  await batond.take("report/daily", { owner: "cron@web-2", ttl_ms: 160000 });
  await batond.take("order:81706", { owner: "checkout@web-1", ttl_ms: 28000 });
  for (let i = 1; i <= 3; i++) await batond.take("gpu/pool", { owner: "train-" + i, mode: "shared", limit: 4, ttl_ms: 90000 });
  for (const owner of ["alice", "hotfix-17"]) await batond.queue("deploy/shop", { owner });
  await batond.queue("order:81706", { owner: "refund@web-3" });
}

module.exports = {
  "the picture in README": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await shop(stage);
    await stage.shows("#count-waiting", "3");
    await stage.look("deploy/shop");
    await sleep(6000); // so that the times are not all 0 s
    await save(stage, "page");
  }, { width: 1200, height: 540 }),
  "all that there is to see": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.comesToSee("#empty");
    await save(stage, "idle");
    await crowded(stage);
    await sleep(1500);
    await stage.look("gpu/pool"); // first, since its queue lasts for half a minute
    await stage.browser.click("#details-line button");
    await stage.shows("#details-line", "sweep-13");
    await stage.browser.run(() => document.getElementById("details-line").scrollIntoView());
    await saveAt(stage, 1280, false, "queue");
    await stage.browser.click("#details-close");
    for (const width of WIDTHS) {
      for (const dark of [false, true]) await saveAt(stage, width, dark, "list");
    }
    await stage.look(LONG_NAME);
    for (const width of WIDTHS) await saveAt(stage, width, false, "details");
    await saveAt(stage, 1440, true, "details");
    await stage.browser.prefer({ width: 1440, height: 860 });
    await stage.browser.click("#break");
    await stage.comesToSee("#break-dialog");
    await save(stage, "break");
    await stage.browser.click("#break-cancel");
    await stage.browser.click("#details-close");
    await stage.batond.loseRedis();
    await stage.shows("#notice", "Not live");
    for (const width of [800, 1440]) await saveAt(stage, width, width === 1440, "without-redis");
    await stage.batond.startRedis();
    await stage.shows("#quarantine", "paused", 15000);
    await saveAt(stage, 1280, false, "paused");
    await stage.batond.stop();
    await stage.shows("#notice", "Not live");
    for (const width of [390, 1280]) await saveAt(stage, width, false, "not-live");
    await stage.batond.start();
  }, { width: 1440, height: 860 }),
};
