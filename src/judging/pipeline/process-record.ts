/**
 * The walk of a record, from the bytes of a message to the packs of its destinations:
 *
 *     parse ▸ find edge ▸ evaluate ▸ produce events ▸ route ▸ count ▸ log
 *
 * A record is parsed once and evaluated once. Everything is synchronous and pure: the same message against the same
 * configuration gives the same bytes. A record without a known account, because it names and matches no edge and claims
 * no account, is evaluated and counted like any other; no policy applies to it, and it causes no events.
 */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import { Line, parseLine, parseMessage } from '../../delivery/record/record.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { History } from '../../delivery/wire/names.js'
import { bufferOf } from '../../ground/core/bytes.js'
import { messageOf, ok, problem, type Result } from '../../ground/core/errors.js'
import { withoutPauses } from '../../ground/core/slices.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { Endpoint } from '../evaluate/edges.js'
import { evaluate } from '../evaluate/evaluate.js'
import { Judgement } from '../evaluate/judgement.js'
import type { PolicySet } from '../evaluate/policy-set.js'
import { fetchPolicies } from '../evaluate/traffic-policy.js'
import type { TrafficView } from '../produce/compiled-configuration.js'
import { produce } from '../produce/produce.js'
import { Counts, type CountVector, vectorOf } from './counts.js'
import type { Buffers } from './packs.js'

interface Extent {
  readonly lines: number
  readonly bytes: number
}

/**
 * Processed before yielding to the event loop: about a millisecond for usual records, and for the most expensive bytes some
 * twenty.
 */
const turn: Extent = { lines: 64, bytes: 64 * 1024 }
/** After a section, other messages may be processed. */
const section: Extent = { lines: 4 * turn.lines, bytes: 4 * turn.bytes }

/** A message as JetStream stored it. */
interface StoredMessage {
  readonly bytes: Uint8Array
  /** The timestamp of its events. */
  readonly storedAtMs: number
}

/** The inputs and outputs of the walk. */
interface WalkContext {
  readonly view: TrafficView
  readonly geo: GeoLookup
  readonly buffers: Buffers
  /** Set if the records are of the past. */
  readonly history?: History | undefined
  /** Called with each decision and the line of its record. */
  readonly judged?: ((judgement: Judgement, line: number) => void) | undefined
}

/** A record that goes to the dead letters. A message may hold 20,000 of them. */
export class BadRecord {
  /** One sentence. */
  readonly reason: string
  /** It is a whole message, as it was sent. */
  readonly isMessage: boolean
  readonly #line: Line

  constructor(line: Line, reason: string, isMessage = false) {
    this.#line = line
    this.reason = reason
    this.isMessage = isMessage
  }

  /** Its line in the message, from 1. */
  get line(): number {
    return this.#line.number
  }

  /** Its position in the message. */
  get start(): number {
    return this.#line.start
  }

  get byteLength(): number {
    return this.#line.byteLength
  }

  /** A view of the message's bytes. */
  get bytes(): Buffer {
    return this.#line.bytes
  }
}

export interface MessageResult {
  readonly counts: CountVector
  readonly bad: readonly BadRecord[]
}

/** Processes a whole message without pauses. */
export function processMessage({ bytes, storedAtMs }: StoredMessage, context: WalkContext): MessageResult {
  const lines = parseMessage(bytes)
  const walk = new MessageWalk(storedAtMs, context)
  // Most messages of nodes that don't pack: pauses between lines are nothing to them.
  if (lines.length === 1) walk.addOne(lines[0]!)
  else withoutPauses(walkLines(lines, walk))
  return walk.result()
}

/**
 * Processes a message; pauses after every turn, so that the caller can yield to the event loop. Yields whether a section has
 * ended. Sections are those of the message as it was sent: its parts in packs must be the same whenever it is processed.
 */
export function* walkMessage(
  { bytes, storedAtMs }: StoredMessage,
  context: WalkContext,
): Generator<boolean, MessageResult> {
  const walk = new MessageWalk(storedAtMs, context)
  yield* walkLines(parseMessage(bytes), walk)
  return walk.result()
}

function* walkLines(lines: readonly Line[], walk: MessageWalk): Generator<boolean, void> {
  for (let start = 0, end = 0; start < lines.length; start = end) {
    for (end = start + 1; end < lines.length && isTogether(lines[end - 1]!, lines[end]!, turn); ) end += 1
    if (start > 0) yield !isTogether(lines[start - 1]!, lines[start]!, section)
    walk.addAll(lines.slice(start, end))
  }
}

/** Are two lines in the same turn or section? That depends on their places alone. */
const isTogether = (one: Line, other: Line, { lines, bytes }: Extent): boolean =>
  Math.floor((one.number - 1) / lines) === Math.floor((other.number - 1) / lines) &&
  Math.floor(one.start / bytes) === Math.floor(other.start / bytes)

