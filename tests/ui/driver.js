// A real browser, driven over WebDriver (Debian's chromium and chromedriver): as much of the
// protocol as these tests need.
"use strict";

const { spawn } = require("node:child_process");
const { once } = require("node:events");

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
const STARTS_MS = 20000;

// A process that ends with this one at the latest.
function launch(command, args, stdio) {
  const child = spawn(command, args, { stdio });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Waits until `probe` gives something true, which it returns; fails with `what` after `ms`.
async function until(what, probe, ms = 5000) {
  const deadline = Date.now() + ms;
  let last;
  for (;;) {
    try {
      last = await probe();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error("not within " + ms + " ms: " + what + " (" + last + ")");
    await sleep(25);
  }
}

class Driver {
  constructor() {
    this.process = launch("chromedriver", ["--port=0"], ["ignore", "pipe", "ignore"]);
  }

  async start() {
    let said = "";
    this.process.stdout.on("data", (text) => (said += text));
    await until("chromedriver starts", () => /successfully on port (\d+)/.test(said), STARTS_MS);
    this.url = "http://127.0.0.1:" + said.match(/successfully on port (\d+)/)[1];
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(value.error + ": " + value.message.split("\n")[0]);
    return value;
  }

  async stop() {
    await this.browser?.close();
    this.process.kill();
    if (this.process.exitCode === null) await once(this.process, "exit");
  }

  // The browser, one for all: `dark`, `still`: what it prefers; `zone`: where it is.
  async open({ width = 1440, height = 900, dark, still, mobile, zone = "" } = {}) {
    this.browser ??= await this.launch();
    await this.browser.prefer({ width, height, dark, still, mobile });
    await this.browser.devtools("Emulation.setTimezoneOverride", { timezoneId: zone });
    return this.browser;
  }

  async launch() {
    const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
      "--no-first-run", "--host-resolver-rules=MAP *.test 127.0.0.1", "--disable-background-networking", "--disable-component-update"];
    const capabilities = {
      alwaysMatch: {
        browserName: "chrome",
        "goog:chromeOptions": { args, perfLoggingPrefs: { enableNetwork: true } },
        "goog:loggingPrefs": { browser: "ALL", performance: "ALL" },
      },
    };
    const { sessionId } = await this.call("POST", "/session", { capabilities });
    return new Browser(this, "/session/" + sessionId);
  }
}

class Browser {
  constructor(driver, path) {
    this.driver = driver;
    this.path = path;
  }

  call(method, path, body) {
    return this.driver.call(method, this.path + path, body);
  }

  close() {
    return this.call("DELETE", "");
  }

  devtools(cmd, params) {
    return this.call("POST", "/goog/cdp/execute", { cmd, params });
  }

  async prefer({ width, height, dark = false, still = false, mobile = false }) {
    await this.devtools("Emulation.setEmulatedMedia", { features: [
      { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
      { name: "prefers-reduced-motion", value: still ? "reduce" : "no-preference" }] });
    await this.devtools("Emulation.setDeviceMetricsOverride", { width, height, mobile, deviceScaleFactor: 1 });
  }

  visit(url) {
    return this.call("POST", "/url", { url });
  }

  // Runs a function in the page: it must stand by itself.
  run(made, ...args) {
    return this.call("POST", "/execute/sync", { script: "return (" + made + ").apply(null, arguments)", args });
  }

  text(selector) {
    return this.run((s) => document.querySelector(s)?.innerText ?? "", selector);
  }

  async find(selector) {
    return (await this.call("POST", "/element", { using: "css selector", value: selector }))[ELEMENT];
  }

  // As a person would: into the middle of what is seen.
  async click(selector) {
    await this.call("POST", "/element/" + (await this.find(selector)) + "/click", {});
  }

  async type(selector, text) {
    await this.call("POST", "/element/" + (await this.find(selector)) + "/value", { text });
  }

  // Keys for whatever has the focus, each pressed and released.
  keys(...keys) {
    const actions = keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    return this.call("POST", "/actions", { actions: [{ type: "key", id: "keys", actions }] });
  }

  focused() {
    return this.run(() => document.activeElement.innerText || document.activeElement.id);
  }

  // The messages of the console that are no mere notes, since the last time.
  async complaints() {
    const messages = await this.call("POST", "/se/log", { type: "browser" });
    return messages.filter((one) => one.level !== "INFO" && one.level !== "DEBUG").map((one) => one.message);
  }

  // The addresses that it has asked, since the last time.
  async requests() {
    const entries = await this.call("POST", "/se/log", { type: "performance" });
    return entries.map((one) => JSON.parse(one.message).message)
      .filter((one) => one.method === "Network.requestWillBeSent")
      .map((one) => ({ url: one.params.request.url, method: one.params.request.method }));
  }

  async screenshot() {
    return Buffer.from(await this.call("GET", "/screenshot"), "base64");
  }
}

const KEYS = { enter: "\uE007", escape: "\uE00C", down: "\uE015", up: "\uE013", tab: "\uE004", home: "\uE011", end: "\uE010" };

module.exports = { Driver, KEYS, launch, sleep, until };
