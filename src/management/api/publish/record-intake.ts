/**
 * Records that an account publishes over the API. It may publish for itself and its edges alone: its id is set in every
 * record, so that only its own edges are looked at, here and by the pipeline.
 */

import { targetOf } from '../../../delivery/ingest/lines/request-line.js'
import { type Line, parseLine } from '../../../delivery/record/record.js'
import type { RequestRecord, TrafficRecord } from '../../../delivery/record/traffic-record.js'
import { publishedRecordsSubject, revisionHeader } from '../../../delivery/wire/names.js'
import { yieldTurn } from '../../../ground/core/clock.js'
import { eachOf } from '../../../ground/core/concurrency.js'
import { shown, unavailable, WeirError } from '../../../ground/core/errors.js'
import { hash128 } from '../../../ground/core/ids.js'
import { payloadHeadroomBytes, recordBytesMax, recordLinesMax } from '../../../ground/core/limits.js'
import type { Slices } from '../../../ground/core/slices.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import { contextHeaders, type TraceContext } from '../../../ground/core/telemetry/tracing.js'
import type { Nats } from '../../../ground/nats/nats.js'
import { buildPolicySet, type PolicySet } from '../../../judging/evaluate/policy-set.js'
import type { ConfigurationSource } from '../../../judging/evaluate/policy-source.js'
import type { DeclaredRow, KindName } from '../../../words/resource/registry.js'
import type { View } from '../../../words/view/view.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { Usage } from '../../access/usage.js'

const recordsPerMessage = 100
const messagesUnderWay = 16
const patience = { patienceMs: 5_000 }

export interface IntakeOptions {
  readonly nats: Pick<Nats, 'publish' | 'payloadBytesMax'>
  readonly view: Pick<View, 'state' | 'onChange'>
  readonly usage: Pick<Usage, 'records'>
  readonly occurrences: Pick<Occurrences, 'recordsPublished'>
}

/** A line that is no record of the account, or none at all. */
export interface RefusedLine {
  readonly line: number
  readonly reason: string
}

interface Intake {
  readonly stored: number
  readonly refused: readonly RefusedLine[]
}

export class RecordIntake {
  readonly #options: IntakeOptions
  readonly #edges: AllEdges

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#edges = new AllEdges(options.view)
  }

  /** Throws a `WeirError` if there are too many, also together with others of the account within a minute. */
  meter(accountId: string, records: number): void {
    if (records > recordLinesMax)
      throw new WeirError(
        'ERR_BODY_TOO_LARGE',
        `The body has ${records} records: at most ${recordLinesMax} are allowed.`,
      )
    if (records === 0) return
    const waitSeconds = this.#options.usage.records.take(accountId, records)
    if (waitSeconds !== undefined)
      throw new WeirError('ERR_RATE_LIMIT', 'The account published too many records within a minute.', {
        retryAfterSeconds: waitSeconds,
      })
  }

  /**
   * Resolves when all lines that are right are stored. Throws a `WeirError` that says how many are, if not all. `unread`:
   * what was refused before it became a line.
   */
  async store(
    accountId: string,
    lines: readonly Line[],
    slices: Slices,
    trace: TraceContext | undefined,
    unread: readonly RefusedLine[] = [],
  ): Promise<Intake> {
    const edges = await this.#edges.current()
    const records: string[] = []
    const refused = [...unread]
    for (const line of lines) {
      if (slices.isDue()) await slices.pause()
      const record = recordOfAccount(accountId, line, edges)
      if (typeof record === 'string') records.push(record)
      else refused.push({ line: line.number, ...record })
    }
    const { occurrences } = this.#options
    occurrences.recordsPublished({ result: 'refused' }, refused.length)
    const { stored, failure } = await this.#publish(accountId, records, trace)
    occurrences.recordsPublished({ result: 'stored' }, stored)
    if (failure === undefined)
      return { stored, refused: refused.toSorted((one, other) => one.line - other.line) }
    throw unavailable(
      `${stored} of ${records.length} records are stored: the storage is full or NATS does not answer. Send all of them again, with the same ids.`,
      failure,
    )
  }

  async #publish(
    accountId: string,
    records: readonly string[],
    trace: TraceContext | undefined,
  ): Promise<{ stored: number; failure: unknown }> {
    const { nats, view } = this.#options
    const headers = { [revisionHeader]: String(view.state.revision), ...contextHeaders(trace) }
    let stored = 0
    let failure: unknown
    const messages = messagesOf(records, nats.payloadBytesMax - payloadHeadroomBytes)
    await eachOf(messages, messagesUnderWay, async (packed) => {
      if (failure !== undefined) return
      const message = packed.join('\n')
      try {
        // A request that is repeated makes the same messages.
        const msgId = hash128(accountId, message)
        await nats.publish(publishedRecordsSubject, message, { msgId, headers, ...patience })
        stored += packed.length
      } catch (error) {
        failure ??= error
      }
    })
    return { stored, failure }
  }
}

