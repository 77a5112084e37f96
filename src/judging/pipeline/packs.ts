/**
 * The packs being filled, one per destination, and how they are stored in the deliveries stream.
 *
 * A pack is stored when it is full, when it is old, or at once if no input waits, but then only a few times a second per
 * destination. An input message is done when every pack that holds one of its events is stored; its entry in the ledger
 * follows, then its acknowledgement. A pack that can't be stored is retried as long as it takes: until then it occupies
 * buffer space, and when that is full nothing more is pulled.
 */

import type { InputStream, LedgerWriter } from '../../delivery/books/ledger.js'
import { type FinishedPack, storePack } from '../../delivery/books/stored-packs.js'
import type { PackWriter } from '../../delivery/wire/pack.js'
import { Segments } from '../../delivery/wire/pack-message.js'
import { formatTraces } from '../../delivery/wire/pack-trace.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { packBytesTarget } from '../../ground/core/limits.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { BusyDestinations } from './busy-destinations.js'
import { type InputMessage, OpenPack } from './open-pack.js'
import { packAgeMs, packSpacingMs } from './pack-times.js'

/** Bytes in all unfinished packs together; pulling pauses beyond it. */
const packsBufferedBytesMax = 64 * 1024 * 1024

/** The packs being filled, one per destination. */
export interface Buffers {
  /** The pack of this destination that is being filled. */
  packOf(destinationId: string): PackWriter
}

interface PacksDeps {
  readonly nats: Nats
  readonly partitions: Pick<PartitionSet, 'homeOf'>
  /** Packs of the others are for the consumer that these share. */
  readonly busy: Pick<BusyDestinations, 'hasNext'>
  readonly ledger: LedgerWriter
  readonly stream: InputStream
  /** Inputs that this process reads for the same destinations; a pack has events of one of them. Default: one. */
  readonly inputs?: (() => number) | undefined
  /** Called when a pack begins to be stored; what it returns is called when the pack is stored or given up. */
  readonly packBegun?: ((destination: string, bytes: number) => () => void) | undefined
  /** Reports a pack that could not be stored and is retried. */
  readonly failed: (error: unknown) => void
}

const retryPauseMs = 1_000
/**
 * Events of a full request to Kinesis or Firehose (`eventsMax` in `deliver/kinds/kinesis.ts` and
 * `deliver/kinds/firehose.ts`): packs of this many events, or of two or three times as many, need the fewest requests.
 */
const requestEvents = 500
/** No pack waits for that beyond this share of its target. */
const waitingPackShare = 1.5
/** A pack may exceed this share by its target plus one event, and must fit a message. */
const packsPerPayload = 4
/** The state of a destination without events is dropped after this time, when other events come. */
const forgetAfterMs = 60_000

export class Packs implements Buffers {
  readonly #deps: PacksDeps
  readonly #open = new Map<string, OpenPack>()
  readonly #storing = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  readonly #packBytes: number
  /** Bytes of packs being filled or stored. */
  #bufferedBytes = 0
  /** Messages with events in such packs. */
  #messagesOpen = 0
  /** The message that is partly in packs: they must wait until all of it is. */
  #routing: InputMessage | undefined
  /** Those that have a part of it. */
  readonly #filled: OpenPack[] = []
  #since = ''

  constructor(deps: PacksDeps) {
    this.#deps = deps
    this.#packBytes = Math.min(packBytesTarget, Math.floor(deps.nats.payloadBytesMax / packsPerPayload))
  }

  /** A message begins, or goes on after a pause: events that are appended until `pause` or `end` belong to it. */
  begin(message: InputMessage): void {
    if (message.since !== this.#since) {
      this.storeAll()
      this.#since = message.since
    }
    this.#routing = message
  }

