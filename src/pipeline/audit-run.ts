/**
 * Audit events on their way to destinations: they were rendered when the change was made; here each goes to the
 * destinations of the subscriptions that name its kind.
 *
 * One message at a time in the whole deployment, so that the order of changes is the order of events.
 */
import { every, sleep, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Nats } from '../core/nats.js'
import type { PulledMessage } from '../core/nats-messages.js'
import type { Occurrences } from '../core/occurrences.js'
import { pullAll } from '../core/pull.js'
import type { InputCounts, LedgerWriter, SourceTally } from '../deliver/ledger.js'
import { readPack } from '../deliver/pack.js'
import type { EventSubscriptionRow } from '../evaluate/configuration.js'
import { auditHeaders, auditStream } from '../store/audit-relay.js'
import type { View } from '../store/view.js'
import { InputLedger } from './input-ledger.js'
import { Packs } from './packs.js'

const consumerName = 'pipeline'
const ackWaitMs = 10_000
const restartPauseMs = 500
const stopStoreWithinMs = 2_000
const stopLedgerWithinMs = 1_000

export interface AuditPipelineDeps {
  readonly nats: Nats
  readonly view: View
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
}

export class AuditPipeline {
  readonly #deps: AuditPipelineDeps
  readonly #packs: Packs
  readonly #inputs: InputLedger
  readonly #routes: AuditRoutes
  readonly #stop = new AbortController()
  readonly #inHand = new Set<PulledMessage['native']>()
  readonly #progress: Timer
  #session = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(deps: AuditPipelineDeps) {
    this.#deps = deps
    const { nats, ledger, occurrences, view } = deps
    const failed = (error: unknown): void => occurrences.auditUnrouted({ reason: messageOf(error) })
    this.#packs = new Packs({ nats, ledger, stream: 'audit', failed })
    this.#inputs = new InputLedger(ledger, 'audit')
    this.#routes = new AuditRoutes(view)
    this.#progress = every(ackWaitMs / 3, () => {
      for (const native of this.#inHand) native.working()
    })
    nats.onReconnect(() => this.#session.abort())
  }

  open(): void {
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await this.#pull()
      } catch (error) {
        if (signal.aborted) return
        this.#deps.occurrences.auditUnrouted({ reason: messageOf(error) })
        await sleep(restartPauseMs, signal)
      }
    }
  }

  async #pull(): Promise<void> {
    this.#session = new AbortController()
    const { consumer, since } = await this.#deps.nats.openConsumer({
      stream: auditStream,
      name: consumerName,
      ackWaitMs,
      ackPendingMax: 1,
    })
    const signal = AbortSignal.any([this.#stop.signal, this.#session.signal])
    for await (const message of pullAll(consumer, () => 1, signal)) await this.#process(message, since)
  }

  async #process(message: PulledMessage, since: string): Promise<void> {
    const accountId = message.headers?.get(auditHeaders.account) ?? ''
    this.#inHand.add(message.native)
    await this.#upToDate(accountId, Number(message.headers?.get(auditHeaders.version) || 0))
    const tallies = new Map<string, SourceTally>()
    const buffers = this.#packs.buffersFor({
      sequence: message.sequence,
      since,
      packsOpen: 0,
      isRouted: false,
      stored: () => this.#done(message, since, [...tallies.values()]),
    })
    for (const event of readPack(message.data).events) {
      const json = event.data.toString('utf8', 0, event.data.length - 1)
      const { event_type: kind } = JSON.parse(json) as { event_type: string }
      for (const { subscriptionId, destinationId } of this.#routes.find(accountId, kind)) {
        buffers.packOf(destinationId).append(event.partitionKey, event.timestampMs, json)
        const key = `${subscriptionId} ${kind} ${destinationId}`
        tallies.set(key, [subscriptionId, kind, destinationId, (tallies.get(key)?.[3] ?? 0) + 1, 0])
      }
    }
    buffers.close()
    this.#packs.storeAll()
  }

  /** A change is heard of by those who subscribed before it, whichever of the two comes here first. */
  async #upToDate(accountId: string, version: number): Promise<void> {
    await this.#deps.view.reached(accountId, version).catch((error: unknown) => {
      this.#deps.occurrences.auditUnrouted({ account_id: accountId, reason: messageOf(error) })
    })
  }

  #done(message: PulledMessage, since: string, sources: readonly SourceTally[]): void {
    this.#inputs.add({
      sequence: message.sequence,
      since,
      counts: { ...noRecords, sources },
      acknowledge: () => {
        this.#inHand.delete(message.native)
        message.native.ack()
      },
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#packs.close(stopStoreWithinMs)
    await this.#inputs.close(stopLedgerWithinMs)
    for (const native of this.#inHand) native.nak()
    this.#progress.stop()
  }
}

/** Audit events are no records. */
const noRecords: Omit<InputCounts, 'sources'> = {
  records: 0,
  bad: 0,
  tcp_connection: 0,
  http_request: 0,
  allow: 0,
  block: 0,
  deny: 0,
}

interface AuditRoute {
  readonly subscriptionId: string
  readonly destinationId: string
}

/** Which destinations hear of which audit kinds, per account; looked up anew when subscriptions change. */
class AuditRoutes {
  readonly #view: View
  #byKind: Map<string, AuditRoute[]> | undefined

  constructor(view: View) {
    this.#view = view
    view.onChange((kind) => {
      if (kind === 'event_subscription' || kind === '*') this.#byKind = undefined
    })
  }

  find(accountId: string, kind: string): readonly AuditRoute[] {
    this.#byKind ??= this.#build()
    return this.#byKind.get(`${accountId} ${kind}`) ?? []
  }

  #build(): Map<string, AuditRoute[]> {
    const byKind = new Map<string, AuditRoute[]>()
    for (const row of this.#view.state.rows.get('event_subscription')?.values() ?? []) {
      const { id, account_id, sources, destination_ids } = row as unknown as EventSubscriptionRow
      for (const { type } of sources) {
        const key = `${account_id} ${type}`
        const routes = byKind.get(key) ?? []
        byKind.set(key, routes)
        for (const destinationId of new Set(destination_ids))
          routes.push({ subscriptionId: id, destinationId })
      }
    }
    return byKind
  }
}
