// The types of clients/node, as somebody would use them.
import { Client, LockLost, Locked, type Lock } from "baton-client";

const client = new Client(process.env.BATON, { timeout: 5000 });

async function main(): Promise<void> {
  const fence: number = await client.withLock("library", { ttl: "30s", wait: 1000, meta: { job: 1 } }, (lock: Lock) => {
    lock.check();
    return lock.signal.aborted ? 0 : (lock.fences["library"] ?? 0);
  });
  const held = await client.acquire(["library", "another"], { reentrant: false, confirm: "none" }).catch((error: unknown) => {
    if (error instanceof Locked) return error.holders[0]?.owner;
    throw error;
  });
  if (typeof held === "string" || held === undefined || fence === 0) throw new LockLost("held by another");
  await held.release();
  {
    await using another = await client.acquire("library");
    another.check();
  }
  for await (const change of client.events("library")) {
    if (change.state !== "free") throw new Error(change.state);
    break;
  }
}

void main();
