// A batond of the tests' own on a Redis that writes nothing to disk, and a client of it.
"use strict";

const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { launch, until } = require("./driver.js");

class Batond {
  // With `principals` it has a tokens-file of those; `settings` are flags of its own.
  constructor({ principals, settings = [] } = {}) {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "baton-ui."));
    this.port = 0;
    this.socket = path.join(this.dir, "redis");
    this.arguments = ["--redis-url=unix://" + this.socket, ...settings];
    if (principals) this.writeTokens(principals);
  }

  writeTokens(principals) {
    const file = path.join(this.dir, "tokens.json");
    const entries = principals.map(({ name, rules }) => ({
      name, rules, sha256: createHash("sha256").update(tokenOf(name)).digest("hex"),
    }));
    fs.writeFileSync(file, JSON.stringify({ principals: entries }), { mode: 0o600 });
    this.arguments.push("--tokens-file=" + file);
  }

  get url() {
    return "http://127.0.0.1:" + this.port;
  }

  async startRedis() {
    this.redis = launch("redis-server", ["--port", "0", "--unixsocket", this.socket, "--save", "", "--dir", this.dir], "ignore");
    await until("Redis starts", () => fs.existsSync(this.socket), 15000);
  }

  // As by a machine that goes away: it says goodbye to nobody, and has nothing left afterwards.
  async loseRedis() {
    const ended = new Promise((resolve) => this.redis.once("exit", resolve));
    this.redis.kill("SIGKILL");
    await ended;
    fs.rmSync(this.socket, { force: true });
  }

  async start() {
    if (!this.redis) await this.startRedis();
    this.process = launch(process.env.BATON_TEST_BATOND ?? "build/batond", [...this.arguments,
      "--log-level=info", "--redis-timeout=6s", "--listen=127.0.0.1:" + this.port],
    ["ignore", "ignore", "pipe"]);
    let said = "";
    this.process.stderr.on("data", (text) => (said += text));
    const listening = () => said.match(/127\.0\.0\.1:([1-9]\d*)/);
    await until("batond listens: " + said, listening, 15000);
    this.port = Number(listening()[1]);
  }

  // As by the first SIGTERM: it serves on for the time of its `drain`.
  drain() {
    this.process.kill("SIGTERM");
  }

  async stop() {
    if (this.process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGTERM");
    setTimeout(() => this.process.kill("SIGTERM"), 50).unref(); // no grace: nobody is in front of it
    await ended;
  }

  async remove() {
    await this.stop();
    this.redis.kill();
    fs.rmSync(this.dir, { recursive: true, force: true });
  }

  // The JSON that it answers with.
  async ask(method, target, { body, headers, as } = {}) {
    const sent = { ...headers };
    if (body) sent["Content-Type"] = "application/json";
    if (as) sent.Authorization = "Bearer " + tokenOf(as);
    const response = await fetch(this.url + target, { method, headers: sent, body: body && JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, ...(text.startsWith("{") ? JSON.parse(text) : { text }) };
  }

  take(name, fields = {}, as) {
    return this.ask("POST", "/locks/" + encodeURIComponent(name), { body: { ttl_ms: 60000, ...fields }, as });
  }

  release(name, token, as) {
    return this.ask("DELETE", "/locks/" + encodeURIComponent(name), { headers: { "Lock-Token": token }, as });
  }

  // One that stays in line although no request of its waits.
  queue(name, fields = {}, as) {
    return this.take(name, { wait_ms: 1, keep_ms: 30000, ...fields }, as);
  }
}

const tokenOf = (name) => "token-of-" + name + "-for-the-tests-of-the-page";

module.exports = { Batond, tokenOf };
