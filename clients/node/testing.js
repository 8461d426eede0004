// testing.js: a batond for tests, with a Redis of its own that knows no lock. It needs the package baton.
"use strict";
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { mkdtemp, rm } = require("node:fs/promises");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { createInterface } = require("node:readline");
const { Client } = require("./index.js");

class Server {
  #process;
  #folder;

  constructor(process, folder, url) {
    this.#process = process;
    this.#folder = folder;
    this.url = url;
  }

  client(options) {
    return new Client(this.url, options);
  }

  async stop() {
    const { exitCode, signalCode } = this.#process;
    this.#process.ref();
    if (exitCode === null && signalCode === null && this.#process.kill()) await once(this.#process, "exit");
    await rm(this.#folder, { recursive: true, force: true });
  }
}
if (Symbol.asyncDispose) Server.prototype[Symbol.asyncDispose] = Server.prototype.stop;

/** Starts batond on a free port, with further settings such as `--max-wait=50s`. */
async function startServer(...settings) {
  const folder = await mkdtemp(join(tmpdir(), "baton-"));
  const plain = ["--listen=127.0.0.1:0", "--workers=1", "--log-format=json", `--state-dir=${folder}`];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BATON_")));
  const batond = spawn(process.env.BATON_BATOND || "batond", [...plain, ...settings], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const end = () => batond.kill();
  process.once("exit", end); // a test that fails ends before it stops the server
  batond.once("exit", () => process.removeListener("exit", end));
  const url = await urlOf(batond).catch(async (error) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  batond.unref(); // a test that never stops it ends, too
  batond.stderr.unref();
  return new Server(batond, folder, url);
}

function urlOf(batond) {
  return new Promise((resolve, reject) => {
    const said = [];
    batond.once("error", () =>
      reject(new Error("There is no batond. Install the package baton, or name the program in BATON_BATOND.")),
    );
    batond.once("close", (code) => reject(new Error(`batond ended with ${code}: ${said.join("\n")}`)));
    createInterface({ input: batond.stderr }).on("line", (line) => {
      if (said.length < 100) said.push(line);
      const url = /"url":"([^"]+)"/.exec(line)?.[1];
      if (url) resolve(url);
    });
  });
}

module.exports = { Server, startServer };
