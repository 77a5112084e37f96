/**
 * Hostile requests through Debian's nginx, Apache, HAProxy and Caddy, and through Envoy and Traefik, behind none, one and
 * two trusted proxies: each line of their logs becomes a record that equals what was sent. `--full` sends every byte in
 * every place.
 */
import t, { type Test } from 'tap'
import { formats } from '../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../src/delivery/ingest/lines/format.js'
import { eachOf } from '../../src/ground/core/concurrency.js'
import { Checks } from '../harness/checks.js'
import {
  forwardedAlways,
  type HostileRequest,
  hostileRequests,
  proxiedClient,
  type Sent,
  send,
  targetOf,
} from '../harness/hostile-requests.js'
import { type Entrance, type Log, logPrograms, startProgram, whyNot } from '../harness/log-programs.js'
import { meshLogPrograms } from '../harness/mesh-log-programs.js'
import { recordLines } from '../harness/recorded-lines.js'
import { until } from '../harness/weir.js'

const requests = hostileRequests(process.argv.includes('--full'))
const sentAtOnce = 8

interface Made {
  readonly conn: { client_ip: string; client_port?: number; server_name?: string; start_ts: string }
  readonly http: {
    readonly request: { method?: string; user_agent?: string; url: { raw?: string } }
    readonly response: { status_code?: number }
  }
  readonly basic_auth: { readonly username?: string }
}

for (const [name, program] of Object.entries({ ...logPrograms, ...meshLogPrograms }))
  t.test(`${name}: its logs become what was sent`, { skip: whyNot(program) }, async (t) => {
    const { entrances, lines } = await startProgram(t, program)
    for (const entrance of entrances) {
      const read = new Map(entrance.logs.map((log) => [log, lines(log).length]))
      const begun = Date.now()
      const sent: Sent[] = []
      await eachOf(
        requests.map((_, index) => index),
        sentAtOnce,
        async (index) => {
          sent[index] = await send(index, requests[index]!, entrance.client, entrance.port)
        },
      )
      const count = sent.filter(({ status }) => program.logsRefused || !isRefused(status)).length
      for (const [log, before] of read) {
        await until(`${log.file} has all lines`, () => lines(log).length >= before + count)
        compare(t, entrance, log, lines(log).slice(before), sent, begun)
      }
    }
  })

/**
 * A server logs what it refuses as far as it has read it, or not at all. For Envoy, a first line without a version is of
 * HTTP/0.9.
 */
const isRefused = (status: number | undefined): boolean => status === undefined || [400, 426].includes(status)

/** The number of the request that a line is of. */
function indexIn(text: string, form: RegExp): number | undefined {
  const { 1: index } = form.exec(text) ?? []
  return index === undefined ? undefined : Number(index)
}

