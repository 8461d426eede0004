// Runs the tests of the page in a real browser; ends with one line: N passed, M failed.
//   node tests/ui/run.js [PATTERN]   only those whose name matches the regular expression
"use strict";

const path = require("node:path");
const { Driver } = require("./driver.js");

const LIMIT_MS = 180000; // of one test: it ends a hang
const FILES = ["live", "break", "people", "hostile", "sites", "many", "state", "notes", "shape", "pictures"];

function limited(promise, ms) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("not done after " + ms + " ms")), ms);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

async function main() {
  process.setMaxListeners(0); // each process that is started is ended at the end
  process.once("SIGTERM", () => process.exit(1));
  const pattern = new RegExp(process.argv[2] ?? "");
  const driver = new Driver();
  const counts = { passed: 0, failed: 0 };
  await driver.start();
  try {
    for (const file of FILES) {
      for (const [name, test] of Object.entries(require(path.join(__dirname, "test_" + file + ".js")))) {
        const title = file + ": " + name;
        if (pattern.test(title)) counts[await runOne(driver, title, test)]++;
      }
    }
  } finally {
    await driver.stop();
  }
  console.log("\n" + counts.passed + " passed, " + counts.failed + " failed");
  process.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
}

async function runOne(driver, title, test) {
  const start = Date.now();
  let result = "passed";
  try {
    await limited(test(driver), LIMIT_MS);
  } catch (error) {
    result = "failed";
    console.log(error.stack);
  }
  console.log(title.padEnd(66) + " " + result + " " + ((Date.now() - start) / 1000).toFixed(1) + " s");
  return result;
}

main();
