// What pages of other sites can have this browser do to a batond on its machine: nothing.
"use strict";

const assert = require("node:assert/strict");
const http = require("node:http");
const { withStage } = require("./stage.js");
const { sleep, until } = require("./driver.js");

const CASES = (target) => `<!doctype html><title>other</title>
<form id=form method=post action="${target}/locks/by-form?ttl=60s"><input name=a></form>
<iframe src="${target}/ui" id=frame></iframe>
<script>
const tries = [
  fetch("${target}/locks/by-fetch?ttl=60s", {method: "POST", mode: "no-cors"}),
  fetch("${target}/locks/by-text?ttl=60s", {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: "{}"}),
  fetch("${target}/locks/theirs?force=true", {method: "DELETE"}),
  fetch("${target}/locks/theirs"),
  Promise.resolve(navigator.sendBeacon("${target}/locks/by-beacon?ttl=60s")),
];
Promise.allSettled(tries).then((all) => { window.read = all.filter((one) => one.value?.type === "cors").length; window.done = true; });
</script>`;

async function withOtherSite(target, story) {
  const server = http.createServer((request, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(CASES(target));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await story(server.address().port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function names(stage) {
  return (await stage.batond.ask("GET", "/locks")).locks.map((lock) => lock.name).join();
}

module.exports = {
  "pages of other sites take and break nothing, and see nothing": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("theirs");
    await withOtherSite(stage.batond.url, async (port) => {
      for (const host of ["127.0.0.1", "localhost", "other.test"]) {
        await stage.browser.visit("http://" + host + ":" + port + "/");
        await until("its tries", () => stage.browser.run(() => window.done));
        assert.equal(await stage.browser.run(() => window.read), 0);
        assert.equal(await stage.browser.run(() => {
          try {
            return document.getElementById("frame").contentWindow.document.title;
          } catch {
            return "refused";
          }
        }), "refused");
        await stage.browser.run(() => document.getElementById("form").submit());
        await sleep(300);
        assert.equal(await names(stage), "theirs", host);
      }
    });
    const refused = (await stage.batond.ask("GET", "/metrics")).text.match(/baton_http_requests_total\{.*method="POST".*code="403"\} (\d+)/);
    assert.ok(Number(refused[1]) >= 3, "they reached it");
  }),

  "a site whose name is made to lead here sees nothing": (driver) => withStage(driver, async (stage) => {
    await stage.batond.take("theirs");
    await stage.browser.visit("http://rebound.test:" + stage.batond.port + "/ui");
    await stage.shows("#notice", "You may not look at these locks");
    const answers = await stage.browser.run(async () => {
      const asked = await Promise.all([fetch("/locks"), fetch("/locks/theirs?force=true", { method: "DELETE" }), fetch("/locks/new", { method: "POST" })]);
      return asked.map((one) => one.status).join();
    });
    assert.equal(answers, "403,403,403");
    assert.equal(await names(stage), "theirs");
  }),
};
