/** What a world does, drawn from its seed before it begins, so that a world that broke a promise can be made smaller. */
import { Random } from './world/random.js'

interface Setup {
  readonly apis: number
  readonly pipelines: number
  readonly deliverers: number
  readonly services: number
}

/** A record by its number. */
export interface PlannedRecord {
  readonly number: number
  /** `bad`: not JSON. `poison`: the services refuse its event. */
  readonly sort: 'allowed' | 'denied' | 'bad' | 'poison'
}

export type Action = { readonly atMs: number } & (
  | { readonly does: 'publish'; readonly message: number; readonly records: readonly PlannedRecord[] }
  | { readonly does: 'write'; readonly write: Write }
  | { readonly does: 'kill'; readonly process: string; readonly downMs: number }
  | { readonly does: 'break'; readonly process: string }
  | { readonly does: 'kill server'; readonly downMs: number }
  | { readonly does: 'freeze server'; readonly ms: number }
  | { readonly does: 'kill all'; readonly downMs: number }
  | {
      readonly does: 'clickhouse'
      readonly fate: 'refused' | 'unanswered' | 'short' | 'hanging'
      readonly ms: number
    }
  | { readonly does: 'service'; readonly service: number; readonly fate: ServiceFate; readonly ms: number }
  /** Messages that were confirmed are lost: the power was cut before they were on the disk. */
  | { readonly does: 'lose last'; readonly stream: string; readonly count: number }
  /** The server does not know the stream any more, while it is up or after a kill. */
  | { readonly does: 'forget'; readonly stream: string; readonly kills: boolean }
  /** Of a copy of the server's store. */
  | { readonly does: 'put back'; readonly stream: string; readonly agoMs: number }
  | { readonly does: 'clock'; readonly process: string; readonly byMs: number }
)

export type ServiceFate = 'unanswered' | 'partial' | 'throttled' | 'unreachable' | 'denied'

/** A write of the API. Those with a key are repeated until they are answered. */
export interface Write {
  readonly number: number
  readonly api: number
  readonly verb: 'create' | 'mark' | 'delete'
  /** Which of the edges that writes are about. */
  readonly edge: number
}

export interface Plan {
  readonly seed: number
  readonly setup: Setup
  /** By time. */
  readonly actions: readonly Action[]
}

/** Actions happen within so long; then everything is mended. */
export const actionsEndMs = 5_000
const edges = 3
/** What a publish or a write causes takes about so long. */
const underWayMs = 40
const shortMs = 6_000

export function planOf(seed: number): Plan {
  const random = new Random(seed, 'plan')
  const few = (): number => (random.chance(0.3) ? 2 : 1)
  const setup = { apis: few(), pipelines: few(), deliverers: few(), services: 2 }
  const when = (): number => Math.round(random.between(0, actionsEndMs))
  const actions: Action[] = []
  let records = 0
  for (let message = 0; message < 14; message++) {
    const count = random.chance(0.3) ? 1 + random.below(6) : 1
    const first = records + 1
    const of = Array.from({ length: count }, (_, at) => ({ number: first + at, sort: sortOf(random) }))
    records += count
    actions.push({ atMs: when(), does: 'publish', message, records: of })
  }
  for (let number = 0; number < 6; number++) {
    const verb = random.pick(['create', 'create', 'mark', 'mark', 'mark', 'delete'] as const)
    const write = { number, api: random.below(setup.apis), verb, edge: random.below(edges) }
    actions.push({ atMs: when(), does: 'write', write })
  }
  const faults = random.chance(0.05) ? 0 : 1 + random.below(4)
  const busy = actions.map(({ atMs }) => atMs)
  for (let count = 0; count < faults; count++) {
    // Most faults come while something is under way: after that, little is to be broken.
    const atMs = random.chance(0.7) ? random.pick(busy) + random.between(0, underWayMs) : when()
    const fault = faultOf(random, setup)
    actions.push({ atMs, ...fault })
    // What is to be repaired is read from ClickHouse: just then it answers short.
    if (isLoss(fault) && random.chance(0.5))
      actions.push({ atMs, does: 'clickhouse', fate: 'short', ms: shortMs })
  }
  return { seed, setup, actions: actions.toSorted((a, b) => a.atMs - b.atMs) }
}

const sortOf = (random: Random): PlannedRecord['sort'] => {
  const drawn = random.next()
  if (drawn < 0.04) return 'bad'
  if (drawn < 0.08) return 'poison'
  return drawn < 0.3 ? 'denied' : 'allowed'
}

/** The names of a deployment's processes. */
export const processesOf = ({ apis, pipelines, deliverers }: Setup): string[] => [
  ...numbered('api', apis),
  ...numbered('pipeline', pipelines),
  ...numbered('deliver', deliverers),
  'decide',
]

const numbered = (role: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${role}-${index + 1}`)

type Fault = Action extends infer Each ? (Each extends { atMs: number } ? Omit<Each, 'atMs'> : never) : never

function faultOf(random: Random, setup: Setup): Fault {
  const process = random.pick(processesOf(setup))
  const shortly = (): number => Math.round(random.between(20, 1_500))
  const awhile = (): number => Math.round(random.between(200, 5_000))
  const drawn = random.next()
  if (drawn < 0.06) return lossOf(random)
  if (drawn < 0.35) return { does: 'kill', process, downMs: shortly() }
  if (drawn < 0.45) return { does: 'break', process }
  if (drawn < 0.53) return { does: 'kill server', downMs: shortly() }
  if (drawn < 0.58) return { does: 'freeze server', ms: awhile() }
  if (drawn < 0.63) return { does: 'kill all', downMs: shortly() }
  if (drawn < 0.73)
    return {
      does: 'clickhouse',
      fate: random.pick(['refused', 'unanswered', 'short', 'hanging']),
      ms: awhile(),
    }
  if (drawn < 0.95) {
    const fate = random.pick(['unanswered', 'partial', 'throttled', 'unreachable', 'denied'] as const)
    return { does: 'service', service: random.below(setup.services), fate, ms: awhile() }
  }
  return { does: 'clock', process, byMs: random.pick([-3_600_000, 3_600_000]) }
}

/** Streams that a server may lose, wholly or their last messages; the promises say what follows. */
const losing = [
  'WEIR_RECORDS',
  'WEIR_DELIVERIES',
  'WEIR_AUDIT',
  'KV_weir_config',
  'KV_weir_heads',
  'KV_weir_claims',
]
const buckets = losing.filter((stream) => stream.startsWith('KV_'))

function lossOf(random: Random): Fault {
  const drawn = random.next()
  if (drawn < 0.4) return { does: 'lose last', stream: random.pick(losing), count: 1 + random.below(3) }
  if (drawn < 0.8) return { does: 'forget', stream: random.pick(losing), kills: random.chance(0.5) }
  return { does: 'put back', stream: random.pick(buckets), agoMs: Math.round(random.between(100, 4_000)) }
}

/** Does what happens lose something that was confirmed? */
export const isLoss = ({ does }: Pick<Action, 'does'>): boolean =>
  does === 'lose last' || does === 'forget' || does === 'put back'
