import { Client, type ClientOptions } from "./index.js";

/** A batond with a Redis of its own, which knows no lock at first. */
export class Server {
  private constructor();
  readonly url: string;
  client(options?: ClientOptions): Client;
  stop(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts it on a free port, with further settings such as `--max-wait=50s`. It needs the package baton. */
export function startServer(...settings: string[]): Promise<Server>;
