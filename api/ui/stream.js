// The live line: the stream of events, read so that a token can be sent with it (EventSource sends
// none), and taken up again where it broke.

const SILENCE_MS = 40000; // batond shows a sign of life every 15 seconds
const FINAL = [401, 403, 501]; // the answer will be the same the next time
const AGAIN_MS = [500, 1000, 2000, 4000, 8000, 15000];

// Takes server-sent events apart, piece by piece.
class EventReader {
  constructor(hear) {
    this.hear = hear;
    this.rest = "";
    this.event = { type: "message", data: "", id: "" };
  }

  feed(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") {
      this.hear(this.event);
      this.event = { type: "message", data: "", id: "" };
      return;
    }
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("id:")) this.event.id = value;
    else if (line.startsWith("event:")) this.event.type = value;
    else if (line.startsWith("data:")) this.event.data += value;
  }
}

async function readAll(response, alive, reader) {
  const decoder = new TextDecoder();
  const body = response.body.getReader();
  for (;;) {
    const { value, done } = await body.read();
    if (done) return;
    alive();
    reader.feed(decoder.decode(value, { stream: true }));
  }
}

// Follows the names that begin with `prefix` until `close`. The listener hears live(), event(type,
// data), asleep(why, ms) when it will try again, and refused(refusal) when that would not help.
class LiveLine {
  constructor(prefix, listener) {
    this.prefix = prefix;
    this.listener = listener;
    this.latest = "";
    this.failures = 0;
    this.closed = false;
    this.follow();
  }

  close() {
    this.closed = true;
    this.abort?.abort();
    this.wake?.();
  }

  // Tries again at once, if it sleeps.
  hurry() {
    this.wake?.();
  }

  async follow() {
    while (!this.closed) {
      let why = "the connection ended";
      try {
        await this.read();
      } catch (error) {
        if (this.closed) return;
        if (error instanceof Refusal && FINAL.includes(error.status)) {
          this.listener.refused(error);
          return;
        }
        why = error instanceof Refusal ? error.message : "batond cannot be reached";
      }
      if (!this.closed) await this.sleep(why);
    }
  }

  async read() {
    this.abort = new AbortController();
    const headers = { Accept: "text/event-stream" };
    if (this.latest) headers["Last-Event-ID"] = this.latest;
    const query = queryOf({ prefix: this.prefix, limit: 200 });
    let silence;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => this.abort.abort(), SILENCE_MS);
    };
    alive();
    try {
      const response = await ask("events" + query, { headers, signal: this.abort.signal });
      this.failures = 0;
      this.listener.live();
      await readAll(response, alive, new EventReader((event) => this.hear(event)));
    } finally {
      clearTimeout(silence);
    }
  }

  hear(event) {
    if (this.closed) return;
    if (event.type === "snapshot") this.latest = ""; // there is no resuming in its midst
    if (event.id) this.latest = event.id;
    if (event.data) this.listener.event(event.type, readJson(event.data));
  }

  // With some chance in it, so that not all pages come back in the same moment.
  sleep(why) {
    const most = AGAIN_MS[Math.min(this.failures++, AGAIN_MS.length - 1)];
    const ms = most * (0.7 + 0.3 * Math.random());
    this.listener.asleep(why, ms);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
