// Breaking a lock: what it would end is looked up at the last moment, shown, and ended if it still
// is what was shown.

const breaking = { name: "", fences: "", refusedFor: new Map() };

const fencesOf = (view) => view.holders.map((hold) => hold.fence).join();

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
  breaking.fences = fencesOf(view);
  at("break-name").replaceChildren(foreign(view.name));
  at("break-holds").replaceChildren(element("ul", { class: "holds" }, ...view.holders.map(holdLine)));
  at("break-what").replaceChildren("This ends " + count(view.hold_count, "hold") + " now. ",
    ...(next ? ["The lock goes to ", ownerOf({ owner: next.owner, principal: next.principal ?? "" }), ", the next in the queue."]
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

async function breakIt() {
  at("break-confirm").disabled = true;
  showTrouble("");
  try {
    const view = await inspect(breaking.name);
    if (fencesOf(view) !== breaking.fences) {
      fillBreakDialog(view);
      showTrouble("The holds have changed meanwhile. These are those of now.");
      return;
    }
    const broken = await breakLock(breaking.name);
    at("break-dialog").close();
    announce(count(broken.broken, "hold") + " of " + plain(breaking.name) + " broken");
    learn(await inspect(breaking.name));
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
