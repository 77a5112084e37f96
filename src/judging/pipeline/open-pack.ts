/** A pack that is being filled, and the messages whose events it gets. */
import { PackWriter } from '../../delivery/wire/pack.js'
import { Segments } from '../../delivery/wire/pack-message.js'
import { tracesPerPackMax } from '../../delivery/wire/pack-trace.js'
import { monotonicMs } from '../../ground/core/clock.js'
import type { Span } from '../../ground/core/telemetry/tracing.js'
import type { MessageTrace } from './message-trace.js'

/** An input message whose events are being put into packs. */
export interface InputMessage {
  readonly sequence: number
  /** The run of its stream's sequences. */
  readonly since: string
  /** Packs that hold its events and are not stored yet. */
  packsOpen: number
  /** All its events are in packs. */
  isRouted: boolean
  /** How many parts of it have ended, by destination, if it was paused. */
  partsEnded?: Map<string, number>
  /** Called when all its events are in packs and each of these is stored. */
  stored(): void
  /** Set if its way is traced. */
  readonly trace?: MessageTrace | undefined
}

/** A class, because there may be thousands, which each message that holds many records adds to. */
export class OpenPack {
  readonly destinationId: string
  readonly writer = new PackWriter()
  segments = new Segments()
  messages: InputMessage[] = []
  /** A span for each message that is traced, up to a bound; undefined if there are none. */
  #spans: Span[] | undefined
  #traced: InputMessage | undefined
  /** Milliseconds, monotonic: when the first event went in, and when the pack before it was stored. */
  begunMs = monotonicMs()
  storedMs = 0
  /** The part of it that belongs to the message being processed, if there is one. */
  hasPart = false
  partNumber = 0
  #eventsBefore = 0
  #bytesBefore = 0

  constructor(destinationId: string) {
    this.destinationId = destinationId
  }

  get partEvents(): number {
    return this.writer.events - this.#eventsBefore
  }

  get partBytes(): number {
    return this.writer.byteLength - this.#bytesBefore
  }

  /** The message, which is traced, has events in it. */
  trace(message: InputMessage): void {
    if (this.#traced === message || this.#spans?.length === tracesPerPackMax) return
    const span = message.trace?.producing(this.destinationId)
    if (span === undefined) return
    this.#traced = message
    this.#spans ??= []
    this.#spans.push(span)
  }

  /** The spans so far; those of the next pack are others. */
  takeSpans(): readonly Span[] | undefined {
    const spans = this.#spans
    this.#spans = undefined
    this.#traced = undefined
    return spans
  }

  beginPart(number: number): void {
    this.hasPart = true
    this.partNumber = number
    this.#eventsBefore = this.writer.events
    this.#bytesBefore = this.writer.byteLength
  }
}
