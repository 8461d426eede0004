// Looks again at what the stream of events does not tell of: renewals, and who comes and goes in a
// queue. One page of the list each time, and the few locks that matter most now.

const REFRESH_MS = 2000;
const REFRESH_SLOWEST_MS = 30000;
const PAGE_SIZE = 200;
const LOOKS_MOST = 8;

class Refresher {
  // `pick` names the locks to be looked at in any case, the most important first.
  constructor(prefix, pick, listener) {
    this.prefix = prefix;
    this.pick = pick;
    this.listener = listener;
    this.cursor = null;
    this.startedAt = Date.now();
    this.pause = REFRESH_MS;
    this.abort = new AbortController();
    this.plan();
  }

  close() {
    clearTimeout(this.timer);
    this.abort.abort();
  }

  plan() {
    if (!this.abort.signal.aborted) this.timer = setTimeout(() => this.run(), this.pause);
  }

  async run() {
    try {
      if (!document.hidden && store.loaded) await this.look();
      this.pause = REFRESH_MS;
    } catch (error) {
      if (error.status === 401) this.listener.refused(error);
      this.pause = Math.min(2 * this.pause, REFRESH_SLOWEST_MS); // there may be a rate limit
    }
    this.plan();
  }

  async look() {
    await this.turnPage();
    for (const name of this.pick(LOOKS_MOST)) this.tell(await inspect(name, { signal: this.abort.signal, isLong: isLineOpen(name) }));
  }

  async turnPage() {
    const page = await listPage(this.prefix, PAGE_SIZE, this.cursor, this.abort.signal);
    for (const view of page.locks) this.tell(view);
    this.cursor = page.cursor;
    if (this.cursor === null) {
      forgetUnseen(this.startedAt);
      this.startedAt = Date.now();
    }
  }

  tell(view) {
    if (!this.abort.signal.aborted) this.listener.learnt(learn(view));
  }
}
