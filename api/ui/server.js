// How batond and its Redis are, as /readyz tells: asked every two seconds, and at once when the
// stream says that something has changed.

const SERVER_MS = 2000;
const ANSWER_MOST_MS = 5000;

const server = {
  checks: null,
  version: "",
  isSilent: false,    // it has not answered
  isStoreAway: false, // as the stream has told
  isAsked: false,
};

async function refreshServer() {
  if (server.isAsked) return;
  server.isAsked = true;
  const wasAway = server.isStoreAway;
  try {
    takeServer(await (await ask("readyz?verbose", { signal: AbortSignal.timeout(ANSWER_MOST_MS) })).json());
  } catch (error) {
    takeServer(error instanceof Refusal ? error : {});
    server.isSilent = !(error instanceof Refusal);
  }
  server.isAsked = false;
  if (wasAway && checkOf("redis")?.ok) server.isStoreAway = false; // the stream may have been behind
}

// A proxy may not pass it on: then nothing is known.
function takeServer({ checks, version }) {
  server.isSilent = false;
  server.checks = checks ?? null;
  server.version = version ?? "";
}

function checkOf(name) {
  return server.checks?.find((one) => one.name === name) ?? null;
}

const isFailing = (name) => checkOf(name)?.ok === false;

// The first worker that does not turn, as it is named there.
function stuckWorker() {
  return server.checks?.find((one) => one.name.startsWith("worker ") && !one.ok) ?? null;
}

function workersText() {
  const workers = server.checks.filter((one) => one.name.startsWith("worker "));
  const well = workers.filter((one) => one.ok).length;
  return well === workers.length ? count(well, "worker") : well + " of " + workers.length + " workers turn";
}

// In a quorum grants go on while few of its members grant nothing.
const pauseOf = () => (isFailing("quarantine") ? checkOf("quarantine") : null);

// As long as there is a minute and more, its seconds would only unsettle who reads; so would the
// minutes of two hours and more.
function aboutText(left) {
  if (left < 60000) return age(Math.ceil(left / 1000) * 1000);
  return "about " + (left < 7200000 ? count(Math.ceil(left / 60000), "minute") : count(Math.round(left / 3600000), "hour"));
}

function pauseText({ left_ms: left, servers }) {
  return aboutText(left) + (servers ? " at " + count(servers, "server") + " of Redis" : "");
}

function grantsText() {
  const pause = pauseOf();
  if (pause) return "paused for " + pauseText(pause) + ", after Redis may have lost locks";
  if (isFailing("redis")) return "none while Redis is away";
  return isFailing("replicas") ? "too few replicas to confirm them" : "as usual";
}

function redisText() {
  const redis = checkOf("redis");
  if (!redis) return "not known";
  return (redis.ok ? "well" : "away") + (redis.detail ? ": " + redis.detail : "");
}

// [label, text, whether it is trouble], for the panel.
function serverFacts() {
  if (!server.checks) return [];
  const isStopping = isFailing("draining");
  return [
    ["Redis", redisText(), isFailing("redis")],
    ["Grants", grantsText(), pauseOf() !== null || isFailing("redis") || isFailing("replicas")],
    ["Serving", (isStopping ? "until it stops soon, with " : "with ") + workersText(), isStopping || stuckWorker() !== null],
    ...(server.version ? [["Version", server.version, false]] : []),
  ];
}

function serverPart() {
  const facts = serverFacts();
  return facts.length === 0 ? null : element("div", { class: "server" }, heading("This batond"),
    element("dl", {}, ...facts.map(([label, text, isTrouble]) => element("div", { class: isTrouble ? "trouble" : null },
      element("dt", {}, label), element("dd", {}, text)))));
}

// What is the matter with it, but for Redis: that is said with the line.
function showServerNotices() {
  const pause = pauseOf();
  if (pause) showNotice("quarantine", "alarm", ["New locks are paused for " + pauseText(pause) + ", because " + pause.because + ". Renewals and releases work."]);
  else hideNotice("quarantine");
  const stuck = stuckWorker();
  if (stuck) showNotice("stuck", "alarm", ["A worker of this batond (" + stuck.name + ") is stuck, and its clients get no answers: restart batond."]);
  else hideNotice("stuck");
  if (isFailing("draining")) showNotice("draining", "note", ["This batond is about to stop. This page connects to the next one by itself."]);
  else hideNotice("draining");
  if (isFailing("replicas")) showNotice("replicas", "warn", ["Redis has too few replicas: requests for confirmed locks are refused."]);
  else hideNotice("replicas");
}
