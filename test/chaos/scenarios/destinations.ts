/** One destination after the other is in trouble, beside five that are not. */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { residentOf } from '../../bench/memory-meter.js'
import type { Trouble } from '../destinations.js'
import type { Outcome, Run, Scenario, Traffic } from '../scenario.js'
import type { Site, SiteDestination } from '../site.js'

const perSecond = 500
/** Each destination, in the full form. */
const lastsMs = 120_000
const flapMs = 3_000
/** What the others deliver meanwhile, of what is published. */
const othersShareMin = 0.95
const mebibyte = 1024 * 1024
const growsBytesMax = 64 * mebibyte
/** Retries are at most so far apart once a destination has failed for a while. */
const probesMs = 30_000

const memoryOf = (site: Site): number =>
  residentOf(
    ['pipeline', 'deliver']
      .flatMap((role) => site.ofRole(role as 'pipeline' | 'deliver'))
      .map(({ running, role }) => ({ pid: running.pid, role })),
  ).privateBytes

const deliveredTo = async (site: Site, { id }: SiteDestination): Promise<number> =>
  (await site.api.deliveryStatus(id)).counts.delivered

interface Spell {
  readonly kind: string
  /** Of what was published for them meanwhile, the least that one of the others delivered. */
  readonly othersShare: number
  readonly grownBytes: number
  /** Requests to the one in trouble in the last half minute of it. */
  readonly lastRequests: number
}

/** One destination is in trouble for a while. */
async function spell(
  { site, publisher }: Traffic,
  troubled: SiteDestination,
  ms: number,
  meanwhile: (beganMs: number) => Promise<void>,
): Promise<Spell> {
  const others = site.destinations.filter(({ id }) => id !== troubled.id)
  const memory = memoryOf(site)
  const beganMs = monotonicMs()
  const before = await Promise.all(others.map((each) => deliveredTo(site, each)))
  const publishedBefore = publisher.obligations
  const last = sleep(Math.max(0, ms - probesMs)).then(() => troubled.requests())
  await meanwhile(beganMs)
  const published = publisher.obligations - publishedBefore
  const after = await Promise.all(others.map((each) => deliveredTo(site, each)))
  const shares = others.map((each, at) => {
    const owed = each.isNarrow ? published * 0.75 : published
    return (after[at]! - before[at]!) / owed
  })
  const lastRequests = (await troubled.requests()) - (await last)
  const grownBytes = memoryOf(site) - memory
  return { kind: troubled.kind, othersShare: Math.min(...shares), grownBytes, lastRequests }
}

async function eachInTrouble(
  run: Run,
  trouble: Trouble,
  meanwhile: (destination: SiteDestination, ms: number) => Promise<void>,
): Promise<Outcome> {
  const traffic = await run.open()
  const { site, publisher } = traffic
  const ms = Math.max(10_000, lastsMs * run.size.share)
  publisher.pace(perSecond)
  await sleep(5_000)
  const spells: Spell[] = []
  for (const troubled of site.destinations.filter(({ troubles }) => troubles.includes(trouble))) {
    try {
      spells.push(await spell(traffic, troubled, ms, () => meanwhile(troubled, ms)))
    } finally {
      await troubled.trouble(undefined)
    }
    run.say(`${troubled.kind}: the others delivered ${percent(spells.at(-1)!.othersShare)}`)
  }
  const broken = run.size.share < 1 ? [] : spells.flatMap(brokenIn)
  const worst = Math.min(...spells.map(({ othersShare }) => othersShare))
  const grown = Math.max(...spells.map(({ grownBytes }) => grownBytes))
  const figures = {
    'in trouble': spells.map(({ kind }) => kind).join(', '),
    'the others delivered': `at least ${percent(worst)}`,
    memory: `grew by at most ${Math.max(0, Math.round(grown / mebibyte))} MiB`,
    'requests in the last half minute': spells.map(({ lastRequests }) => lastRequests).join(', '),
  }
  const emulated = await repeatsAtEmulator(site)
  return traffic.judge(
    { repeatsMax: (each) => emulated.get(each.id) ?? Number.POSITIVE_INFINITY },
    figures,
    broken,
  )
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`

const brokenIn = ({ kind, othersShare, grownBytes }: Spell): string[] => [
  ...(othersShare < othersShareMin
    ? [`${kind} in trouble: another one delivered ${percent(othersShare)}`]
    : []),
  ...(grownBytes > growsBytesMax
    ? [`${kind} in trouble: memory grew by ${Math.round(grownBytes / mebibyte)} MiB`]
    : []),
]

/** What the emulator counted itself: what we find twice must be that. */
async function repeatsAtEmulator({ emulator, destinations }: Site): Promise<ReadonlyMap<string, number>> {
  const repeats = new Map<string, number>()
  for (const { kind, id } of destinations) {
    if (kind !== 'kinesis' && kind !== 'firehose') continue
    repeats.set(id, (await emulator.client.counts({ service: kind, name: 'traffic' })).duplicates)
  }
  return repeats
}

const passesWhen = 'nothing is lost; the others deliver ≥ 95 % of what is published; memory grows by ≤ 64 MiB'

const steady = (trouble: Trouble) => async (destination: SiteDestination, ms: number) => {
  await destination.trouble(trouble)
  await sleep(ms)
}

const scenarioOf = (trouble: Trouble, fault: string): Scenario => ({
  name: `destination-${trouble}`,
  fault: `${fault}; one destination of each kind after the other, two minutes each`,
  passesWhen,
  run: (run) => eachInTrouble(run, trouble, steady(trouble)),
})

export const destinationScenarios: readonly Scenario[] = [
  scenarioOf('error', 'every request fails'),
  scenarioOf('hang', 'no request is answered'),
  scenarioOf('slow', 'each answer takes 5 s'),
  scenarioOf('lost', 'requests take effect, and their answers are lost'),
  {
    name: 'destination-flaps',
    fault: 'fails for 3 s, works for 3 s; one destination of each kind after the other, two minutes each',
    passesWhen,
    run: (run) =>
      eachInTrouble(run, 'error', async (destination, ms) => {
        for (const endMs = monotonicMs() + ms; monotonicMs() < endMs; ) {
          await destination.trouble('error')
          await sleep(flapMs)
          await destination.trouble(undefined)
          await sleep(flapMs)
        }
      }),
  },
]
