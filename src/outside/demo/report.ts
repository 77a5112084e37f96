/** The report of a run with all details: `--verbose`. */
import { recordTypes } from '../../delivery/record/traffic-record.js'
import { type Check, checksOf, type DestinationResult, evaluatedOf, holds, type Result } from './books.js'
import type { Built } from './build.js'
import { grouped, table } from './screen.js'
import type { DeadLetter } from './set-aside.js'
import type { Outage } from './watch.js'

interface Timing {
  /** From the first publish on. */
  readonly publishedSeconds: number
  readonly arrivedSeconds: number
}

export interface Account extends Result {
  readonly built: Built
  readonly outage: Outage | undefined
  readonly letters: readonly DeadLetter[]
  readonly timing: Timing
}

const sampleChars = 400

export function report(account: Account): { text: string; failed: readonly Check[] } {
  const checks = checksOf(account)
  const failed = checks.filter((check) => !holds(check))
  const sections = [
    ['What was decided', decisions(account)],
    ...(account.situations.length === 0 ? [] : [['Policy by policy', situations(account)]]),
    ['Events', events(account)],
    ['Deliveries', deliveries(account)],
    ['A failing shard', outageText(account)],
    ['Dead letters', deadLetters(account)],
    ...samples(account.destinations),
    ['The books', checks.map(checkLine).join('\n')],
    ['Rate', rate(account)],
  ]
  return { text: sections.map(([title, body]) => `\n${title}\n\n${body}`).join('\n'), failed }
}

export const checkLine = (check: Check): string => {
  const values = Object.entries(check.values).map(([name, value]) => `${name} ${grouped(value)}`)
  return `  ${holds(check) ? 'ok ' : 'NOT'}  ${check.says}: ${values.join(', ')}`
}

function decisions({ metrics, scenario, published }: Account): string {
  const decided = (['allow', 'block', 'deny'] as const).map((decision) => [
    { allow: 'allowed', block: 'blocked', deny: 'denied' }[decision],
    metrics.sum('weir_decisions_total', { decision }),
    scenario.decidedBy[decision],
  ])
  const unserved = metrics.sum('weir_records_unserved_total')
  // No edge's policy was asked about these: it would be untrue to count them as allowed by one.
  const unservedRow =
    unserved === 0 ? [] : [['unserved', unserved, 'nobody: no edge serves them; they are counted above, too']]
  const bad = metrics.sum('weir_records_bad_total')
  const byType = recordTypes.map((type) => `${grouped(evaluatedOf(metrics, type))} ${type}`)
  return [
    `  ${grouped(published)} records in; ${byType.join(', ')} evaluated; ${grouped(bad)} bad.\n`,
    table(['decision', 'records', 'decided by'], [...decided, ...unservedRow]),
    `\n  A restriction that is not enforced warned ${grouped(metrics.sum('weir_restriction_warnings_total', { asked_by: 'record' }))} times and blocked nobody.`,
  ].join('\n')
}

const situations = ({ scenario, situations: counted }: Account): string =>
  table(
    ['endpoint', 'outcome', 'records', 'expected', 'by'],
    scenario.situations.each.map(({ says, endpoint, outcome, expected }, index) => [
      endpoint,
      outcome,
      counted[index]!,
      expected,
      says,
    ]),
  )

function events({ scenario, metrics, destinations }: Account): string {
  const rows = destinations.flatMap(({ destination: { kind: target } }) =>
    metrics.kindsOf(target).map((kind) => {
      const sum = (name: string) => metrics.sum(`weir_events_${name}_total`, { kind, target })
      return [target, kind, sum('produced'), sum('filtered')]
    }),
  )
  const subscriptions = scenario.accounts.flatMap(({ name, subscriptions }) =>
    subscriptions.map(({ description, to }) => `  ${to}: ${description}, of the account ${name}`),
  )
  return `${subscriptions.join('\n')}\n\n${table(['destination', 'kind', 'produced', 'filtered out'], rows)}`
}

const deliveries = ({ destinations }: Account): string =>
  table(
    [
      'destination',
      'state',
      'delivered',
      'received',
      'different ids',
      'repeats',
      'sent again',
      'dead-lettered',
    ],
    destinations.map(({ destination, status, received }) => [
      destination.kind,
      status.state,
      status.counts.delivered,
      received.events,
      received.unique,
      received.duplicates,
      status.counts.retried,
      status.counts.dead_lettered,
    ]),
  )

export function outageText({ outage, destinations }: Pick<Account, 'outage' | 'destinations'>): string {
  if (outage === undefined) return '  No event was for the shard that failed.'
  const { shard, state, code, arrived, seconds } = outage
  const { status, received } = destinations.find(({ destination }) => destination.kind === 'kinesis')!
  return [
    `  Shard ${shard} of the Kinesis stream refused every record for at least ${seconds.toFixed(1)} s. The destination was`,
    `  "${state}" (${code}); ${grouped(arrived)} events had arrived through the other shards by then.`,
    `  Then the shard recovered. Events were sent again ${grouped(status.counts.retried)} times, and ${grouped(received.duplicates)} arrived twice.`,
  ].join('\n')
}

function deadLetters({ letters, deadLetters: count }: Account): string {
  if (count === 0) return '  None.'
  const shown = letters.map(
    ({ line, message, reason, text }) => `  message ${message}, line ${line}: ${reason}\n    ${text}`,
  )
  return [`  ${grouped(count)} in WEIR_DEADLETTER; the neighbours of each were processed.`, ...shown].join(
    '\n',
  )
}

/** An event at each destination, if events were kept. */
const samples = (destinations: readonly DestinationResult[]): string[][] => {
  const lines = destinations.flatMap(({ destination, samples }) =>
    samples.map((event) => {
      const text = event.trim()
      return `  ${destination.kind}: ${text.length > sampleChars ? `${text.slice(0, sampleChars)} …` : text}`
    }),
  )
  return lines.length === 0 ? [] : [['An event at each destination', lines.join('\n')]]
}

function rate({ published, destinations, timing, outage }: Account): string {
  const { publishedSeconds, arrivedSeconds } = timing
  const delivered = destinations.reduce((sum, { status }) => sum + status.counts.delivered, 0)
  const perSecond = (count: number, seconds: number) => grouped(Math.round(count / seconds))
  return [
    `  Published in ${publishedSeconds.toFixed(1)} s: ${perSecond(published, publishedSeconds)} records/s.`,
    `  From the first publish to the last delivery ${arrivedSeconds.toFixed(1)} s: ${perSecond(published, arrivedSeconds)} records/s,` +
      ` ${perSecond(delivered, arrivedSeconds)} events/s.`,
    ...(outage === undefined
      ? []
      : ['  The time in which the shard failed, and the pauses after it, are part of it.']),
    '  Everything ran on this machine, the emulator included; its streams have no throughput limit.',
  ].join('\n')
}
