/** `weir try`: a draft from a file, tried on recorded traffic; Ctrl-C cancels it. */

import { sleep } from '../../../ground/core/clock.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { readInput } from '../../../ground/core/files/bounded-file.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../../ground/core/text/times.js'
import { stopSignal } from '../../../management/process/child.js'
import type { Settings } from '../../../management/process/settings.js'
import type { Client, TryOptions } from '../../../words/client/client.js'
import { timeSentences } from '../../../words/shape/trial/time-sentences.js'
import type { Trial, TrialDecisions, TrialEvents, TrialExample } from '../../../words/shape/trial.js'
import { clientOf } from '../connection/api-client.js'
import { rowTimeOf } from '../decisions.js'
import { type Extent, ProgressLine } from '../progress.js'

export interface TryCommand {
  readonly file: string
  readonly since: string
  readonly time?: string
  readonly json?: true
  /** The action of the rules of a plain list. */
  readonly action?: string
}

type Begin = (client: Client, id: string, draft: unknown, options: TryOptions) => Promise<Trial>

/** The API checks each draft and reports its faults. */
const drafts = {
  policies: (client, id, draft, options) => {
    const [edge = '', route] = id.split('/')
    if (route !== undefined)
      return client.httpsEdgeRoute.under(edge).policies.try(route, draft as never, options)
    const { policies } = edge.startsWith('edghts_') ? client.httpsEdge : client.tcpEdge
    return policies.try(edge, draft as never, options)
  },
  'ip-restriction': (client, id, draft, options) =>
    client.tcpEdge.ip_restriction.try(id, draft as never, options),
  rules: (client, id, draft, options) => client.tryRules(id, rulesIn(draft), options),
  restriction: (client, id, draft, options) => client.tryRestriction(id, draft as never, options),
  subscription: (client, _id, draft, options) => client.trySubscription(draft as never, options),
} satisfies Record<string, Begin>

/** The body of the replacement, or the list alone. */
const rulesIn = (draft: unknown): never =>
  (Array.isArray(draft) ? draft : (draft as { readonly rules?: unknown } | null)?.rules) as never

/**
 * The rules of a plain list: a range or an address per line, `#` begins a comment. `undefined` if the text is JSON. The API
 * checks the ranges, and names those that are wrong.
 */
export function rulesOfList(
  text: string,
  action: string,
): readonly { readonly cidr: string; readonly action: string }[] | undefined {
  if (/^\s*[[{]/.test(text)) return undefined
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
    .map((cidr) => ({ cidr, action }))
}

const lookAgainMs = 500

/** Resolves with the exit code. */
export async function tryDraft(
  settings: Settings,
  what: keyof typeof drafts,
  id: string,
  { file, since, time, json, action }: TryCommand,
): Promise<number> {
  const client = clientOf(settings)
  const draft = draftIn(file, action)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const begin: Begin = drafts[what]
  const begun = await begin(client, id, draft, {
    since,
    ...(time !== undefined && { time: rowTimeOf(time) }),
  })
  const trial = await whenEnded(client, begun, stop.signal)
  if (trial.state === 'failed')
    process.stderr.write(`weir: The trial failed: ${forTerminal(sentenceForTerminal(trial.error ?? ''))}\n`)
  else if (trial.state === 'cancelled') process.stderr.write('weir: The trial was cancelled.\n')
  if (json) process.stdout.write(`${JSON.stringify(trial)}\n`)
  else if (trial.state === 'done') process.stdout.write(forTerminal(trialReport(trial)))
  return trial.state === 'done' ? 0 : 1
}

/** More than the API takes. */
const draftBytesMax = 64 * 1024 * 1024

function draftIn(file: string, action: string | undefined): unknown {
  try {
    const text = readInput(file, draftBytesMax)
      .toString()
      .replace(/^\uFEFF/, '')
    return (action === undefined ? undefined : rulesOfList(text, action)) ?? JSON.parse(text)
  } catch (error) {
    throw new StartFault(`The draft ${file} can't be read: ${messageOf(error)}`)
  }
}

/** Resolves with the trial as it ended; an abort cancels it. */
export async function whenEnded(client: Client, begun: Trial, signal: AbortSignal): Promise<Trial> {
  const line = new ProgressLine()
  try {
    for (let trial = begun; ; trial = await client.trial(begun.id)) {
      if (trial.state !== 'running') return trial
      line.show(progressText(trial), extentOf(trial))
      if (signal.aborted) await client.cancelTrial(begun.id)
      else await sleep(lookAgainMs, signal)
    }
  } finally {
    line.end()
  }
}

/** Undefined before anything was read. */
export const extentOf = ({ progress: { at, share } }: Trial): Extent | undefined =>
  at === null ? undefined : { done: share, of: 1 }

const number = (value: number): string => value.toLocaleString('en-US')

const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]!.length)))
  return rows.map((row) => `  ${row.map((text, index) => text.padEnd(widths[index]!)).join('  ')}`.trimEnd())
}

/** The progress of a running trial: one line. */
export const progressText = ({ progress: { records, at } }: Trial): string =>
  `${number(records)} records, read until ${at === null ? '…' : at.slice(0, 19).replace('T', ' ')}`

