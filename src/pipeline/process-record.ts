/**
 * The walk of a record, from the bytes of a message to the packs of its destinations:
 *
 *     parse ▸ find edge ▸ evaluate ▸ produce events ▸ route ▸ count ▸ log
 *
 * A record is parsed once and evaluated once. Everything is synchronous and pure: the same message against the same
 * configuration gives the same bytes. A record without a known account, because it names and matches no edge and claims
 * no account, is evaluated and counted like any other; no policy applies to it, and it causes no events.
 */
import { messageOf } from '../core/errors.js'
import { recordsPerTurnMax } from '../core/limits.js'
import { withoutPauses } from '../core/slices.js'
import { evaluate } from '../evaluate/evaluate.js'
import { Judgement } from '../evaluate/judgement.js'
import { StepBudget } from '../expr/budget.js'
import { produce } from '../produce/produce.js'
import type { TrafficView } from '../produce/traffic-view.js'
import type { GeoLookup } from '../record/geo.js'
import { PolicyContext } from '../record/policy-scope.js'
import { type Line, parseLine, parseMessage } from '../record/record.js'
import { Counts, type CountVector } from './counts.js'
import type { Buffers } from './packs.js'

/** A message as JetStream stored it. */
interface StoredMessage {
  readonly bytes: Uint8Array
  /** The timestamp of its events. */
  readonly storedAtMs: number
}

/** What the walk reads and writes. */
interface WalkContext {
  readonly view: TrafficView
  readonly geo: GeoLookup
  readonly buffers: Buffers
  /** Called with each decision and the line of its record. */
  readonly judged?: ((judgement: Judgement, line: number) => void) | undefined
}

/** A record that goes to the dead letters. */
export interface BadRecord {
  /** Its line in the message, from 1. */
  readonly line: number
  /** A view of the message's bytes. */
  readonly bytes: Buffer
  /** One sentence. */
  readonly reason: string
}

export interface MessageResult {
  readonly counts: CountVector
  readonly bad: readonly BadRecord[]
}

/** Processes a whole message without pauses. */
export const processMessage = (message: StoredMessage, context: WalkContext): MessageResult =>
  withoutPauses(walkMessage(message, context))

/** Processes a message; pauses after every 64 records, so that the caller can yield to the event loop. */
export function* walkMessage(
  { bytes, storedAtMs }: StoredMessage,
  context: WalkContext,
): Generator<void, MessageResult> {
  const walk = new MessageWalk(storedAtMs, context)
  let untilPause = recordsPerTurnMax
  for (const line of parseMessage(bytes)) {
    if (untilPause === 0) {
      untilPause = recordsPerTurnMax
      yield
    }
    untilPause -= 1
    walk.add(line)
  }
  return walk.result()
}

/** The reason becomes a header, and parts of it come from the record. */
const inOneLine = (text: string): string => text.replaceAll(/\p{Cc}/gu, ' ')

class MessageWalk {
  readonly #storedAtMs: number
  readonly #context: WalkContext
  readonly #budget = new StepBudget()
  readonly #counts = new Counts()
  readonly #bad: BadRecord[] = []

  constructor(storedAtMs: number, context: WalkContext) {
    this.#storedAtMs = storedAtMs
    this.#context = context
  }

  /** A record that can't be processed is bad; the other records of the message are not affected. */
  add(line: Line): void {
    const reason = this.#attempt(line)
    if (reason === undefined) return
    this.#counts.addBad()
    this.#bad.push({ line: line.number, bytes: line.bytes, reason: inOneLine(reason) })
  }

  result(): MessageResult {
    return { counts: this.#counts.vector(), bad: this.#bad }
  }

  #attempt(line: Line): string | undefined {
    try {
      return this.#process(line)
    } catch (error) {
      return `The record could not be processed: ${messageOf(error)}`
    }
  }

  /** The reason why the record is bad; undefined if it was processed. */
  #process(line: Line): string | undefined {
    const { view, geo, buffers, judged } = this.#context
    const parsed = parseLine(line)
    if (!parsed.ok) return parsed.problem.msg
    const record = parsed.value

    const edge = view.policySet.findEdge(record)
    if (!edge.ok) return edge.problem.msg
    const { accountId, edgeId } = edge.value

    this.#budget.reset()
    const policyContext = new PolicyContext(record.conn, edgeId, geo)
    const verdict = evaluate(view.policySet, edge.value, policyContext, this.#budget, 'closed')

    const sources = accountId === undefined ? undefined : view.subscriptions.byAccount.get(accountId)
    const judgement = new Judgement(record, edge.value, policyContext, verdict, view.policySet)
    const production = produce(sources, judgement, this.#budget)
    for (const event of production.events) {
      for (const destinationId of event.source.destinationIds)
        buffers.packOf(destinationId).appendParts(event, this.#storedAtMs)
    }
    this.#counts.add(record, edgeId, verdict, production)
    judged?.(judgement, line.number)
    return undefined
  }
}
