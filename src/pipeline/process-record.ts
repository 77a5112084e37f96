/**
 * The walk: from the bytes of a message to the bytes of each destination.
 *
 * A record is parsed once, evaluated once, and each event it causes is appended to the pack of its destination.
 * Everything is synchronous and pure: the same message against the same view gives the same bytes. A record for
 * which no account is known, because it names no edge, matches none and claims none, is evaluated and counted like
 * any other; nothing applies to it and nobody hears of it.
 */
import { isoMillis } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { recordsPerTurnMax } from '../core/limits.js'
import type { ConfigurationSource } from '../evaluate/configuration.js'
import { evaluate } from '../evaluate/evaluate.js'
import { buildPolicySet, type PolicySet } from '../evaluate/policy-set.js'
import { trafficEvents } from '../event/catalog.js'
import type { AnyTrafficEvent } from '../event/define.js'
import { StepBudget } from '../expr/budget.js'
import type { GeoLookup } from '../record/geo.js'
import { PolicyContext } from '../record/policy-scope.js'
import { parseMessage, parseRecord } from '../record/record.js'
import { Counts, type CountVector } from './counts.js'
import { produce } from './produce.js'
import { type Buffers, route } from './route.js'
import { buildSubscriptionSet, type SubscriptionSet } from './subscriptions.js'

/** The configuration as the walk sees it: immutable, swapped whole. */
export interface TrafficView {
  readonly policySet: PolicySet
  readonly subscriptions: SubscriptionSet
}

/** Builds a view in slices of 5 ms, each followed by `yieldTurn`; what `previous` has compiled is taken over. */
export async function buildTrafficView(
  source: ConfigurationSource,
  previous: TrafficView | undefined,
  yieldTurn: () => Promise<void>,
  eventKinds: readonly AnyTrafficEvent[] = trafficEvents,
): Promise<TrafficView> {
  const policySet = await buildPolicySet(source, previous?.policySet, yieldTurn)
  const subscriptions = await buildSubscriptionSet(source, previous?.subscriptions, yieldTurn, eventKinds)
  return { policySet, subscriptions }
}

/** A message as JetStream stored it. */
export interface StoredMessage {
  readonly bytes: Uint8Array
  /** Becomes the timestamp of its events. */
  readonly storedAtMs: number
}

/** What the walk reads from and writes to. */
export interface WalkSurroundings {
  readonly view: TrafficView
  readonly geo: GeoLookup
  readonly buffers: Buffers
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

/** Processes a whole message at one go. */
export function processMessage(message: StoredMessage, surroundings: WalkSurroundings): MessageResult {
  const walk = walkMessage(message, surroundings)
  for (;;) {
    const { done, value } = walk.next()
    if (done) return value
  }
}

/** Processes a message, pausing after every 64 records so that its caller can let others have a turn. */
export function* walkMessage(
  { bytes, storedAtMs }: StoredMessage,
  surroundings: WalkSurroundings,
): Generator<void, MessageResult> {
  const walk = new MessageWalk(storedAtMs, surroundings)
  let untilPause = recordsPerTurnMax
  for (const line of parseMessage(bytes)) {
    if (untilPause === 0) {
      untilPause = recordsPerTurnMax
      yield
    }
    untilPause -= 1
    walk.add(line.number, line.bytes)
  }
  return walk.result()
}

/** A reason travels as a header, and parts of it come from the record. */
const inOneLine = (text: string): string => text.replaceAll(/\p{Cc}/gu, ' ')

class MessageWalk {
  readonly #storedAtMs: number
  readonly #timestamp: string
  readonly #surroundings: WalkSurroundings
  readonly #budget = new StepBudget()
  readonly #counts = new Counts()
  readonly #bad: BadRecord[] = []

  constructor(storedAtMs: number, surroundings: WalkSurroundings) {
    this.#storedAtMs = storedAtMs
    this.#timestamp = isoMillis(storedAtMs)
    this.#surroundings = surroundings
  }

  /** A record that can't be processed is bad; its neighbours never know. */
  add(line: number, bytes: Buffer): void {
    const reason = this.#attempt(bytes)
    if (reason === undefined) return
    this.#counts.addBad()
    this.#bad.push({ line, bytes, reason: inOneLine(reason) })
  }

  result(): MessageResult {
    return { counts: this.#counts.vector(), bad: this.#bad }
  }

  #attempt(bytes: Buffer): string | undefined {
    try {
      return this.#process(bytes)
    } catch (error) {
      return `The record could not be processed: ${messageOf(error)}`
    }
  }

  /** What makes the record a bad one; undefined where it was processed. */
  #process(bytes: Buffer): string | undefined {
    const { view, geo, buffers } = this.#surroundings
    const parsed = parseRecord(bytes)
    if (!parsed.ok) return parsed.problem.msg
    const record = parsed.value
    const found = view.policySet.findEdge(record)
    if (!found.ok) return found.problem.msg
    const { accountId, edgeId } = found.value
    const context = new PolicyContext(record.conn, edgeId, geo)
    this.#budget.reset()
    const verdict = evaluate(view.policySet, found.value, context, this.#budget, 'closed')
    const sources = accountId === undefined ? undefined : view.subscriptions.sourcesOf(accountId)
    const production = produce(sources, record, verdict, this.#timestamp, this.#budget)
    for (const event of production.events) route(event, this.#storedAtMs, buffers)
    this.#counts.add(record, edgeId, verdict, production)
    return undefined
  }
}
