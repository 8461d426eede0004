// Clients of one lock of redlock 5 with ioredis: redlock.mjs PORT CLIENTS SECONDS; prints turns for
// contended.py. Its settings are the standard ones, but that it never gives up. The clients are shared
// by a few processes, each with one connection.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import process, { argv, hrtime } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'
import Redlock from 'redlock'

const PROCESSES = 4
const LEAD_NS = 50_000_000n // until all processes know when they begin
const TTL_MS = 10_000

const until = (moment) => sleep(Number(BigInt(moment) - hrtime.bigint()) / 1e6)

async function contend(redlock, client, { name, start, end }, turns) {
  await until(start)
  while (hrtime.bigint() < BigInt(end)) {
    const turn = { client, arrived: hrtime.bigint(), granted: 0, released: 0 }
    turns.push(turn)
    const lock = await redlock.acquire([name], TTL_MS)
    turn.granted = hrtime.bigint()
    turn.released = hrtime.bigint()
    await lock.release()
  }
}

async function work([port, clients, first, step]) {
  const redis = new Redis(+port)
  const redlock = new Redlock([redis], { retryCount: -1 })
  const turns = []
  await once(redis, 'ready')
  process.send('ready')
  const [contest] = await once(process, 'message')
  for (let client = +first; client < +clients; client += +step)
    contend(redlock, client, contest, turns)
  await until(contest.end)
  const lines = turns.map((turn) => `${turn.client} ${turn.arrived} ${turn.granted} ${turn.released}\n`)
  process.send(lines.join(''), () => process.exit())
}

const answers = (children) => Promise.all(children.map((child) => once(child, 'message')))

async function lead([port, clients, seconds]) {
  const step = Math.min(clients, PROCESSES)
  const children = Array.from({ length: step }, (_, first) => fork(argv[1], [port, clients, first, step]))
  await answers(children)
  const start = hrtime.bigint() + LEAD_NS
  const end = start + BigInt(Math.round(seconds * 1e9))
  for (const child of children)
    child.send({ name: `bench-redlock-${start}`, start: `${start}`, end: `${end}` })
  process.stdout.write(`# window ${start} ${end}\n`)
  for (const [lines] of await answers(children))
    process.stdout.write(lines)
}

await (process.send ? work(argv.slice(2)) : lead(argv.slice(2)))
