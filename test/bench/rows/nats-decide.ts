/**
 * Decisions over NATS against a bare service that answers the same bytes on the same nats-server, while the pipeline works
 * at half load. Both take turns. The rate: 64 requests under way at a time. The p99: 8 under way, so that what is measured
 * is an answer and not a queue. With `--against DIR`, also the CPU of an answer, beside that of the build of another
 * checkout, with the decision log on: at a rate at which each answer has a row, and in a flood.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Nats } from '../../../src/ground/nats/nats.js'
import { run } from '../../harness/processes.js'
import { type BenchRow, type BenchTools, type Measure, median, percentile } from '../bench.js'
import { cpuUsed, difference } from '../cpu-meter.js'
import { serveOf } from '../serve-of.js'
import { type Closers, openWeir, type System, withClosers } from '../systems/system.js'
import { messagesOf, publish, record } from '../systems/traffic.js'

const underWay = { rate: 64, latency: 8 }
/** About half of what one pipeline does beside all else on a machine with two cores. */
const loadRecordsPerSecond = 15_000
const recordsPerMessage = 100
const publishersAtOnce = 4
const timeoutMs = 10_000

type Subject = 'weir.decide' | 'echo'
const subjects: readonly Subject[] = ['weir.decide', 'echo']

/** As an ingress node asks: a record that has not ended. */
function requestOf(n: number): string {
  const { type, conn } = JSON.parse(record(n)) as { type: string; conn: Record<string, unknown> }
  const { client_ip, client_port, server_ip, server_name, server_port, start_ts } = conn
  return JSON.stringify({
    type,
    conn: { client_ip, client_port, server_ip, server_name, server_port, start_ts },
  })
}

/** Nanoseconds of each request, and of all of them. */
async function ask(nats: Nats, subject: Subject, requests: readonly string[], atOnce: number) {
  const waits: number[] = []
  const queue = requests.values()
  const begun = process.hrtime.bigint()
  const asking = async (): Promise<void> => {
    for (const request of queue) {
      const asked = process.hrtime.bigint()
      await nats.request(subject, request, timeoutMs)
      waits.push(Number(process.hrtime.bigint() - asked))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, asking))
  return { waits, totalNs: Number(process.hrtime.bigint() - begun) }
}

/** Publishes at a steady rate, the same messages again and again, until it is closed; later if NATS is slow. */
function openLoad({ nats }: System): { close(): Promise<void> } {
  const messages = [...messagesOf(0, 100 * recordsPerMessage, recordsPerMessage)]
  const pauseMs = (recordsPerMessage / loadRecordsPerSecond) * 1_000 * publishersAtOnce
  const closing = new AbortController()
  const publishing = async (): Promise<void> => {
    for (let n = 0; !closing.signal.aborted; n += 1) {
      const pause = sleep(pauseMs)
      await publish(nats, messages[n % messages.length]!)
      await pause
    }
  }
  const all = Promise.all(Array.from({ length: publishersAtOnce }, publishing))
  return {
    close: async () => {
      closing.abort()
      await all
    },
  }
}

// --- against another build ---

/** Answers per second: the rate at which each of them just has a row (`pipeline/answers.ts`). */
const calmPerSecond = 100
const logged = { WEIR_DECISION_LOG: 'all' }

interface Answering {
  readonly system: System
  readonly nats: Nats
}

/** Microseconds of CPU that `decide` takes for an answer. */
async function cpuOfAnswer({ system, nats }: Answering, requests: readonly string[], isCalm: boolean) {
  const deciders = system.processes().filter(({ role }) => role === 'decide')
  const before = cpuUsed(deciders)
  if (isCalm)
    for (const request of requests) {
      const pause = sleep(1_000 / calmPerSecond)
      await nats.request('weir.decide', request, timeoutMs)
      await pause
    }
  else await ask(nats, 'weir.decide', requests, underWay.rate)
  return (difference(cpuUsed(deciders), before)['decide'] ?? 0) / requests.length
}

