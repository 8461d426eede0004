// The strip at the top of the page: a line for each thing that is the matter now, the worst first.

const NOTICE_KINDS = ["alarm", "warn", "note"]; // in the order in which they stand

// Shows a line, or changes it: `children` are texts and nodes. It is built anew only where `key`
// (that what it says, unless given) is another one than before, so that a button in it can be used.
function showNotice(id, kind, children, key = children.join("")) {
  let notice = at(id);
  if (!notice) {
    notice = element("p", { class: "notice", id });
    notice.dataset.kind = kind;
  }
  renew(notice, kind + key, () => children);
  if (notice.isConnected && notice.dataset.kind === kind) return;
  notice.dataset.kind = kind;
  const rank = (one) => NOTICE_KINDS.indexOf(one.dataset.kind);
  const next = [...at("notices").children].find((one) => one !== notice && rank(one) > rank(notice));
  at("notices").insertBefore(notice, next ?? null);
}

function hideNotice(id) {
  at(id)?.remove();
}
