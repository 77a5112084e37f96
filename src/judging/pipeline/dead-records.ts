/**
 * Stores bad records as dead letters. The cost of a message is in proportion to its bytes, whatever it holds: many bad
 * lines share stored messages, and are logged once. No other message waits for it, unless very many lines wait for NATS.
 */

import { compressedLetter, deadLetter } from '../../delivery/wire/dead-letter.js'
import {
  deadLetterHeaders,
  deadRecordsSubject,
  encodingHeader,
  type History,
  historyHeader,
} from '../../delivery/wire/names.js'
import { sharedDeadLetter } from '../../delivery/wire/shared-dead-letters.js'
import { eachOf } from '../../ground/core/concurrency.js'
import { hash128 } from '../../ground/core/ids.js'
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { InputMessage } from './open-pack.js'
import type { BadRecord } from './process-record.js'

interface DeadRecordsOptions {
  readonly nats: Pick<Nats, 'publish' | 'payloadBytesMax'>
  readonly occurrences: Pick<Occurrences, 'recordsBad'>
  /** The stream of the records. */
  readonly stream: string
  /** Aborted when a stop takes too long. */
  readonly gaveUp: AbortSignal
}

/** How a message was sent. */
interface SentAs {
  /** Empty: as it is. */
  readonly encoding: string
  readonly history: History | undefined
}

/** So few of a message are stored alone, where everyone can read them. */
const aloneMax = 4
/** Lines that begin in the same window of their message share a stored message … */
const windowBytesMax = 64 * 1024
/** … which has at most twelve times as many bytes, index included. */
const storedPerWindow = 12
const storedAtOnce = 8
const examplesLogged = 3
const exampleReasonCharsMax = 200
/** The next message waits while the records of earlier ones take more memory than this. */
const waitingBytesMax = 32 * 1024 * 1024
/** Memory of a record besides its bytes. */
const recordBytes = 200

export class DeadRecords {
  readonly #options: DeadRecordsOptions
  readonly #storing = new Set<Promise<void>>()
  #waitingBytes = 0

  constructor(options: DeadRecordsOptions) {
    this.#options = options
  }

  /** Stores records of a message, each once however often the message is processed. */
  store(records: readonly BadRecord[], message: InputMessage, sent: SentAs): Promise<void> {
    const bytes = records.reduce((sum, { byteLength }) => sum + byteLength + recordBytes, 0)
    this.#waitingBytes += bytes
    const storing = this.#store(records, message, sent).finally(() => {
      this.#waitingBytes -= bytes
      this.#storing.delete(settled)
    })
    // The caller that acknowledges the message gets the failure.
    const settled = storing.catch(() => {})
    this.#storing.add(settled)
    return storing
  }

  get isFull(): boolean {
    return this.#waitingBytes > waitingBytesMax
  }

  /** Waits while it is full. */
  async room(): Promise<void> {
    while (this.isFull) await Promise.race(this.#storing)
  }

  async #store(
    records: readonly BadRecord[],
    { sequence, since }: InputMessage,
    { encoding, history }: SentAs,
  ): Promise<void> {
    const { nats, stream, occurrences, gaveUp } = this.#options
    const isWhole = records[0]?.isMessage === true
    const origin = {
      [deadLetterHeaders.stream]: stream,
      [deadLetterHeaders.sequence]: String(sequence),
      ...(isWhole && encoding !== '' && { [encodingHeader]: encoding }),
      ...(history !== undefined && { [historyHeader]: history }),
    }
    const windowBytes = Math.min(
      windowBytesMax,
      Math.floor((nats.payloadBytesMax - payloadHeadroomBytes) / storedPerWindow),
    )
    await eachOf(groupsOf(records, windowBytes), storedAtOnce, async (group) => {
      const letter =
        group.length === 1
          ? aloneLetter(group[0]!, origin, nats.payloadBytesMax)
          : sharedDeadLetter(group, origin)
      const { data, headers } = encoding === '' || isWhole ? letter : compressedLetter(letter)
      const msgId = `${since}.${sequence}.${idOf(group)}`
      await nats.publish(deadRecordsSubject, data, { msgId, headers, signal: gaveUp })
    })
    const examples = records
      .slice(0, examplesLogged)
      .map(({ line, reason }) => ({ line, reason: reason.slice(0, exampleReasonCharsMax) }))
    occurrences.recordsBad({ sequence, records: records.length, examples }, records.length)
  }
}

function aloneLetter(
  { line, bytes, reason }: BadRecord,
  origin: Readonly<Record<string, string>>,
  payloadBytesMax: number,
) {
  const headers = { ...origin, [deadLetterHeaders.reason]: reason, [deadLetterHeaders.line]: String(line) }
  return deadLetter(bytes, headers, payloadBytesMax)
}

/**
 * Records that are stored together. Windows are places in the message, not numbers of records: a message that is
 * processed again has the same groups even if others of its records are bad now.
 */
function* groupsOf(records: readonly BadRecord[], windowBytes: number): Generator<readonly BadRecord[]> {
  if (records.length <= aloneMax) return yield* records.map((record) => [record])
  let group: BadRecord[] = []
  let window = 0
  for (const record of records) {
    if (record.byteLength > windowBytes) {
      yield [record]
      continue
    }
    const own = Math.floor(record.start / windowBytes)
    if (own !== window) {
      if (group.length > 0) yield group
      group = []
      window = own
    }
    group.push(record)
  }
  if (group.length > 0) yield group
}

/**
 * Identifies the lines of a group. The same group is stored once, however often it is processed; a group with another line,
 * because the configuration has changed in between, is stored, too.
 */
function idOf(group: readonly BadRecord[]): string {
  if (group.length === 1) return String(group[0]!.line)
  return `${group[0]!.line}.${hash128(group.map(({ line }) => line).join())}`
}
