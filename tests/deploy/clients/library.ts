// The types of clients/node, as somebody would use them in an ES module and in CommonJS.
import { Client, LockLost, Locked, type Duration, type Lock } from "baton-client";
import { startServer } from "baton-client/testing";

const client = new Client(process.env.BATON, { timeout: 5000 });

async function main(): Promise<void> {
  const fence: number = await client.withLock("library", { ttl: "30s", wait: 1000, meta: { job: 1 } }, (lock: Lock) => {
    lock.check();
    return lock.signal.aborted ? 0 : (lock.fences["library"] ?? 0);
  });
  const options = { at_least: "10ms", max_held: "1h", confirm: "none", fields: { reentrant: false } } as const;
  const held = await client.acquire(["library", "another"], options).catch((error: unknown) => {
    if (error instanceof Locked) return error.holders[0]?.owner;
    throw error;
  });
  if (typeof held === "string" || held === undefined || fence === 0) throw new Error("held by another");
  await held.extend("1m");
  for await (const { name } of client.list("", { heldFor: 0 })) await client.breakLock(name, { reason: "a test" });
  const lost = await held.release().catch((error: unknown) => error);
  if (!(lost instanceof LockLost) || lost.ended?.broken?.reason !== "a test") throw new Error(String(lost));
  {
    await using another = await client.acquire("third");
    another.check();
  }
  const skipped: number | undefined = await client.withLock("third", { skip: true }, () => 7);
  const led: string = await client.lead("third", {}, async (lock) => (await client.held("third", lock.token)).mode);
  for await (const change of client.events("fourth")) {
    if (change.state !== "free" || skipped !== 7 || led !== "exclusive") throw new Error(change.state);
    break;
  }
}

export function mistakes(): unknown[] {
  // @ts-expect-error: a field that there is not
  const field = client.acquire("a", { tll: "10s" });
  // @ts-expect-error: a number in a text has a unit
  const text: Duration = "30";
  // @ts-expect-error: a lock has a name
  const name = client.acquire(undefined);
  return [field, text, name, startServer];
}

void main();
