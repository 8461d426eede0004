// Names, owners and notes are chosen by others: they are shown as they are and do nothing.
"use strict";

const assert = require("node:assert/strict");
const { withStage } = require("./stage.js");
const { until } = require("./driver.js");

const NASTY = [
  '<img src=x onerror="window.hacked=1">',
  '"><script>window.hacked=1</script>',
  "</bdi></td><svg onload=window.hacked=1>",
  "javascript:window.hacked=1",
  "${window.hacked=1}",
  "__proto__",
  "constructor",
  "a&b=c?d#e%2F/..;",
  " two  spaces ",
  "שלום",
  "é".repeat(120),
  "👩‍👩‍👧",
];

module.exports = {
  "markup in names, owners and notes is text": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    for (const name of NASTY) {
      const path = await stage.batond.take(name, { owner: name.slice(0, 60), meta: { [name.slice(0, 60)]: name } });
      assert.equal(path.status, 201, name + JSON.stringify(path));
    }
    await stage.batond.queue(NASTY[0], { owner: NASTY[1] });
    await stage.shows("#count-held", String(NASTY.length));
    for (const name of NASTY.slice(0, 8)) {
      await stage.look(name);
      await stage.shows("#details-name", name.slice(0, 10));
      await stage.browser.click("#break");
      await stage.comesToSee("#break-dialog");
      await stage.browser.click("#break-cancel");
      assert.equal(await stage.browser.run(() => new URLSearchParams(location.hash.slice(1)).get("lock")), name);
    }
    assert.equal(await stage.browser.run(() => window.hacked ?? null), null);
    assert.equal(await stage.browser.run(() => document.querySelectorAll("main img, main svg, main script, main iframe").length), 0);
    await stage.hadNoTrouble();
  }),

  "what turns the direction of text, or hides, is shown": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    await stage.batond.take("pay/\u202Egnp.exe");
    await stage.batond.take("two\u2028lines");
    await stage.batond.take("zero\u200Bwidth", { owner: "me\u2066" });
    await until("both", async () => (await stage.browser.text("#rows")).includes("zero"));
    const shown = await stage.browser.text("#rows");
    assert.match(shown, /pay\/U\+202Egnp\.exe/);
    assert.match(shown, /zeroU\+200Bwidth/);
    assert.match(shown, /meU\+2066/);
    assert.match(shown, /twoU\+2028lines/);
    assert.ok(!/[\u202E\u200B\u2066\u2028]/.test(await stage.browser.run(() => document.body.innerText)));
    assert.ok(!/[\u202E\u200B\u2066]/.test(await stage.browser.run(() => [...document.querySelectorAll("[title]")].map((one) => one.title).join())));
  }),

  "the policy lets no other script run": (driver) => withStage(driver, async (stage) => {
    await stage.visit();
    const { headers } = await stage.batond.ask("GET", "/ui");
    for (const part of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"])
      assert.ok(headers.get("content-security-policy").includes(part));
    assert.ok(!headers.get("content-security-policy").includes("unsafe"));
    const result = await stage.browser.run(() => {
      const script = document.createElement("script");
      try {
        script.textContent = "window.hacked = 1";
      } catch {
        return "refused";
      }
      document.body.append(script);
      return window.hacked ?? "refused";
    });
    assert.equal(result, "refused");
  }),
};