/** The text of the record with its account, or why the account may not publish it. */
function recordOfAccount(
  accountId: string,
  line: Line,
  edges: PolicySet,
): string | Omit<RefusedLine, 'line'> {
  const parsed = parseLine(line)
  if (!parsed.ok) return { reason: parsed.problem.msg }
  const record = withPath(parsed.value)
  const { account_id } = record
  const reason = refusalOf(edges, accountId, record)
  if (reason !== undefined) return { reason }
  const sent = line.text!.trim()
  const text = record === parsed.value ? sent : textWithPath(sent)
  if (text === undefined) return { reason: 'It is nested too deeply.' }
  // Appended: if the record has the member as null, the last one of two counts. All other bytes stay as they were sent.
  const owned =
    account_id === accountId ? text : `${text.slice(0, -1)},"account_id":${JSON.stringify(accountId)}}`
  const bytes = Buffer.byteLength(owned)
  if (bytes <= recordBytesMax) return owned
  return { reason: `It has ${bytes} bytes with what Weir adds; at most ${recordBytesMax} are allowed.` }
}

/** The record; with path and query, if its URL is only given as a proxy logs it. */
function withPath(record: TrafficRecord): TrafficRecord {
  const { url, method } = (record.type === 'http_request' && record.http?.request) || {}
  if (typeof url?.path === 'string') return record
  const { path, query } = targetOf({ method, uri: url?.raw }) ?? {}
  if (path === undefined) return record
  const { http } = record as RequestRecord
  const request = { ...http?.request, url: { ...url, path, query: query ?? url?.query } }
  return { ...(record as RequestRecord), http: { ...http, request } }
}

/** Undefined if it is nested more deeply than the stack allows: parsing needs none. */
function textWithPath(text: string): string | undefined {
  const record = withPath(JSON.parse(text))
  try {
    return JSON.stringify(record)
  } catch {
    return undefined
  }
}

/** Says nothing about other accounts; undefined if the record may be published. */
function refusalOf(edges: PolicySet, accountId: string, record: TrafficRecord): string | undefined {
  const found = edges.findEdgeOf(accountId, record)
  if (!found.ok) return found.problem.msg
  const routeId = record.type === 'http_request' ? record.route_id : undefined
  return routeId && routeId !== found.value.route?.id
    ? `"route_id" is ${shown(routeId)}, but no edge of yours serves the record.`
    : undefined
}

function* messagesOf(records: readonly string[], bytesMax: number): Generator<string[]> {
  let packed: string[] = []
  let bytes = 0
  for (const record of records) {
    const recordBytes = Buffer.byteLength(record) + 1
    if (packed.length === recordsPerMessage || bytes + recordBytes > bytesMax) {
      yield packed
      packed = []
      bytes = 0
    }
    packed.push(record)
    bytes += recordBytes
  }
  if (packed.length > 0) yield packed
}

const edgeKinds: ReadonlySet<string> = new Set([
  'tcp_edge',
  'https_edge',
  'https_edge_route',
  'reserved_addr',
  '*',
])

/** The edges of all accounts, without what applies there: compiled when someone publishes after they have changed. */
class AllEdges {
  readonly #view: IntakeOptions['view']
  #current: Promise<PolicySet> | undefined
  #previous: { readonly state: ViewState; readonly policySet: PolicySet } | undefined

  constructor(view: IntakeOptions['view']) {
    this.#view = view
    view.onChange((kind) => {
      if (edgeKinds.has(kind)) this.#current = undefined
    })
  }

  current(): Promise<PolicySet> {
    this.#current ??= this.#build().catch((error: unknown) => {
      this.#current = undefined
      throw error
    })
    return this.#current
  }

  async #build(): Promise<PolicySet> {
    const { state } = this.#view
    // Versions of another state differ.
    const previous = this.#previous?.state === state ? this.#previous.policySet : undefined
    const policySet = await buildPolicySet(edgesIn(state), previous, yieldTurn)
    this.#previous = { state, policySet }
    return policySet
  }
}

const edgesIn = (state: ViewState): ConfigurationSource => ({
  revision: state.revision,
  *rowsOf<Kind extends KindName>(kind: Kind) {
    if (edgeKinds.has(kind))
      for (const row of state.rowsOf(kind))
        yield { ...row, ip_restriction: null, policies: null } as DeclaredRow<Kind>
  },
  rules: () => undefined,
})
