/**
 * The packs being filled, one per destination, and their way into the deliveries stream.
 *
 * A pack is stored when it is full, when it is old, or at once when no input waits, but then not more often than a
 * few times a second per destination. An input message is done when every pack that holds one of its events is
 * stored; the ledger's entry of the message follows, and then its acknowledgement.
 */
import { monotonicMs, sleep } from '../core/clock.js'
import { hashBytes128 } from '../core/ids.js'
import { packAgeMaxMs, packBytesTarget, packIdleSpacingMs, packsBufferedBytesMax } from '../core/limits.js'
import type { Nats } from '../core/nats.js'
import { deliverySubject, packHeaders } from '../deliver/deliverer.js'
import {
  addToSegments,
  formatSegments,
  type InputStream,
  type LedgerWriter,
  type Segment,
} from '../deliver/ledger.js'
import { PackWriter } from '../deliver/pack.js'
import type { Buffers } from './route.js'

/** An input message whose events are on their way into packs. */
export interface InputMessage {
  readonly sequence: number
  /** Packs that hold events of it and are not stored yet. */
  packsOpen: number
  /** Called when the last of them is stored and no more will come. */
  stored(): void
  /** All its events are in packs. */
  isRouted: boolean
}

interface OpenPack {
  readonly writer: PackWriter
  segments: Segment[]
  messages: InputMessage[]
  /** When the first event went in. */
  since: number
  lastStored: number
}

/** What of a pack belongs to the message that is being processed. */
interface Part {
  readonly number: number
  readonly eventsBefore: number
  readonly bytesBefore: number
}

const beginPart = ({ writer }: OpenPack, number: number): Part => ({
  number,
  eventsBefore: writer.events,
  bytesBefore: writer.byteLength,
})

function endPart(pack: OpenPack, { number, eventsBefore }: Part, message: InputMessage): void {
  addToSegments(pack.segments, message.sequence, number, pack.writer.events - eventsBefore)
  pack.messages.push(message)
  message.packsOpen += 1
}

export interface PacksDeps {
  readonly nats: Nats
  readonly ledger: LedgerWriter
  readonly stream: InputStream
  /** When the input stream was made. */
  readonly since: string
  /** Storing failed for good, which only a stop explains. */
  readonly failed: (error: unknown) => void
}

export class Packs {
  readonly #deps: PacksDeps
  readonly #open = new Map<string, OpenPack>()
  readonly #storing = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  #storingBytes = 0
  /** A message is half in packs: they have to wait until all of it is. */
  #isRouting = false

  constructor(deps: PacksDeps) {
    this.#deps = deps
  }

  /** Buffers for one message: events that are appended until `close` belong to it. */
  buffersFor(message: InputMessage): Buffers & { close(): void } {
    this.#isRouting = true
    const parts = new Map<string, Part>()
    return {
      packOf: (destinationId) => {
        const pack = this.#pack(destinationId)
        const part = parts.get(destinationId)
        if (part === undefined) parts.set(destinationId, beginPart(pack, 0))
        else if (pack.writer.byteLength - part.bytesBefore >= packBytesTarget) {
          endPart(pack, part, message)
          this.#store(destinationId, pack)
          parts.set(destinationId, beginPart(pack, part.number + 1))
        }
        return pack.writer
      },
      close: () => {
        for (const [destinationId, part] of parts) {
          const pack = this.#pack(destinationId)
          endPart(pack, part, message)
          if (pack.writer.byteLength >= packBytesTarget) this.#store(destinationId, pack)
        }
        this.#isRouting = false
        message.isRouted = true
        if (message.packsOpen === 0) message.stored()
      },
    }
  }

  #pack(destinationId: string): OpenPack {
    let pack = this.#open.get(destinationId)
    if (pack === undefined) {
      pack = { writer: new PackWriter(), segments: [], messages: [], since: monotonicMs(), lastStored: 0 }
      this.#open.set(destinationId, pack)
    } else if (pack.writer.events === 0) pack.since = monotonicMs()
    return pack
  }

  /** Stores what is due. `isIdle`: nothing more is waiting to be processed. */
  storeDue(isIdle: boolean): void {
    if (this.#isRouting) return
    const at = monotonicMs()
    for (const [id, pack] of this.#open) {
      if (pack.writer.events === 0) {
        if (at - pack.lastStored > packAgeMaxMs * 100) this.#open.delete(id)
        continue
      }
      const isOld = at - pack.since >= packAgeMaxMs
      if (isOld || (isIdle && at - pack.lastStored >= packIdleSpacingMs)) this.#store(id, pack)
    }
  }

  storeAll(): void {
    for (const [id, pack] of this.#open) if (pack.writer.events > 0) this.#store(id, pack)
  }

  /** Waits while packs that are not stored yet fill the room there is for them. */
  async roomToFill(): Promise<void> {
    while (this.#storingBytes > packsBufferedBytesMax && this.#storing.size > 0)
      await Promise.race(this.#storing)
  }

  #store(destinationId: string, pack: OpenPack): void {
    const { segments, messages } = pack
    const events = pack.writer.events
    const bytes = pack.writer.take()
    pack.segments = []
    pack.messages = []
    pack.lastStored = monotonicMs()
    this.#storingBytes += bytes.length
    const storing = this.#publish(destinationId, bytes, events, segments)
      .then(
        () => {
          for (const message of messages) {
            message.packsOpen -= 1
            if (message.packsOpen === 0 && message.isRouted) message.stored()
          }
        },
        (error: unknown) => this.#deps.failed(error),
      )
      .finally(() => {
        this.#storingBytes -= bytes.length
        this.#storing.delete(storing)
      })
    this.#storing.add(storing)
  }

  async #publish(
    destinationId: string,
    bytes: Uint8Array,
    events: number,
    segments: readonly Segment[],
  ): Promise<void> {
    const { nats, ledger, stream, since } = this.#deps
    const { sequence, duplicate } = await nats.publish(deliverySubject(destinationId), bytes, {
      msgId: `${destinationId}.${hashBytes128(bytes)}`,
      signal: this.#abort.signal,
      headers: {
        [packHeaders.events]: String(events),
        [packHeaders.stream]: stream,
        [packHeaders.since]: since,
        [packHeaders.segments]: formatSegments(segments),
      },
    })
    // Equal bytes that were stored before are counted with what was stored then.
    if (!duplicate)
      await ledger.write([{ type: 'pack', destination: destinationId, sequence, stream, since, segments }])
  }

  /** Stores everything that is open; gives up after `withinMs`, and what is not stored is done again by another. */
  async close(withinMs: number): Promise<void> {
    this.storeAll()
    const all = (async () => {
      while (this.#storing.size > 0) await Promise.allSettled(this.#storing)
    })()
    await Promise.race([all, sleep(withinMs)])
    this.#abort.abort()
    await Promise.allSettled(this.#storing)
  }
}
