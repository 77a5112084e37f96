/** `weir tap`: decisions, deliveries to a destination, or dead letters, as they happen, a line each, until it is interrupted. */
import { type Client, openClient, type WatchRate } from '../client/client.js'
import { StartFault } from '../core/errors.js'
import { forTerminal } from '../core/terminal.js'
import type { LiveDeadLetter } from '../resource/live-dead-letter.js'
import type { LiveDelivery } from '../resource/live-delivery.js'
import type { LoggedDecision } from '../resource/logged-decision.js'
import { stopSignal } from './child.js'
import { readRuntime } from './runtime-file.js'
import type { Settings } from './settings.js'

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

/** A client with the key of the settings, of the service that they name or that runs on the data directory. */
export function clientOf({ client: { url, key }, data }: Settings): Client {
  const found = url ?? readRuntime(data.dir)?.apiUrl
  if (found === undefined)
    throw new StartFault(`No service runs on ${data.dir}: set WEIR_DATA_DIR, or WEIR_API_URL to its address.`)
  if (key === undefined) throw new StartFault('Set WEIR_API_KEY to the token of an API key.')
  return openClient({ url: found, token: key })
}

export async function tap(
  settings: Settings,
  { filter, edge, destination, dead, json }: TapOptions,
): Promise<void> {
  if (edge !== undefined && destination !== undefined)
    throw new StartFault('--edge selects decisions, and --destination deliveries: give one of them.')
  if (dead && (edge ?? destination) !== undefined)
    throw new StartFault('--dead shows dead letters: leave out --edge and --destination.')
  const client = clientOf(settings)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const options = { filter, signal: stop.signal }
  if (dead) {
    const letters = client.watchDeadLetters({ ...options, rate: noteRate('dead letters') })
    return print(letters, json ? JSON.stringify : (line) => forTerminal(deadLetterText(line)))
  }
  if (destination === undefined) {
    const decisions = client.watchDecisions({ ...options, edge, rate: noteRate('decisions') })
    return print(decisions, json ? JSON.stringify : (line) => forTerminal(decisionText(line)))
  }
  const deliveries = client.watchDeliveries(destination, { ...options, rate: noteRate('deliveries') })
  return print(deliveries, json ? JSON.stringify : (line) => forTerminal(deliveryText(line)))
}

async function print<Line>(lines: AsyncIterable<Line>, textOf: (line: Line) => string): Promise<void> {
  for await (const line of lines) process.stdout.write(`${textOf(line)}\n`)
}

/** Says what is not shown. Not among the lines, which another program may read. */
const noteRate =
  (what: string) =>
  ({ seen, sent, lost }: WatchRate): void => {
    if (sent < seen) process.stderr.write(`… ${seen} ${what} in a second: ${sent} shown, ${lost} lost.\n`)
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

/** `10:00:00.250  block  203.0.113.9  DE AS64500  ssh.example.com:22  ip_restriction edgtcp_… ipr_…` */
export function decisionText(line: LoggedDecision): string {
  const { at, decision, decided_by, client_ip, country, asn, server_name, server_port } = line
  const origin = [country, asn === null ? null : `AS${asn}`].filter(Boolean).join(' ')
  const { type, id, policy, rule_id } = decided_by
  const by = type === 'none' ? [] : [type, policy, id, rule_id]
  const others = line.weight === 1 ? '' : ` (${line.weight} alike)`
  return [
    at.slice(11, 23),
    decision.padEnd(5),
    client_ip.padEnd(15),
    origin.padEnd(10),
    `${server_name ?? '?'}:${server_port ?? '?'}`,
    by.filter(Boolean).join(' '),
    line.source === 'asked' ? `asked${others}` : '',
  ]
    .filter(Boolean)
    .join('  ')
    .trimEnd()
}
