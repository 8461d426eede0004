// Clients of one lock of redlock 5 with ioredis: redlock.mjs PORT CLIENTS SECONDS; prints turns for
// contended.py. Its settings are the standard ones, but that it never gives up. The clients are shared
// by a few processes, each with one connection, as ioredis recommends.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import process, { argv, hrtime } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'
import Redlock from 'redlock'

const PROCESSES = 4
const LEAD_NS = 1_500_000_000n // the processes begin together, when all of them are there
const TTL_MS = 10_000

async function contend(redlock, client, start, end, lines) {
  await sleep(Number(start - hrtime.bigint()) / 1e6)
  while (hrtime.bigint() < end) {
    const arrived = hrtime.bigint()
    const waiting = lines.push(`${client} ${arrived} 0 0`) // so it stays, if it is not granted in time
    const lock = await redlock.acquire([`bench-redlock-${start}`], TTL_MS)
    const granted = hrtime.bigint()
    const released = hrtime.bigint()
    lines[waiting - 1] = `${client} ${arrived} ${granted} ${released}`
    await lock.release()
  }
}

async function work([port, clients, first, step, start, end]) {
  const redlock = new Redlock([new Redis(+port)], { retryCount: -1 })
  const lines = []
  for (let client = +first; client < +clients; client += +step)
    contend(redlock, client, BigInt(start), BigInt(end), lines)
  await sleep(Number(BigInt(end) - hrtime.bigint()) / 1e6)
  process.send(lines, () => process.exit())
}

async function lead([port, clients, seconds]) {
  const start = hrtime.bigint() + LEAD_NS
  const end = start + BigInt(Math.round(seconds * 1e9))
  const step = Math.min(clients, PROCESSES)
  console.log(`# window ${start} ${end}`)
  const children = Array.from({ length: step }, (_, first) =>
    fork(argv[1], [port, clients, first, step, start, end]))
  for (const [lines] of await Promise.all(children.map((child) => once(child, 'message'))))
    lines.forEach((line) => console.log(line)) // none of a process that came too late
}

await (process.send ? work(argv.slice(2)) : lead(argv.slice(2)))
