/** `weir tap`: decisions, deliveries, or dead letters, as they happen, a line each, until it is interrupted. */

import { forTerminal } from '../../ground/core/text/terminal.js'
import { stopSignal } from '../../management/process/child.js'
import type { Settings } from '../../management/process/settings.js'
import type { WatchRate } from '../../words/client/client.js'
import type { LoggedDecision } from '../../words/shape/decisions/logged-decision.js'
import type { LiveDeadLetter, LiveDelivery } from '../../words/shape/live.js'
import { clientOf } from './connection/api-client.js'
import { UsageFault } from './guide/exit-codes.js'
import { clearLine } from './progress.js'

export interface TapOptions {
  readonly filter?: string
  readonly edge?: string
  /** Deliveries to this destination instead of decisions. */
  readonly destination?: string
  /** Dead letters instead. */
  readonly dead?: true
  /** Lines of JSON. */
  readonly json?: true
}

export async function tap(
  settings: Settings,
  { filter, edge, destination, dead, json }: TapOptions,
): Promise<void> {
  if (edge !== undefined && destination !== undefined)
    throw new UsageFault('--edge selects decisions, and --destination deliveries: give one of them.')
  if (dead && (edge ?? destination) !== undefined)
    throw new UsageFault('--dead shows dead letters: leave out --edge and --destination.')
  const client = clientOf(settings)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const place = destination === undefined ? edge : destination
  const what = dead ? 'dead letters' : destination === undefined ? 'decisions' : 'deliveries'
  const notes = new Notes(what, process.stderr, process.stderr.isTTY === true)
  notes.begin(place, filter)
  const options = { filter, signal: stop.signal, rate: (rate: WatchRate) => notes.rate(rate) }
  if (dead) await print(client.watchDeadLetters(options), deadLetterText, notes, json)
  else if (destination === undefined)
    await print(client.watchDecisions({ ...options, edge }), decisionText, notes, json)
  else await print(client.watchDeliveries(destination, options), deliveryText, notes, json)
  notes.makeRoom()
}

async function print<Line>(
  lines: AsyncIterable<Line>,
  textOf: (line: Line) => string,
  notes: Notes,
  json: true | undefined,
): Promise<void> {
  for await (const line of lines) {
    notes.makeRoom()
    process.stdout.write(`${json ? JSON.stringify(line) : forTerminal(textOf(line))}\n`)
  }
}

/**
 * Shows what is watched, the counts, and how many lines were left out. On standard error, because another program may
 * read the lines.
 */
export class Notes {
  readonly #what: string
  readonly #output: { write(text: string): unknown }
  readonly #isTerminal: boolean
  #seen = 0
  #hasCount = false

  constructor(what: string, output: { write(text: string): unknown }, isTerminal: boolean) {
    this.#what = what
    this.#output = output
    this.#isTerminal = isTerminal
  }

  begin(place: string | undefined, where: string | undefined): void {
    const of = place === undefined ? ' of the account' : ` of ${place}`
    const condition = where === undefined ? '' : ` where ${where}`
    this.#say(`Waiting for ${this.#what}${of}${condition}, from now on; Ctrl-C ends it.`)
  }

  /** Called each second. On a terminal, the last line shows that the connection is alive. */
  rate({ seen, sent, lost }: WatchRate): void {
    this.#seen += seen
    if (sent < seen) this.#say(`… ${seen} ${this.#what} in a second: ${sent} shown, ${lost} lost.`)
    if (!this.#isTerminal) return
    this.#output.write(`${clearLine}${this.#seen} ${this.#what} so far`)
    this.#hasCount = true
  }

  /** Before a line of output, and at the end: the count is removed. */
  makeRoom(): void {
    if (this.#hasCount) this.#output.write(clearLine)
    this.#hasCount = false
  }

  #say(sentence: string): void {
    this.makeRoom()
    this.#output.write(`${forTerminal(sentence)}\n`)
  }
}

/** `10:00:00.911  delivered      tcp_connection_closed.v0  ev_…  request c0ffee…` */
function deliveryText({ at, outcome, event_type, event_id, request_id, error }: LiveDelivery): string {
  const details = [
    request_id === null ? undefined : `request ${request_id}`,
    error === null ? undefined : `${error.code}: ${error.msg}`,
  ]
  return [at.slice(11, 23), outcome.padEnd(13), event_type, event_id, ...details.filter(Boolean)].join('  ')
}

/** `10:00:00.911  record  77:3  The line is not JSON.  {"record_id…` */
function deadLetterText({
  at,
  kind,
  reason,
  sequence,
  line,
  subject,
  destination_id,
  event_id,
  text,
}: LiveDeadLetter): string {
  const places = {
    record: `${sequence}:${line}`,
    event: `${destination_id}  ${event_id}`,
    audit: `${sequence}  ${subject}`,
  }
  return [at.slice(11, 23), kind.padEnd(6), places[kind], reason, text.replaceAll(/\s+/g, ' ')].join('  ')
}

/** `GET /admin 403`; empty for a connection. */
const requestText = ({ method, path, status_code }: LoggedDecision): string =>
  [method?.toUpperCase(), path, status_code].filter((part) => part !== null && part !== undefined).join(' ')

const partText = ({ type, id, policy, rule_id }: LoggedDecision['decided_by']): string =>
  (type === 'none' ? [] : [type, policy, id, rule_id]).filter(Boolean).join(' ')

/** The decision if everything were enforced; empty if everything that applied is enforced. */
const shadowText = ({ shadow }: LoggedDecision): string =>
  shadow === null ? '' : `shadow ${shadow.decision} ${partText(shadow.decided_by)}`.trimEnd()

/** `10:00:00.250  block  203.0.113.9  DE AS64500  ssh.example.com:22  ip_restriction edgtcp_… ipr_…  shadow allow` */
export function decisionText(line: LoggedDecision): string {
  const { at, decision, decided_by, client_ip, country, asn, server_name, server_port } = line
  const origin = [country, asn === null ? null : `AS${asn}`].filter(Boolean).join(' ')
  const others = line.weight === 1 ? '' : ` (${line.weight} alike)`
  return [
    at.slice(11, 23),
    decision.padEnd(5),
    client_ip.padEnd(15),
    origin.padEnd(10),
    `${server_name ?? '?'}:${server_port ?? '?'}`,
    requestText(line),
    partText(decided_by),
    shadowText(line),
    line.source === 'asked' ? `asked${others}` : line.source === 'history' ? 'history' : '',
  ]
    .filter(Boolean)
    .join('  ')
    .trimEnd()
}
