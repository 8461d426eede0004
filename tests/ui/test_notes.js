// What holders say of themselves (`meta`) is shown as they have sent it.
"use strict";

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
};
