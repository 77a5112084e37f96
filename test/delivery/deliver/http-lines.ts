/** A destination kind that Weir does not have: the lines of events, as the body of a POST to a web server. */

import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import { defineDestinationKind, type KindLimits } from '../../../src/delivery/deliver/kind/kind.js'
import type {
  BatchLimits,
  Sender,
  SenderDeps,
  SendOutcome,
} from '../../../src/delivery/deliver/kind/sender.js'
import type { Fault } from '../../../src/delivery/outgoing/fault-class.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { type Problem, shown } from '../../../src/ground/core/errors.js'

// --- address ---

const check = (url: string): Problem | undefined =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? undefined
    : { msg: `is ${shown(url)}, which is not the address of a web server` }

// --- limits ---

const mebibyte = 1024 * 1024

const limits: KindLimits = {
  eventsMax: 1_000,
  eventBytesMax: mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes,
}

// --- sender ---

class HttpLinesSender implements Sender {
  readonly #url: string
  readonly #deps: SenderDeps

  constructor({ address }: DestinationConfig, deps: SenderDeps) {
    this.#url = address
    this.#deps = deps
  }

  limits(): BatchLimits {
    return this.#deps.limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const body = Buffer.concat(events.map(({ data }) => data))
    const ended = AbortSignal.any([signal, AbortSignal.timeout(this.#deps.requestTimeoutMs)])
    try {
      const response = await fetch(this.#url, { method: 'POST', body, signal: ended })
      await response.arrayBuffer()
      return response.ok ? { outcome: 'accepted' } : { outcome: 'failed', fault: faultOf(response.status) }
    } catch (error) {
      return { outcome: 'failed', fault: { class: 'transient', code: 'ConnectionLost', msg: String(error) } }
    }
  }

  dropCredentials(): void {}

  close(): void {}
}

function faultOf(status: number): Fault {
  const answered = { code: `Http${status}`, msg: `The server answered ${status}.` }
  if (status === 429) return { class: 'throttle', ...answered }
  if (status === 422) return { class: 'poison', ...answered }
  return { class: status < 500 ? 'configuration' : 'transient', ...answered }
}

// --- declaration ---

export const httpLines = defineDestinationKind({
  name: 'http_lines',
  title: 'web server',
  about: 'POST. The body is the lines of the events.',
  address: { field: 'url', pattern: '^https?://.+', example: 'http://127.0.0.1:8080/events', check },
  limits,
  requestBytes: { max: mebibyte, default: mebibyte / 2 },
  keepsLineBreak: true,
  open: (config, deps) => new HttpLinesSender(config, deps),
})
