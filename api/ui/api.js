// Requests to batond. Who asks: the token that was typed in, or whatever the browser has for this
// site (a password of its own, a certificate), or nobody.

// Kept in memory alone. sessionStorage would outlive a reload, but browsers write it to disk to
// restore tabs, and whatever else this origin serves could read it.
const credentials = { token: "" };

async function refusalOf(response) {
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // a proxy's own answer; its status has to do
  }
  return new Refusal(response.status, problem);
}

async function ask(path, { method = "GET", headers = {}, signal } = {}) {
  // Tells batond not to have the browser ask for a password in a window of its own.
  const sent = { "X-Requested-With": "baton-ui", ...headers };
  if (credentials.token) sent.Authorization = "Bearer " + credentials.token;
  const response = await fetch(path, {
    method, headers: sent, signal, cache: "no-store", credentials: "same-origin", redirect: "error",
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

const WAITERS_MOST = 200; // that batond tells of

const pathOf = (name) => "locks/" + encodeURIComponent(name);

// Of those who wait, the first are told, or the first WAITERS_MOST where `isLong`.
async function inspect(name, { signal, isLong = false } = {}) {
  return readJson(await (await ask(pathOf(name) + (isLong ? "?waiters=" + WAITERS_MOST : ""), { signal })).text());
}

// In a query batond takes a plus for itself, which URLSearchParams writes for a space.
const queryOf = (fields) => "?" + new URLSearchParams(fields).toString().replaceAll("+", "%20");

async function breakHold(name, fence, reason) {
  const query = queryOf({ force: true, fence, ...(reason ? { reason } : {}) });
  return (await ask(pathOf(name) + query, { method: "DELETE" })).json();
}

async function stats() {
  return (await ask("stats?limit=20")).json();
}

async function listPage(prefix, limit, cursor, signal) {
  const query = queryOf({ prefix, limit, ...(cursor ? { cursor } : {}) });
  return readJson(await (await ask("locks" + query, { signal })).text());
}