function compare(
  t: Test,
  entrance: Entrance,
  log: Log,
  lines: readonly string[],
  sent: readonly Sent[],
  begun: number,
): void {
  const checks = new Checks()
  const format = formats.find(({ name }) => name === log.format)!
  const found = new Map<number, Made>()
  const refused = new Set<number>()
  const recorded = new Map<number, string>()
  for (const line of lines) {
    const made = recordOfLine(format, { text: line }, {}, 'r-1')
    if (!made.ok) {
      checks.ok(log.refuses?.test(made.problem.msg) ?? false, `${made.problem.msg} ${line}`)
      refused.add(indexIn(line, / \/(\d+)\//) ?? -1)
      continue
    }
    const record = JSON.parse(made.value) as Made
    const index = indexIn(record.http.request.url.raw ?? '', /^\/(\d+)\//)
    if (index !== undefined) {
      found.set(index, record)
      recorded.set(index, line)
    }
    // Where a target can't be found, none is made up.
    else checks.equal(record.http.request.url.raw, undefined, line)
  }
  for (const [index, request] of requests.entries()) {
    const [record, { status, port }] = [found.get(index), sent[index]!]
    if (record === undefined)
      checks.ok(isRefused(status) || refused.has(index), `${request.says}: ${status}, no line`)
    else compareOne(checks, { entrance, log, index, request, status, port, record, begun })
  }
  t.comment(`${log.file}: ${found.size} of ${requests.length} requests`)
  t.ok(found.size > requests.length / 2, `${log.file}: most requests are in the log`)
  checks.report(t)
  if (log.isRecorded)
    recordLines(
      log.format,
      log.file,
      [...recorded]
        .filter(([index, line]) => isFixture(index, line))
        .map(([index, line]) => ({ says: requests[index]!.says, line, record: found.get(index)! })),
    )
}

const recordedCharsMax = 1_500

/** A part of them is enough, and all that have a list of addresses. */
const isFixture = (index: number, line: string): boolean =>
  line.length <= recordedCharsMax && (requests[index]!.forwarded !== undefined || index % 5 === 0)

interface Compared {
  readonly entrance: Entrance
  readonly log: Log
  readonly index: number
  readonly request: HostileRequest
  readonly status: number | undefined
  readonly port: number
  readonly record: Made
  readonly begun: number
}

/** A line feed ends the text of a header, and the first line of a request. */
const untilLineEnd = (bytes: Buffer): string => bytes.toString().split('\n')[0]!

/** Apache, as the only one, has spaces in place of others in a line that it refuses. */
const withSpaces = (text: string): string => text.replaceAll(/[\t\v\f\r]/g, ' ')

function compareOne(
  checks: Checks,
  { entrance, log, index, request, status, port, record, begun }: Compared,
): void {
  const { conn, http, basic_auth } = record
  const says = (what: string): string => `${log.file}, ${request.says}, ${status}: ${what}`
  const isKept = (found: string | undefined, wanted: string | undefined, what: string): void => {
    const isLess = isRefused(status) || isCut(request)
    const isPart = [wanted ?? '', withSpaces(wanted ?? '')].some((text) => text.startsWith(found ?? ''))
    if (found === wanted || (isLess && isPart)) checks.ok(true)
    else checks.equal(found, wanted, says(what))
  }
  const target = targetOf(index, request)
  isKept(http.request.url.raw, log.target?.(target) ?? untilLineEnd(target), 'target')
  checks.equal(http.request.method, request.method, says('method'))
  if (status !== undefined) checks.equal(http.response.status_code, status, says('status'))
  const startMs = Date.parse(conn.start_ts)
  checks.ok(startMs >= begun - 1_000 && startMs <= Date.now(), says(`start ${conn.start_ts}`))
  isKept(
    log.shows.includes('agent') ? http.request.user_agent : undefined,
    log.shows.includes('agent')
      ? textOf(log.agent?.(request.agent) ?? untilLineEnd(request.agent))
      : undefined,
    'agent',
  )
  isKept(
    log.shows.includes('user') ? basic_auth.username : undefined,
    log.shows.includes('user') ? textOf(userOf(request).toString()) : undefined,
    'user',
  )
  const client = clientOf(entrance, request)
  // Envoy refuses some requests before it looks at their headers.
  const isPeer = isRefused(status) && log.format === 'envoy' && conn.client_ip === peer
  if (!isPeer) checks.equal(conn.client_ip, client, says('client'))
  if (log.shows.includes('port'))
    checks.equal(
      conn.client_port,
      entrance.client === 'proxy protocol' ? proxiedClient.port : port,
      says('port'),
    )
  if (log.shows.includes('host'))
    isKept(
      conn.server_name?.toLowerCase(),
      request.host
        .toLowerCase()
        .replace(/:\d+$/, '')
        .replace(/^\[(.*)\]$/, '$1'),
      'host',
    )
}

/** The text after a line feed in a target is no header: a server may take none of the others for one. */
const isCut = ({ target }: HostileRequest): boolean => target.includes('\n')

/** No value is undefined. */
const textOf = (text: string): string | undefined => text.trim() || undefined

/** A colon ends the name of a user (RFC 7617). */
const userOf = ({ user }: HostileRequest): Buffer =>
  user.subarray(0, user.indexOf(':') === -1 ? undefined : user.indexOf(':'))

const peer = '127.0.0.1'

/** Others look for the last one that is not trusted. */
const takeLast = ['haproxy', 'envoy', 'traefik']

/** Whom a proxy that trusts its peer, and those of 127.0.0.0/8, takes for the client. */
function clientOf({ client, logs }: Entrance, { forwarded }: HostileRequest): string {
  if (client === 'proxy protocol') return proxiedClient.address
  if (client === 'forwarded, always' && forwarded === undefined) return forwardedAlways
  if (client === 'peer' || forwarded === undefined) return peer
  const list = forwarded.toLowerCase().split(', ')
  if (client === 'forwarded, the second from the end') return list.at(-2) ?? peer
  if (logs.some(({ format }) => takeLast.includes(format))) return list.at(-1) ?? peer
  return list.findLast((address) => !address.startsWith('127.')) ?? peer
}