/** A message that holds no record that could be read: one that is bad, and has all of its bytes. */
export function refusedMessage(data: Uint8Array, reason: string): MessageResult {
  const counts = new Counts()
  counts.addBad()
  const whole = new Line(bufferOf(data), undefined, 1, 0, data.length)
  return { counts: vectorOf(counts), bad: [new BadRecord(whole, inOneLine(reason), true)] }
}

/** A record and where it belongs. */
interface Found {
  readonly record: TrafficRecord
  readonly endpoint: Endpoint
}

function findEdge(policySet: PolicySet, record: TrafficRecord): Result<Found> {
  const endpoint = policySet.findEdge(record)
  return endpoint.ok ? ok({ record, endpoint: endpoint.value }) : endpoint
}

const done = ok(undefined)

function attempt<T>(work: () => Result<T>): Result<T> {
  try {
    return work()
  } catch (error) {
    return problem(unprocessed(error))
  }
}

const unprocessed = (error: unknown): string => `The record could not be processed: ${messageOf(error)}`

function valuesOf<T>(results: readonly Result<T>[]): T[] {
  const values: T[] = []
  for (const result of results) if (result.ok) values.push(result.value)
  return values
}

/** The reason becomes a header, and parts of it come from the record. */
const inOneLine = (text: string): string => text.replaceAll(/\p{Cc}/gu, ' ')

/** Uses the results of reads: V8 leaves out reads without one (Node 20). */
const fetched = { sum: 0 }

class MessageWalk {
  readonly #storedAtMs: number
  readonly #context: WalkContext
  readonly #budget = new StepBudget()
  readonly #counts = new Counts()
  readonly #bad: BadRecord[] = []
  #lastReason = ''

  constructor(storedAtMs: number, context: WalkContext) {
    this.#storedAtMs = storedAtMs
    this.#context = context
  }

  /**
   * Each step is done for all records before the next, so that the parts of their edges are read at once: with thousands of
   * edges these are in no cache, and records would wait for them one after the other. Of the CPU that a record takes, this
   * saves 9 % with 10,000 edges and 7 % with 1,000; with 10 it would cost 5 % (Node 20.20, AMD EPYC with 1 MiB of L2 cache
   * per core; the walk of `npm run bench -- size`, with and without).
   *
   * A record that can't be processed is bad; the other records of the message are not affected.
   */
  addAll(lines: readonly Line[]): void {
    const { policySet } = this.#context.view
    const records = lines.map((line) => attempt(() => parseLine(line)))
    const isFetched = lines.length > 1 && policySet.hasManyEdges
    if (isFetched) fetched.sum += policySet.fetch(valuesOf(records))
    const found = records.map((record) =>
      record.ok ? attempt(() => findEdge(policySet, record.value)) : record,
    )
    if (isFetched) fetched.sum += fetchPolicies(valuesOf(found).map(({ endpoint }) => endpoint.policies))
    for (let index = 0; index < found.length; index += 1) {
      const [one, line] = [found[index]!, lines[index]!]
      const outcome = one.ok ? attempt(() => this.#process(one.value, line)) : one
      if (!outcome.ok) this.#addBad(line, outcome.problem.msg)
    }
  }

  addOne(line: Line): void {
    try {
      const record = parseLine(line)
      const found = record.ok ? findEdge(this.#context.view.policySet, record.value) : record
      const outcome = found.ok ? this.#process(found.value, line) : found
      if (!outcome.ok) this.#addBad(line, outcome.problem.msg)
    } catch (error) {
      this.#addBad(line, unprocessed(error))
    }
  }

  #addBad(line: Line, reason: string): void {
    this.#counts.addBad()
    const text = inOneLine(reason)
    // Many bad lines are alike: one text for all of them.
    if (text !== this.#lastReason) this.#lastReason = text
    this.#bad.push(new BadRecord(line, this.#lastReason))
  }

  result(): MessageResult {
    return { counts: vectorOf(this.#counts), bad: this.#bad }
  }

  #process({ record, endpoint }: Found, line: Line): Result<void> {
    const { view, geo, buffers, judged, history } = this.#context
    const { accountId, edgeId } = endpoint
    this.#budget.reset()
    const policyContext = new PolicyContext(record, edgeId, geo)
    const verdict = evaluate(view.policySet, endpoint, policyContext, this.#budget, 'closed')

    const hasEvents = accountId !== undefined && history !== 'log'
    const sources = hasEvents ? view.subscriptions.byAccount.get(accountId) : undefined
    const judgement = new Judgement(record, endpoint, policyContext, verdict, view.policySet)
    const isNow = history === undefined
    const challenger = sources && isNow ? view.challengers.find(accountId!, this.#storedAtMs) : undefined
    const production = produce(sources, judgement, this.#budget, challenger)
    for (const event of production.events) {
      for (const destinationId of event.source.destinationIds)
        buffers.packOf(destinationId).appendParts(event, this.#storedAtMs)
    }
    if (isNow) this.#counts.add(judgement, production)
    else this.#counts.addHistory(production)
    judged?.(judgement, line.number)
    return done
  }
}
