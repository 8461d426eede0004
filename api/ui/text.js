// Texts that others chose, made safe to show; numbers, made short to read.

// What does not show by itself, or turns the direction of what stands beside it.
const ODD = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u2800\u3164\uffa0]|^ | $|(?<= ) /gu;

function codeOf(character) {
  return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

// As plain text, for titles and for what is read aloud.
function plain(text) {
  return text.replace(ODD, (character) => "⟨" + codeOf(character) + "⟩");
}

// What JavaScript would round or write otherwise: an id of 64 bits, 1.10, 1e999.
const ODD_NUMBER = /\d{17}|\d[.eE]/;

// JSON in which such numbers stay as their owners wrote them, in browsers that know how.
function readJson(text) {
  if (!JSON.rawJSON || !ODD_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, context) =>
    typeof value === "number" && context && String(value) !== context.source ? JSON.rawJSON(context.source) : value);
}

const pad = (number) => String(number).padStart(2, "0");

// A time of so many milliseconds: "4.2 s", "42 s", "3 m 05 s", "2 h 07 m", "5 d 03 h".
function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 9.95) return s.toFixed(1) + " s";
  if (s < 60) return Math.floor(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " m " + pad(Math.floor(s % 60)) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + pad(Math.floor((s % 3600) / 60)) + " m";
  return Math.floor(s / 86400) + " d " + pad(Math.floor((s % 86400) / 3600)) + " h";
}

// The same in whole seconds, for times that only grow.
function age(ms) {
  return ms < 9950 ? Math.floor(Math.max(0, ms) / 1000) + " s" : duration(ms);
}

function count(number, one, many = one + "s") {
  return number.toLocaleString("en") + " " + (number === 1 ? one : many);
}

// Times of this browser: with the zone, and without it where the heading above tells it.
const DAY_AND_TIME = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const zonedClock = new Intl.DateTimeFormat("en-GB", { ...DAY_AND_TIME, timeZoneName: "short" });
const clock = new Intl.DateTimeFormat("en-GB", DAY_AND_TIME);
const zoneOf = (time) => zonedClock.formatToParts(time).find((part) => part.type === "timeZoneName").value;
