/**
 * Which answers of NATS mean what, and trying again.
 *
 * A leader change of a cluster answers "no responders" or "JetStream not enabled" for seconds; only the stream
 * itself knows whether a try whose answer was lost has been stored. Whoever retries therefore makes its calls
 * repeatable: by a message id, or by naming the revision it replaces.
 */
import { JetStreamApiError } from '@nats-io/jetstream'
import { monotonicMs, sleep } from '../core/clock.js'
import { messageOf, unavailable } from '../core/errors.js'

/** A call that got no answer in this time is repeated: a healthy server answers in milliseconds. */
export const callTimeoutMs = 1_000
const retryDelayMs = 100
const retryDelayMaxMs = 2_000

/** JetStream's error codes, from the server's errors.json. */
const wrongLastSequence = new Set([10071, 10164])
const streamNotFound = 10059
const consumerNotFound = 10014
const noMessageFound = 10037
/** Of a deletion; the second stands for several causes, which its text tells apart. */
const sequenceNotFound = 10043
const deletionFailed = 10057
const storageFull = new Set([10023, 10047, 10077])
/** The system is not available, JetStream is not enabled for the account or at all: all of a server that starts. */
const passing = new Set([10008, 10039, 10076])

const apiCode = (error: unknown): number | undefined =>
  error instanceof JetStreamApiError ? error.code : undefined

/** Did a compare-and-set lose, because somebody else wrote first? */
export const isWrongRevision = (error: unknown): boolean => wrongLastSequence.has(apiCode(error) ?? 0)

/** Is the stream at its bound? Nothing is lost: the publish was refused. */
export const isStorageFull = (error: unknown): boolean =>
  storageFull.has(apiCode(error) ?? 0) ||
  /maximum (bytes|messages) exceeded|insufficient storage/.test(messageOf(error))

export const isStreamMissing = (error: unknown): boolean =>
  apiCode(error) === streamNotFound || /stream not found/.test(messageOf(error))

export const isConsumerMissing = (error: unknown): boolean =>
  apiCode(error) === consumerNotFound || isStreamMissing(error)

export const isMessageMissing = (error: unknown): boolean =>
  apiCode(error) === noMessageFound ||
  apiCode(error) === sequenceNotFound ||
  (apiCode(error) === deletionFailed && /EOF/.test(messageOf(error))) ||
  /no message found/.test(messageOf(error))

/** Faults of the moment: a server that is away, elects a leader or answers late. */
function isTransient(error: unknown): boolean {
  if (isStorageFull(error)) return true
  const code = apiCode(error)
  if (code !== undefined) return passing.has(code)
  const name = error instanceof Error ? error.name : ''
  return /Timeout|NoResponders|JetStreamNotEnabled|RequestError|ConnectionError|Disconnect/.test(
    `${name} ${messageOf(error)}`,
  )
}

export interface Patience {
  /** Ends the retrying; the last error is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Gives up after this many tries; the last error is thrown. */
  readonly triesMax?: number | undefined
  /** Gives up when a try fails this long after the first began, with an error that says so. */
  readonly patienceMs?: number | undefined
  /** Called before each further try. */
  readonly retrying?: (() => void) | undefined
}

/** Runs `call` until it succeeds or fails for good; for ever, where no patience is given. */
export async function retried<T>(call: () => Promise<T>, patience: Patience = {}): Promise<T> {
  const { signal, triesMax, patienceMs = Number.POSITIVE_INFINITY, retrying } = patience
  const startedMs = monotonicMs()
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (signal?.aborted || !isTransient(error) || attempt === triesMax) throw error
      if (monotonicMs() - startedMs >= patienceMs) throw unavailable('NATS does not answer.', error)
      retrying?.()
      await sleep(Math.min(retryDelayMaxMs, retryDelayMs * 2 ** Math.min(attempt - 1, 8)), signal)
    }
  }
}
