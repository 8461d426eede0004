// Locks as they are on a busy day: long names, long owners, notes, many who wait.
"use strict";

const { until } = require("./driver.js");

const PLAIN = [["deploy/billing", "release-bot", 343], ["migrate/catalog", "carol", 395], ["report/daily", "cron@cron-7", 160],
  ["cache/warm", "etl-2", 570], ["invoice/2026-11", "billing@web-3", 300], ["search/reindex", "indexer", 540],
  ["backup/postgres-main/eu-central-1/nightly-full-2026-11-22T02:00:00Z", "backup-agent@db-primary-eu-central-1a.internal", 580],
  ["payments/settlement/merchant-0000174923/ledger-rebalance", "settlement-worker-7c9f8d6b5-x2x9p", 420],
  ["payments/settlement/merchant-0000174924/ledger-rebalance", "settlement-worker-7c9f8d6b5-q8wzn", 31]];
const LONG_NAME = PLAIN[6][0];
const LONG_NOTE = { host: "db-primary-eu-central-1a", tables: Array.from({ length: 40 }, (_, i) => "orders_2026_" + (100 + i)) };
const HOSTS = ["web-1", "web-2", "web-3", "web-4"];

async function crowd({ batond }) {
  await batond.take("deploy/shop", { owner: "alice", ttl_ms: 225000, meta: { commit: "9f2c1e7", run: 5512 } });
  for (const [name, owner, ttl] of PLAIN) await batond.take(name, { owner, ttl_ms: ttl * 1000, meta: name === LONG_NAME ? LONG_NOTE : null });
  for (let i = 0; i < 4; i++) await batond.take("gpu/pool", { owner: "train-" + i, mode: "shared", limit: 4, ttl_ms: 90000 + i * 8000 });
  for (let i = 0; i < 40; i++) await batond.take("order:" + (81700 + 3 * i), { owner: "checkout@" + HOSTS[i % 4], ttl_ms: 30000 + (i * 7919) % 45000 });
  await batond.take("accounts/eu", { owner: "mover-1", ttl_ms: 240000 });
  await batond.take("accounts/us", { owner: "mover-2", ttl_ms: 180000 });
  await batond.queue("accounts/us", { owner: "mover-1" });
  await batond.queue("accounts/eu", { owner: "mover-2" });
  for (const owner of ["release-bot", "bob", "carol", "hotfix-17", "nightly"]) await batond.queue("deploy/shop", { owner });
  for (let i = 0; i < 14; i++) await batond.queue("gpu/pool", { owner: "sweep-" + i, mode: "shared", limit: 4 });
  for (let i = 0; i < 6; i++) await batond.queue(PLAIN[6][0], { owner: "restore-verification-" + i + "@db-replica-eu-central-1b.internal" });
  await batond.queue("order:81706", { owner: "refund@web-4" });
  await batond.queue("search/reindex", { owner: "alice" });
}

// Until the page shows them, and who waits.
async function crowded(stage) {
  await crowd(stage);
  await until("most who wait", async () => Number(await stage.browser.text("#count-waiting")) > 15);
}

module.exports = { crowded, LONG_NAME };
