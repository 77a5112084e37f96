/** Headers of messages that consumers deliver. */
import type { JsMsg } from '@nats-io/jetstream'
import type { MsgImpl } from '@nats-io/nats-core/internal'

/** Empty text for a header that a message does not have. */
export interface MessageHeaders {
  get(name: string): string
}

/** Undefined if the message has none. */
export function headersIn(message: JsMsg): MessageHeaders | undefined {
  const { _msg, _rdata } = (message as JsMsg & { readonly msg: MsgImpl }).msg
  return _msg.hdr > 0 ? new DeliveredHeaders(message, _rdata.subarray(0, _msg.hdr)) : undefined
}

/**
 * Most messages have none of the headers that are asked for. Decoding all of them takes 5 to 8 times as long as looking for
 * the name in their bytes.
 */
class DeliveredHeaders implements MessageHeaders {
  readonly #message: JsMsg
  readonly #text: string

  constructor(message: JsMsg, { buffer, byteOffset, length }: Uint8Array) {
    this.#message = message
    this.#text = Buffer.from(buffer, byteOffset, length).toString('latin1')
  }

  get(name: string): string {
    return this.#text.includes(name) ? (this.#message.headers?.get(name) ?? '') : ''
  }
}
