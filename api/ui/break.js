// Breaking a lock, or one of its holds: the holds are looked up, shown, and ended by their fences: no
// other hold ends.

const breaking = {
  name: "",
  one: null,             // the fence of the hold that is to be broken; null: all holds
  fences: [],            // of the holds that are shown
  opener: null,          // the button that opened the dialog
  refusedFor: new Map(), // why, by name
};

const mayBreak = (name) => !breaking.refusedFor.has(name);

function breakOneButton(fence) {
  const button = element("button", { type: "button", class: "danger" }, "Break this hold…");
  button.addEventListener("click", () => askToBreak(button, fence));
  return button;
}

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
  const holds = view.holders.filter((hold) => breaking.one === null || hold.fence === breaking.one);
  const others = view.hold_count - holds.length;
  breaking.fences = holds.map((hold) => hold.fence);
  setText(at("break-title"), breaking.one === null ? "Break this lock?" : "Break this hold?");
  at("break-name").replaceChildren(foreign(view.name));
  at("break-holds").replaceChildren(element("ul", { class: "holds" }, ...holds.map(holdLine)));
  at("break-what").replaceChildren("This ends " + count(holds.length, "hold") + " now. ",
    ...(others > 0 ? [count(others, "more hold") + (others === 1 ? " stays." : " stay.")] : next ? ["The lock goes to ", ownerOf({ owner: next.owner, principal: next.principal ?? "" }), ", the next in the queue."]
      : ["Nobody waits for it."]));
  at("break-what").hidden = at("break-confirm").hidden = holds.length === 0;
  if (holds.length === 0) showTrouble(others > 0 ? "This hold has ended by now." : "It is free by now: there is nothing to break.");
}

function showRefusedToBreak(text) {
  setText(at("break-refused"), text);
  at("break-refused").hidden = false;
  announce(text);
}

async function askToBreak(opener, fence) {
  Object.assign(breaking, { name: details.name, one: fence, opener });
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
  showDetails();
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
    const view = await inspect(breaking.name);
    showTrouble("The holds have changed meanwhile. These are those of now.");
    fillBreakDialog(view);
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
  at("break").addEventListener("click", () => askToBreak(at("break"), null));
  at("break-cancel").addEventListener("click", () => at("break-dialog").close());
  at("break-confirm").addEventListener("click", breakIt);
  at("break-dialog").addEventListener("close", () =>
    [breaking.opener, at("break"), at("details-name")].find((one) => one.checkVisibility()).focus());
}

function forgetRefusals() {
  breaking.refusedFor.clear();
}
