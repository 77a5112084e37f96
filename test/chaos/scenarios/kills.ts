/**
 * Pipelines and deliverers are killed, at points of their work and at any moment, and started again at once.
 *
 * The points are signs on the wire (`chaos/wire.ts`), each the last or the first message of a step.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { endNow } from '../../harness/tree.js'
import { until } from '../../harness/weir.js'
import { InFlight } from '../in-flight.js'
import { acknowledgements, revive } from '../revival.js'
import type { Outcome, Run, Scenario } from '../scenario.js'
import type { Worker } from '../site.js'
import type { Sign } from '../wire.js'

type KilledRole = 'pipeline' | 'deliver'

interface Point {
  readonly name: string
  readonly sign: Sign | 'asked' | 'answered'
}

const packs = /^H?PUB weir\.deliveries\./
const ledger = /^H?PUB weir\.books\b/
const points: Readonly<Record<KilledRole, readonly Point[]>> = {
  pipeline: [
    { name: 'after fetch', sign: { line: /^H?MSG .*\$JS\.ACK\.\S*WEIR_RECORDS/, fate: 'last' } },
    { name: 'after evaluation', sign: { line: packs, fate: 'held' } },
    { name: 'between packs', sign: { line: packs, skip: 1, fate: 'held' } },
    { name: 'between the last pack and the books', sign: { line: ledger, fate: 'held' } },
    { name: 'before the acknowledgement', sign: { line: acknowledgements.pipeline, fate: 'held' } },
    { name: 'after the acknowledgement', sign: { line: acknowledgements.pipeline, fate: 'last' } },
  ],
  deliver: [
    { name: 'after fetch', sign: { line: /^H?MSG .*\$JS\.ACK\.\S*WEIR_DELIVERIES/, fate: 'last' } },
    { name: 'in the middle of a request', sign: 'asked' },
    { name: "after the service's 200", sign: 'answered' },
    { name: 'before the books', sign: { line: ledger, fate: 'held' } },
    { name: 'before the acknowledgement', sign: { line: acknowledgements.deliver, fate: 'held' } },
    { name: 'after the acknowledgement', sign: { line: acknowledgements.deliver, fate: 'last' } },
  ],
}

/** Records of a second while processes are killed. */
const perSecond = 300
/** Each role, in the full form. */
const killsOfRole = 50
const worksWithinMs = 5_000
/** A point that is not reached in this time is not on the way of these records. */
const pointWithinMs = 60_000
const randomWithinMs = 2_000

/** Resolves when the process is dead, at a point of its work. */
async function killAt(worker: Worker, { name, sign }: Point): Promise<void> {
  let isSeen = false
  const kill = (): void => {
    isSeen = true
    endNow(worker.running.pid)
  }
  const forget = typeof sign === 'object' ? worker.wire.watch(sign, kill) : worker.answers.watch(sign, kill)
  await until(`a ${worker.role} is ${name}`, () => isSeen, pointWithinMs).finally(forget)
  await worker.running.ended
}

type Kill = (worker: Worker, count: number) => Promise<void>

async function killAll(run: Run, kill: Kill): Promise<Outcome> {
  const traffic = await run.open()
  const { site, publisher } = traffic
  const inFlight = new InFlight()
  const revivedMs: number[] = []
  let late = 0
  publisher.pace(perSecond)
  const kills = run.count(killsOfRole)
  for (let count = 0; count < kills; count += 1) {
    for (const role of ['pipeline', 'deliver'] satisfies KilledRole[]) {
      const workers = site.ofRole(role)
      const worker = workers[count % workers.length]!
      await kill(worker, count)
      await inFlight.note(site, role)
      const ms = await revive(site, worker)
      revivedMs.push(ms)
      if (ms > run.allowed(worksWithinMs)) late += 1
    }
    if (count % 10 === 9) run.say(`${count + 1} of ${kills} kills of each role`)
  }
  const longest = Math.max(...revivedMs)
  const middle = revivedMs.toSorted((a, b) => a - b)[revivedMs.length >> 1]!
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
  const figures = {
    kills: String(revivedMs.length),
    'works again': `after ${seconds(middle)}, at most ${seconds(longest)}`,
  }
  const broken = late > 0 ? [`${late} of ${revivedMs.length} took longer than 5 s to work again`] : []
  return traffic.judge({ repeatsMax: inFlight.boundOf }, figures, broken)
}

const passesWhen =
  'nothing is lost; repeats ≤ events in flight at the kills; each process works again within 5 s of its start'

export const killsAtPoints: Scenario = {
  name: 'kills-points',
  fault: `\`kill -9\` of pipeline and deliver, ${killsOfRole} each, at twelve points of their work`,
  passesWhen,
  partitions: [1, 4],
  run: (run) =>
    killAll(run, (worker, count) => {
      const named = points[worker.role as KilledRole]
      return killAt(worker, named[count % named.length]!)
    }),
}

export const killsAtRandom: Scenario = {
  name: 'kills-random',
  fault: `\`kill -9\` of pipeline and deliver, ${killsOfRole} each, at random`,
  passesWhen,
  partitions: [1, 4],
  run: (run) =>
    killAll(run, async (worker, count) => {
      await sleep(run.random(`${worker.role} ${count}`) * randomWithinMs)
      await worker.running.kill()
    }),
}