  packOf(destinationId: string): PackWriter {
    const pack = this.#pack(destinationId)
    if (!pack.hasPart) {
      this.#filled.push(pack)
      pack.beginPart(this.#routing?.partsEnded?.get(destinationId) ?? 0)
    } else if (pack.partBytes >= this.#packBytes) {
      this.#endPart(pack)
      this.#store(pack)
      pack.beginPart(pack.partNumber + 1)
    }
    return pack.writer
  }

  /** All events of the message are in packs. */
  end(): void {
    const message = this.#routingMessage()
    this.#endParts()
    message.isRouted = true
    if (message.packsOpen === 0) message.stored()
  }

  /** More events of the message follow, after events of others. It must always be paused at the same of its records. */
  pause(): void {
    const message = this.#routingMessage()
    message.partsEnded ??= new Map()
    for (const { destinationId, partNumber } of this.#filled)
      message.partsEnded.set(destinationId, partNumber + 1)
    this.#endParts()
  }

  #endParts(): void {
    for (const pack of this.#filled) {
      this.#endPart(pack)
      if (this.#isFull(pack)) this.#store(pack)
    }
    this.#filled.length = 0
    this.#routing = undefined
  }

  /** A pack that is large enough waits for the events that fill its last request, if another message may have them. */
  #isFull({ writer: { byteLength, events }, partEvents }: OpenPack): boolean {
    if (byteLength < this.#packBytes) return false
    if (byteLength >= waitingPackShare * this.#packBytes) return true
    const inLastRequest = events % requestEvents
    return inLastRequest === 0 || inLastRequest + partEvents > requestEvents
  }

  #routingMessage(): InputMessage {
    if (this.#routing === undefined) throw new Error('An event is put into a pack, but no message has begun.')
    return this.#routing
  }

  #endPart(pack: OpenPack): void {
    const message = this.#routingMessage()
    pack.hasPart = false
    pack.segments.add(message.sequence, pack.partNumber, pack.partEvents)
    this.#bufferedBytes += pack.partBytes
    pack.messages.push(message)
    if (message.trace !== undefined) pack.trace(message)
    if (message.packsOpen === 0) this.#messagesOpen += 1
    message.packsOpen += 1
  }

  #pack(destinationId: string): OpenPack {
    let pack = this.#open.get(destinationId)
    if (pack === undefined) {
      pack = new OpenPack(destinationId)
      this.#open.set(destinationId, pack)
    } else if (pack.writer.events === 0) pack.begunMs = monotonicMs()
    return pack
  }

  /** No event waits to be stored, none is being stored, and no message is on its way into packs. */
  get isEmpty(): boolean {
    return this.#bufferedBytes === 0 && this.#routing === undefined
  }

  /** Stores packs that are due. `isIdle`: no input waits to be processed. */
  storeDue(isIdle: boolean): void {
    if (this.#routing !== undefined) return
    const nowMs = monotonicMs()
    const spacingMs = packSpacingMs(this.#deps.inputs?.() ?? 1, this.#open.size)
    const ageMs = packAgeMs(spacingMs, this.#open.size, this.#messagesOpen)
    for (const [id, pack] of this.#open) {
      if (pack.writer.events === 0) {
        if (nowMs - pack.storedMs > forgetAfterMs) this.#open.delete(id)
        continue
      }
      const isDue = isIdle ? nowMs - pack.storedMs >= spacingMs : nowMs - pack.begunMs >= ageMs
      if (isDue) this.#store(pack)
    }
  }

  storeAll(): void {
    for (const pack of this.#open.values()) if (pack.writer.events > 0) this.#store(pack)
  }

  /** Is the buffer for events that are not stored yet full? */
  get isFull(): boolean {
    return this.#bufferedBytes > packsBufferedBytesMax
  }

  /** Waits while it is full. */
  async roomToFill(): Promise<void> {
    if (this.isFull && this.#routing === undefined) this.storeAll()
    while (this.isFull && this.#storing.size > 0) await Promise.race(this.#storing)
  }

  #store(open: OpenPack): void {
    const { destinationId, segments, messages } = open
    const { stream, partitions, busy } = this.#deps
    const origin = { stream, since: this.#since, segments: segments.format() }
    const summary = open.writer.summary()
    const bytes = open.writer.take()
    const spans = open.takeSpans()
    const traces = spans && formatTraces(spans.map(({ context }) => context))
    open.segments = new Segments()
    open.messages = []
    open.storedMs = monotonicMs()
    const ended = this.#deps.packBegun?.(destinationId, bytes.length)
    const partition = partitions.homeOf(destinationId)
    const isShared = !busy.hasNext(destinationId)
    const pack = { destination: destinationId, partition, isShared, bytes, origin, summary, traces }
    const storing = this.#storeUntilDone(pack)
      .then((isStored) => {
        for (const span of spans ?? []) span.end(isStored ? undefined : 'stopped')
        if (isStored) for (const message of messages) this.#partStored(message)
      })
      .finally(() => {
        ended?.()
        this.#bufferedBytes -= bytes.length
        this.#storing.delete(storing)
      })
    this.#storing.add(storing)
  }

  #partStored(message: InputMessage): void {
    message.packsOpen -= 1
    if (message.packsOpen > 0) return
    this.#messagesOpen -= 1
    if (message.isRouted) message.stored()
  }

  /** False if a stop came first: nothing is acknowledged then, and another process repeats the work. */
  async #storeUntilDone(pack: FinishedPack): Promise<boolean> {
    const { nats, ledger } = this.#deps
    const { signal } = this.#abort
    while (!signal.aborted) {
      try {
        await storePack(nats, pack, { signal }, (entries) => ledger.write(entries))
        return true
      } catch (error) {
        if (signal.aborted) break
        this.#deps.failed(error)
        await sleep(retryPauseMs, signal)
      }
    }
    return false
  }

  /** Stores all open packs; gives up after `withinMs`, and another process repeats the rest. */
  async close(withinMs: number): Promise<void> {
    this.storeAll()
    const all = (async () => {
      while (this.#storing.size > 0) await Promise.all(this.#storing)
    })()
    await Promise.race([all, sleep(withinMs, this.#abort.signal)])
    this.#abort.abort()
    await Promise.all(this.#storing)
  }
}
