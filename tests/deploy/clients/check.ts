/* Clients that three programs generate from openapi.yaml: their types are the ones that somebody would write, and
 * they reach a lock whose name has every character that a path gives a meaning. */
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import * as hey from "./hey";
import { client } from "./hey/client.gen";
import * as orval from "./orval";
import type { components, paths } from "./typescript";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Fields<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];

function holds<_ extends true>(): void {}

const NAME = "shop/a b?c#d%41&e=ü;+";
const baseUrl = process.env.BATON as string;

/* Fields with a default may be left out; those without one may not. */
type Schemas = components["schemas"];
holds<Same<Fields<Schemas["AcquireRequest"]>, never>>();
holds<Same<Fields<hey.AcquireRequest>, never>>();
holds<Same<Fields<orval.AcquireRequest>, never>>();
holds<Same<Fields<Schemas["ReleaseRequest"]>, never>>();
holds<Same<Fields<Schemas["ReleaseSeveralRequest"]>, never>>();
holds<Same<Fields<Schemas["AcquireSeveralRequest"]>, "names">>();
holds<Same<Fields<hey.AcquireSeveralRequest>, "names">>();
holds<Same<Fields<orval.AcquireSeveralRequest>, "names">>();

/* A reply has one type, which is not a union with text. */
type Content = paths["/locks/{name}"]["post"]["responses"][201]["content"];
holds<Same<Content[keyof Content], Schemas["Hold"]>>();
holds<Same<hey.AcquireLockResponse, hey.Hold>>();
holds<Same<orval.acquireLockResponse201["data"], orval.Hold>>();
holds<Same<hey.InspectLockResponses[200], hey.Lock>>();
holds<Same<hey.WatchLockResponses[200], hey.LockChange>>();
holds<Same<hey.ListLocksResponses[200], hey.LockPage>>();

async function byOpenapiTypescript(): Promise<void> {
  const baton = createClient<paths>({ baseUrl });
  const params = { path: { name: NAME } };
  const { data: hold } = await baton.POST("/locks/{name}", { params, body: {} });
  assert.equal(hold?.name, NAME);
  const fence: number = hold.fence;
  const { data: lock } = await baton.GET("/locks/{name}", { params });
  assert.equal(lock?.holders[0]?.fence, fence);
  const { error } = await baton.POST("/locks/{name}", { params });
  assert.equal(error?.code, "locked");
  const { response } = await baton.DELETE("/locks/{name}", { params, body: { token: hold.token } });
  assert.equal(response.status, 200);
}

async function byHeyApi(): Promise<void> {
  client.setConfig({ baseUrl });
  const path = { name: NAME };
  const { data: hold } = await hey.acquireLock({ path, body: { wait_ms: 0 } });
  assert.equal(hold?.name, NAME);
  const { data: lock } = await hey.inspectLock({ path });
  assert.equal(lock?.state, "held");
  const { error } = await hey.acquireLock({ path });
  assert.equal(error?.code, "locked");
  const { data: released } = await hey.releaseLock({ path, body: { token: hold.token } });
  assert.equal(released?.name, NAME);
}

/* Its fetch client leaves it to the caller to encode what goes into a path. */
async function byOrval(): Promise<void> {
  const name = encodeURIComponent(NAME);
  const hold = await orval.acquireLock(name, {});
  assert(hold.status === 201);
  assert.equal(hold.data.name, NAME);
  const again = await orval.acquireLock(name, { mode: "shared" });
  assert(again.status === 409);
  assert.equal(again.data.code, "locked");
  const released = await orval.releaseLock(name, { token: hold.data.token });
  assert.equal(released.status, 200);
}

void (async () => {
  await byOpenapiTypescript();
  await byHeyApi();
  await byOrval();
})();