/** The result of a trial that has ended. */
export function trialReport(trial: Trial): string {
  const { stopped_by, progress, decisions, events } = trial
  const lines = [...timeLines(trial)]
  if (stopped_by !== null)
    lines.push(
      `The trial ended early, at ${progress.at}: its limit of ${stopped_by} was reached. This is about the records before.`,
    )
  if (trial.removes.length > 0)
    lines.push(`The draft removes what is there now: ${[...trial.removes, ...leftOut(trial)].join(', ')}.`)
  if (decisions !== null) lines.push(...decisionLines(decisions))
  if (events !== null) lines.push(...eventLines(events))
  return `${lines.join('\n')}\n`
}

function timeLines({ since, until, time, times }: Trial): readonly string[] {
  const range = `Records that ${time === 'own' ? 'began' : 'were stored'} from ${since} to ${until}`
  if (times === null) return [`${range}.`]
  const { first, last } = times
  const span = first === null ? 'there are none' : `the first is of ${first}, the last of ${last}`
  return [`${range}: ${span}.`, ...timeSentences(times)]
}

const leftOut = ({ removes_left_out: more }: Trial): string[] =>
  more === 0 ? [] : [`and ${number(more)} more`]

function decisionLines(decisions: TrialDecisions): string[] {
  const { records, concerned, changed, matrix, examples } = decisions
  const whose =
    concerned === null || concerned === records ? '' : ` of the edge or route, of ${number(records)} in all,`
  const lines = [
    `${number(changed)} of ${number(concerned ?? records)} records${whose} would be decided differently.`,
  ]
  lines.push(
    ...columns(matrix.map(({ before, after, records: count }) => [`${before} → ${after}`, number(count)])),
  )
  const sides = {
    'log actions': decisions.log_actions,
    warnings: decisions.warnings,
    failures: decisions.failures,
  }
  const others = Object.entries(sides)
    .filter(([, { before, after }]) => before !== after)
    .map(([name, { before, after }]) => [name, `${number(before)} → ${number(after)}`])
  lines.push(...columns(others), ...nameLines(decisions.names))
  if (changed === 0) return lines
  lines.push('Most of the changed ones:')
  const { clients, countries, edges } = decisions
  lines.push(
    ...columns(Object.entries({ clients, countries, edges }).map(([name, of]) => [name, listed(of)])),
  )
  return [...lines, 'Examples:', ...columns(examples.map(exampleRow))]
}

/** Names without a value, because of which a condition is never met. */
const nameLines = (names: TrialDecisions['names']): string[] =>
  names.flatMap(({ name, records, with_value, note }) =>
    note === null
      ? []
      : [`${name} had a value in ${number(with_value)} of ${number(records)} records. ${note}`],
  )

const listed = (counts: TrialDecisions['clients']): string =>
  counts.map(({ value, records }) => `${value ?? 'unknown'} (${number(records)})`).join(', ')

function exampleRow({
  at,
  client_ip,
  country,
  server_name,
  server_port,
  before,
  after,
}: TrialExample): string[] {
  return [
    at,
    client_ip,
    country ?? '',
    `${server_name ?? '?'}:${server_port ?? '?'}`,
    `${before.decision} → ${after.decision}`,
    deciderText(after.decision === 'allow' ? before : after, after.decision === 'allow'),
  ]
}

/** The rule or policy that decided. */
function deciderText({ explanation }: TrialExample['after'], isBefore: boolean): string {
  const { type, name, rule_id, cidr } = explanation.decided_by
  const by = [type, name ?? cidr ?? rule_id].filter(Boolean).join(' ')
  return isBefore ? `was ${by}` : by
}

function eventLines({
  records,
  events,
  bytes,
  per_hour,
  billing,
  sources,
  sources_not_tried,
}: TrialEvents): string[] {
  const { kinesis_payload_units, firehose_bytes, cloudwatch_logs_bytes } = billing
  const lines = [
    `${number(records)} records would have made ${number(events)} events of ${bytesText(bytes)}: per hour ${number(per_hour.events)} events of ${bytesText(per_hour.bytes)}.`,
    ...columns(
      sources.map(({ type, events: made, bytes: size, filtered, failed }) => [
        type,
        `${number(made)} events`,
        bytesText(size),
        `${number(filtered)} filtered`,
        failed === 0 ? '' : `${number(failed)} of them without a result`,
      ]),
    ),
  ]
  lines.push(...sources.flatMap(({ names }) => nameLines(names)))
  if (sources_not_tried.length > 0)
    lines.push(`Not made from records, and not tried: ${sources_not_tried.join(', ')}.`)
  return [
    ...lines,
    'AWS would charge a destination for:',
    ...columns([
      ['Kinesis', `${number(kinesis_payload_units)} payload units`],
      ['Firehose', bytesText(firehose_bytes)],
      ['CloudWatch Logs', bytesText(cloudwatch_logs_bytes)],
    ]),
  ]
}

const units = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const

function bytesText(bytes: number): string {
  const [unit, factor] = units.find(([, each]) => bytes >= each) ?? ['bytes', 1]
  return `${factor === 1 ? number(bytes) : (bytes / factor).toFixed(1)} ${unit}`
}
