// Making and changing elements. Nothing here, nor anywhere else, reads text as HTML.

const at = (id) => document.getElementById(id);

// element("li", {class: "x", title: "t"}, "text", other, null): what is null is left out.
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A text that others chose: on its own in the order of reading, with what is invisible shown.
function foreign(text) {
  const made = element("bdi", { class: "foreign" });
  let from = 0;
  for (const match of text.matchAll(ODD)) {
    made.append(text.slice(from, match.index));
    made.append(element("span", { class: "odd", title: "an invisible character" }, codeOf(match[0])));
    from = match.index + match[0].length;
  }
  made.append(text.slice(from));
  return made;
}

// An owner, and behind it the principal that it belongs to.
function ownerOf(who) {
  return element("span", { class: "who" }, foreign(who.owner),
    who.principal ? element("span", { class: "principal" }, " (", foreign(who.principal), ")") : null);
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Builds what is in the node anew, but only where `key` says that it has changed.
function renew(node, key, build) {
  if (node.renewedFor === key) return;
  node.renewedFor = key;
  node.replaceChildren(...build().filter((child) => child !== null));
}

// Says it to people who listen rather than look; the latest counts.
function announce(text) {
  setText(at("announcement"), text);
}
