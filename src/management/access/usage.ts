/**
 * How much the API is used: requests and published records per account, and failed logins per address, counted for all API
 * processes together.
 *
 * Each process decides by its own knowledge, without asking, and publishes its counts every 250 ms. The others add that
 * to their own counts. So the limits hold approximately: the other processes may have let through what they counted
 * since their last message. While NATS is away, each process counts by itself, and sends what it counted once NATS is
 * back. A new process does not know what was counted before its start. A message that is lost is not sent again. All of
 * this lets through more, never less.
 */

import { usageSubject } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { after, randomToken, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { failedLoginsPerMinuteMax } from '../../ground/core/limits.js'
import { type Static, Type } from '../../ground/core/schema.js'
import { compileCheck } from '../../ground/core/schema-check.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { RateWindows, windowMs } from './rate-windows.js'

export const usageLimits = {
  /** From one message to the next. What the other processes count in between may exceed the limits. */
  everyMs: 250,
  /** Keys in each list of a message; the rest follows in the next message. */
  keysPerMessageMax: 1_000,
  /** Ids of accounts have up to 67 characters, addresses fewer. */
  keyCharsMax: 128,
  /** A message that is full of the longest ids has 0.3 MiB. */
  messageBytesMax: 384 * 1024,
  /** Accounts and addresses whose counts are kept, with some 150 bytes each; more push out the oldest. */
  accountsMax: 50_000,
  addressesMax: 10_000,
} as const

const incrementSchema = Type.Object({
  key: Type.String({ minLength: 1, maxLength: usageLimits.keyCharsMax }),
  count: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
  age_ms: Type.Integer({ minimum: 0, maximum: windowMs }),
})
const incrementsSchema = Type.Array(incrementSchema, { maxItems: usageLimits.keysPerMessageMax })
/** Fields that a later version adds are ignored: during an upgrade, processes of both versions run. */
const messageSchema = Type.Object({
  /** The process that counted. */
  from: Type.String(),
  requests: incrementsSchema,
  failed_logins: incrementsSchema,
  /** Missing in messages of earlier versions. */
  records: Type.Optional(incrementsSchema),
})
const complaint = compileCheck(messageSchema)

type UsageMessage = Static<typeof messageSchema>

interface UsageOptions {
  /** Default: no limit. */
  readonly recordsPerMinute?: number
  readonly nowMs?: () => number
}

export class Usage {
  readonly requests: RateWindows
  readonly failedLogins: RateWindows
  /** Published over the API. */
  readonly records: RateWindows
  readonly #process = randomToken(12)

  constructor(requestsPerMinute: number, { recordsPerMinute = 0, nowMs }: UsageOptions = {}) {
    const { accountsMax, addressesMax } = usageLimits
    this.requests = new RateWindows({ perMinute: requestsPerMinute, keysMax: accountsMax }, nowMs)
    this.records = new RateWindows({ perMinute: recordsPerMinute, keysMax: accountsMax }, nowMs)
    const logins = { perMinute: failedLoginsPerMinuteMax, keysMax: addressesMax }
    this.failedLogins = new RateWindows(logins, nowMs)
  }

  get hasUnsent(): boolean {
    return [this.requests, this.failedLogins, this.records].some(({ hasUnsent }) => hasUnsent)
  }

  /** The counts since the last message; undefined if there are none. */
  nextMessage(): string | undefined {
    const { keysPerMessageMax } = usageLimits
    const message: UsageMessage = {
      from: this.#process,
      requests: this.requests.takeUnsent(keysPerMessageMax),
      failed_logins: this.failedLogins.takeUnsent(keysPerMessageMax),
    }
    const records = this.records.takeUnsent(keysPerMessageMax)
    if (records.length > 0) message.records = records
    const isEmpty = message.requests.length + message.failed_logins.length + records.length === 0
    return isEmpty ? undefined : JSON.stringify(message)
  }

  /** Adds the counts of another process. A malformed message is ignored; the result names its fault. */
  receive(data: Uint8Array): string | undefined {
    if (data.length > usageLimits.messageBytesMax) return `The message has ${data.length} bytes.`
    let given: unknown
    try {
      given = jsonOf(data)
    } catch (error) {
      return messageOf(error)
    }
    const wrong = complaint(given, '')
    if (wrong !== undefined) return wrong
    const message = given as UsageMessage
    // A server sends publishers their own messages, too.
    if (message.from === this.#process) return undefined
    for (const increment of message.requests) this.requests.add(increment)
    for (const increment of message.failed_logins) this.failedLogins.add(increment)
    for (const increment of message.records ?? []) this.records.add(increment)
    return undefined
  }
}

/** Exchanges counts with the other API processes until it is closed. */
export function exchangeUsage(
  nats: Nats,
  usage: Usage,
  occurrences: Pick<Occurrences, 'usageMessageIgnored' | 'usageUnshared'>,
): { close(): Promise<void> } {
  const subscription = nats.subscribe(
    usageSubject,
    (data) => {
      const reason = usage.receive(data)
      if (reason !== undefined) occurrences.usageMessageIgnored({ reason })
    },
    (error) => occurrences.usageUnshared({ reason: messageOf(error) }),
  )
  const send = (): void => {
    const message = usage.nextMessage()
    if (message !== undefined) nats.emit(usageSubject, message)
  }
  let due: Timer | undefined
  const sendLater = (): void => {
    due ??= after(usageLimits.everyMs, () => {
      due = undefined
      // A user that may not subscribe may not publish either.
      if (subscription.isRefused) return
      // Without a connection, counts wait.
      if (nats.isConnected) send()
      if (usage.hasUnsent) sendLater()
    })
  }
  for (const counts of [usage.requests, usage.failedLogins, usage.records]) counts.onUnsent = sendLater
  return {
    close: async () => {
      due?.stop()
      if (nats.isConnected && !subscription.isRefused) send()
      subscription.close()
    },
  }
}
