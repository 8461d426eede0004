// What happened to each lock since the page was opened, as far as it was seen.

const EVENTS_MOST = 12; // of one lock
const NAMES_MOST = 3000;

const eventsByName = new Map(); // those that changed last are at its end

function remember(name, found) {
  const events = [...found, ...(eventsByName.get(name) ?? [])].slice(0, EVENTS_MOST);
  eventsByName.delete(name);
  eventsByName.set(name, events);
  if (eventsByName.size > NAMES_MOST) eventsByName.delete(eventsByName.keys().next().value);
}

function endsBetween(before, after) {
  const last = after.lastRelease;
  const isNews = last && last.fence !== before?.lastRelease?.fence;
  const gone = (before?.holders ?? []).filter((one) => !after.holders.some((hold) => hold.fence === one.fence));
  const others = gone.filter((one) => one.fence !== last?.fence)
    .map((one) => ({ at: after.seenAt, what: "ended", fence: one.fence, owner: one.owner }));
  if (!isNews) return others;
  return [...others, { at: last.at, what: last.reason, fence: last.fence, owner: last.owner, broken: last.broken }];
}

function grantsBetween(before, after) {
  return after.holders
    .filter((hold) => !before?.holders.some((one) => one.fence === hold.fence))
    .map((hold) => ({ at: hold.since, what: "granted", fence: hold.fence, owner: hold.owner }));
}

function recordEvents(before, after) {
  const found = [...endsBetween(before, after), ...grantsBetween(before, after)];
  const known = eventsByName.get(after.name) ?? [];
  const isNew = (event) => !known.some((one) => one.what === event.what && one.fence === event.fence);
  const fresh = found.filter(isNew).sort((a, b) => b.at - a.at || b.fence - a.fence);
  if (fresh.length > 0) remember(after.name, fresh);
}
