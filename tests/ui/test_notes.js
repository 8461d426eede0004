// What holders say of themselves (`meta`) is shown as they have sent it.
"use strict";

const assert = require("node:assert/strict");
const { withStage } = require("./stage.js");

const META = '{"trace_id":10014255632117358197,"price":1.10,"huge":1e999,"small":7}';

module.exports = {
  "numbers in notes keep all their digits": (driver) => withStage(driver, async (stage) => {
    await fetch(stage.batond.url + "/locks/traced?ttl=5m", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: '{"meta":' + META + "}",
    });
    await stage.visit();
    await stage.look("traced");
    for (const shown of ["10014255632117358197", "1.10", "1e999", "7"]) await stage.shows("#details pre", shown);
  }),

  "a long note is shown from its beginning, and its rest by a button": (driver) => withStage(driver, async (stage) => {
    const meta = { ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => ["step " + i, "done"])), last: "the end" };
    await stage.batond.take("noted", { meta });
    await stage.visit();
    await stage.look("noted");
    await stage.shows("#details pre", "step 0");
    assert.match(await stage.browser.text("#details pre"), /…$/);
    assert.match(await stage.browser.text("#details .hold button"), /^Show all \d+ characters$/);
    await stage.browser.click("#details .hold button");
    await stage.shows("#details pre", "the end");
    await stage.browser.click("#details .hold button");
    await stage.showsNot("#details pre", "the end");
    await stage.hadNoTrouble();
  }),

  "times have a date and a zone": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("timed", { at_least_ms: 30000, max_held_ms: 3600000 });
    await stage.visit();
    await stage.look("timed");
    await stage.shows("#details-events", "Events (times in GMT+5:30)");
    assert.match(await stage.browser.text("#details-events time"), /^\d+ \w+, \d\d:\d\d:\d\d$/);
    const holders = await stage.browser.text("#details-holders");
    for (const what of ["Held until, at most", "Taken at least until"])
      assert.match(holders, new RegExp(what + "\\s+\\d+ \\w+, \\d\\d:\\d\\d:\\d\\d GMT\\+5:30"));
    await stage.batond.stop();
    await stage.shows("#notice", "GMT+5:30.");
    await stage.batond.start();
  }, { zone: "Asia/Kolkata" }),
};