async function measureAgainst(closers: Closers, { quick }: BenchTools, against: string) {
  const openOne = async (options: object): Promise<Answering> => {
    const system = await openWeir(closers, { ...options, env: logged })
    return { system, nats: await system.openNats() }
  }
  const builds = { weir: await openOne({}), [against]: await openOne({ serve: serveOf(against) }) }
  const measures: Measure[] = []
  const nsPerOperation: Record<string, number> = {}
  const warmUp = Array.from({ length: quick ? 20_000 : 100_000 }, (_, n) => requestOf(n))
  for (const build of Object.values(builds)) await cpuOfAnswer(build, warmUp, false)
  for (const [way, isCalm] of [
    [`${calmPerSecond} answers a second`, true],
    ['a flood of answers', false],
  ] as const) {
    const requests = Array.from({ length: (isCalm ? 1_000 : 40_000) / (quick ? 2 : 1) }, (_, n) =>
      requestOf(n),
    )
    // CPU is counted in hundredths of a second, so it is added up.
    const spent = new Map<string, number>()
    const turns = quick ? 4 : 9
    for (let turn = 0; turn < turns; turn += 1)
      for (const [name, build] of Object.entries(builds))
        spent.set(name, (spent.get(name) ?? 0) + (await cpuOfAnswer(build, requests, isCalm)) / turns)
    for (const [name, us] of spent) nsPerOperation[`${name}: CPU, ${way}`] = us * 1_000
    const ratio = spent.get('weir')! / spent.get(against)!
    measures.push({ name: `CPU of an answer, of ${against}: ${way}`, ratio, bound: { atMost: 1.1 } })
  }
  return { measures, nsPerOperation }
}

export const row: BenchRow = {
  name: 'nats-decide',
  mustReach: 'at least 0.6 of the rate of a bare NATS service, p99 at most 2.5 times its, at half load',
  run: ({ against, ...tools }) =>
    withClosers(async (closers) => {
      if (against !== undefined) return await measureAgainst(closers, tools, against)
      const { quick } = tools
      const weir = await openWeir(closers)
      const asking = await weir.openNats()
      const requests = Array.from({ length: quick ? 2_000 : 10_000 }, (_, n) => requestOf(n))
      const answer = Buffer.from(await asking.request('weir.decide', requests[0]!, timeoutMs)).toString()
      const echo = run('test/bench/floor/echo.js', [weir.natsUrl, answer])
      closers.teardown(() => echo.stop())
      await echo.line(/^ready$/)
      for (const subject of subjects) await ask(asking, subject, requests, underWay.rate)
      const load = openLoad(weir)
      closers.teardown(() => load.close())
      const rates: Record<Subject, number[]> = { 'weir.decide': [], echo: [] }
      const p99s: Record<Subject, number[]> = { 'weir.decide': [], echo: [] }
      for (let turn = 0; turn < (quick ? 3 : 7); turn += 1)
        for (const subject of subjects) {
          rates[subject].push((await ask(asking, subject, requests, underWay.rate)).totalNs / requests.length)
          const { waits } = await ask(asking, subject, requests, underWay.latency)
          p99s[subject].push(percentile(waits, 0.99))
        }
      const [decideNs, echoNs] = subjects.map((subject) => median(rates[subject])) as [number, number]
      const [decideP99, echoP99] = subjects.map((subject) => median(p99s[subject])) as [number, number]
      return {
        measures: [
          { name: 'rate of a bare service', ratio: echoNs / decideNs, bound: { atLeast: 0.6 } },
          { name: 'p99 of a bare service', ratio: decideP99 / echoP99, bound: { atMost: 2.5 } },
        ],
        nsPerOperation: {
          'a decision, 64 at once': decideNs,
          'a bare answer, 64 at once': echoNs,
          'a decision, p99': decideP99,
          'a bare answer, p99': echoP99,
        },
      }
    }),
}
