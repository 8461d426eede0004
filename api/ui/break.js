// Breaking a lock: the holds are looked up, shown, and ended by their fences: no other hold ends.

const breaking = { name: "", fences: [], refusedFor: new Map() };

function showBreakButton(lock) {
  const refused = breaking.refusedFor.get(lock.name) ?? null;
  at("break").hidden = lock.holdCount === 0 || refused !== null;
  at("break-refused").hidden = lock.holdCount === 0 || refused === null;
  setText(at("break-refused"), refused ?? "");
}

function holdLine(hold) {
  return element("li", {}, ownerOf({ owner: hold.owner, principal: hold.principal ?? "" }),
    element("span", { class: "mode" }, hold.mode), element("code", {}, "fence " + hold.fence));
}

function showTrouble(text) {
  setText(at("break-trouble"), text);
  at("break-trouble").hidden = text === "";
}

function fillBreakDialog(view) {
  const next = view.waiters?.[0];
  const hidden = view.hold_count - view.holders.length;
  breaking.fences = view.holders.map((hold) => hold.fence);
  at("break-name").replaceChildren(foreign(view.name));
  at("break-holds").replaceChildren(element("ul", { class: "holds" }, ...view.holders.map(holdLine)));
  at("break-what").replaceChildren("This ends " + count(view.holders.length, "hold") + " now. ",
    ...(hidden > 0 ? [count(hidden, "more hold") + (hidden === 1 ? " stays." : " stay.")] : next ? ["The lock goes to ", ownerOf({ owner: next.owner, principal: next.principal ?? "" }), ", the next in the queue."]
      : ["Nobody waits for it."]));
  at("break-confirm").hidden = view.hold_count === 0;
  if (view.hold_count === 0) showTrouble("It is free by now: there is nothing to break.");
}

function showRefusedToBreak(text) {
  setText(at("break-refused"), text);
  at("break-refused").hidden = false;
  announce(text);
}

async function askToBreak() {
  breaking.name = details.name;
  showTrouble("");
  at("break-reason").value = "";
  try {
    fillBreakDialog(await inspect(breaking.name));
    at("break-dialog").showModal();
    at("break-cancel").focus();
  } catch (error) {
    showRefusedToBreak("It cannot be looked up: " + (error.status ? error.message : "batond cannot be reached") + ".");
  }
}

// 403 is the answer to whether it is permitted at all, for this name.
function refuseBreak(error) {
  if (error.status === 403) {
    breaking.refusedFor.set(breaking.name, "You may not break this lock: " + error.message + ".");
    at("break-confirm").hidden = true;
  }
  showTrouble(error.status === 403 ? "Not permitted: " + error.message + ". Nothing was changed."
    : error.status ? "It could not be broken: " + error.message + "." : "batond cannot be reached, so it is not known whether the lock was broken.");
  if (details.last) showBreakButton(details.last);
}

// A hold that was shown and has ended is none to break: what is there now is shown instead.
async function breakShown() {
  let broken = 0;
  try {
    for (const fence of breaking.fences) {
      broken += (await breakHold(breaking.name, fence, at("break-reason").value.trim())).broken;
    }
  } catch (error) {
    if (error.code !== "hold_ended") throw error;
    fillBreakDialog(await inspect(breaking.name));
    showTrouble("The holds have changed meanwhile. These are those of now.");
    return;
  }
  at("break-dialog").close();
  announce(count(broken, "hold") + " of " + plain(breaking.name) + " broken");
  learn(await inspect(breaking.name));
}

async function breakIt() {
  at("break-confirm").disabled = true;
  showTrouble("");
  try {
    await breakShown();
  } catch (error) {
    refuseBreak(error);
  } finally {
    at("break-confirm").disabled = false;
  }
}

function openBreaking() {
  at("break").addEventListener("click", askToBreak);
  at("break-cancel").addEventListener("click", () => at("break-dialog").close());
  at("break-confirm").addEventListener("click", breakIt);
  at("break-dialog").addEventListener("close", () => (at("break").hidden ? at("details-name") : at("break")).focus());
}

function forgetRefusals() {
  breaking.refusedFor.clear();
}
