/** Headers of messages that consumers deliver. */
import { MsgHdrsImpl } from '@nats-io/nats-core/internal'
import { bufferOf } from '../core/bytes.js'

/** Empty text for a header that a message does not have. */
export interface MessageHeaders {
  get(name: string): string
}

/**
 * Most messages have none of the headers that are asked for. Decoding all of them takes 5 to 8 times as long as looking for
 * the name in their bytes.
 */
export class DeliveredHeaders implements MessageHeaders {
  readonly #bytes: Uint8Array
  #text: string | undefined

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get(name: string): string {
    this.#text ??= bufferOf(this.#bytes).toString('latin1')
    return this.#text.includes(name) ? MsgHdrsImpl.decode(this.#bytes).get(name) : ''
  }
}
