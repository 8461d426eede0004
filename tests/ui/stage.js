// What most tests of the page begin with: a batond, a browser, and the page in it.
"use strict";

const assert = require("node:assert/strict");
const { Batond } = require("./batond.js");
const { until } = require("./driver.js");

const LIVE_MS = 8000;

class Stage {
  // `options.principals` for batond, the rest for the browser.
  static async open(driver, options = {}) {
    const stage = new Stage();
    stage.batond = new Batond(options);
    await stage.batond.start();
    stage.browser = await driver.open(options);
    return stage;
  }

  async close() {
    await this.browser.visit("about:blank");
    await this.batond.remove();
  }

  async visit(hash = "") {
    await this.browser.visit("about:blank"); // another hash alone would load nothing anew
    await this.browser.complaints();
    await this.browser.requests();
    await this.browser.visit(this.batond.url + "/ui" + hash);
    await this.shows("#link-text", "live", LIVE_MS);
  }

  // The page comes to show the text there.
  async shows(selector, text, ms = 5000) {
    let shown = "";
    await until(selector + " shows " + text, async () => {
      shown = await this.browser.text(selector);
      return shown.includes(text);
    }, ms).catch((error) => {
      throw new Error(error.message + "; it shows: " + shown);
    });
  }

  async showsNot(selector, text, ms = 5000) {
    await until(selector + " shows no more " + text, async () => !(await this.browser.text(selector)).includes(text), ms);
  }

  isVisible(selector) {
    return this.browser.run((s) => document.querySelector(s)?.checkVisibility() ?? false, selector);
  }

  async comesToSee(selector, ms) {
    await until(selector + " is visible", () => this.isVisible(selector), ms);
  }

  // The cells of a lock's row.
  row(name) {
    return this.browser.run((wanted) => {
      const row = [...document.querySelectorAll("#rows tr")].find((one) => one.querySelector(".open")?.textContent === wanted);
      return row ? [...row.cells].map((cell) => cell.innerText) : null;
    }, name);
  }

  // As by a click on its name.
  async look(name) {
    await until("a row of " + name, () => this.row(name));
    await this.browser.run((wanted) => {
      [...document.querySelectorAll("#rows .open")].find((one) => one.textContent === wanted).click();
    }, name);
    await this.comesToSee("#details");
  }

  async hadNoTrouble() {
    assert.deepEqual(await this.browser.complaints(), []);
  }
}

async function withStage(driver, story, options) {
  const stage = await Stage.open(driver, options);
  try {
    await story(stage);
  } finally {
    await stage.close();
  }
}

module.exports = { withStage };
