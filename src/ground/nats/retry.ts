/**
 * The meaning of NATS errors, and retries.
 *
 * During a leader change, a cluster answers "no responders" or "JetStream not enabled" for seconds. Only the stream
 * knows whether an attempt whose answer was lost has been stored. Calls that are retried must therefore be idempotent:
 * by a message id, or by the revision they replace.
 */
import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/nats-core'
import { monotonicMs, sleep } from '../core/clock.js'
import { messageOf, StartFault, unavailable } from '../core/errors.js'
import { remedyFor } from './remedies.js'

/** A call without an answer in this time is retried: a healthy server answers in milliseconds. */
export const callTimeoutMs = 1_000
const retryDelayMs = 100
const retryDelayMaxMs = 2_000

/** JetStream's error codes, from the server's errors.json. */
const wrongLastSequence = new Set([10071, 10164])
const streamNotFound = 10059
const streamNotExpected = 10060
const consumerNotFound = 10014
const noMessageFound = 10037
const noPeers = 10005
/** Errors of a deletion; the second has several causes, which its text distinguishes. */
const sequenceNotFound = 10043
const deletionFailed = 10057
/** The second is a limit of the account that was lowered, the last one the limit of a stream. */
const storageFull = new Set([10023, 10002, 10047, 10077])
/**
 * The status of errors that pass: a server starts, or has no leader. Those of them that do not: a server that is not in a
 * cluster, or is in one, can't do what it is asked for, and the sequence is another one than was expected.
 */
const unavailableStatus = 503
const lasting = new Set([10010, 10036, 10063])
/**
 * Errors of another status that pass: more messages wait to be stored in a stream than the server buffers for it
 * (`max_buffered_size`); and an earlier attempt, whose answer did not come in time, waits for the other servers of a
 * cluster.
 */
const attemptUnderWay = 10158
const temporary = new Set([10167, attemptUnderWay])

const apiCode = (error: unknown): number | undefined =>
  error instanceof JetStreamApiError ? error.code : undefined

/** Did a compare-and-set fail because another process wrote first? */
export const isWrongRevision = (error: unknown): boolean => wrongLastSequence.has(apiCode(error) ?? 0)

/** Is the stream full? Nothing is lost: the publish was refused. */
export const isStorageFull = (error: unknown): boolean =>
  storageFull.has(apiCode(error) ?? 0) ||
  /maximum (bytes|messages) exceeded|insufficient storage/.test(messageOf(error))

export const isStreamMissing = (error: unknown): boolean =>
  apiCode(error) === streamNotFound || /stream not found/.test(messageOf(error))

/** Did a publish get to another stream than the expected one? */
export const isOtherStream = (error: unknown): boolean => apiCode(error) === streamNotExpected

/**
 * Does no stream take the message, or has the one that does no leader at present? The client reports the missing answer of a
 * stream as a missing JetStream.
 */
export const isNoStream = (error: unknown): boolean =>
  error instanceof Error && /^(NoResponders|JetStreamNotEnabled)/.test(error.name)

export const isConsumerMissing = (error: unknown): boolean =>
  apiCode(error) === consumerNotFound || isStreamMissing(error)

export const isMessageMissing = (error: unknown): boolean =>
  apiCode(error) === noMessageFound ||
  apiCode(error) === sequenceNotFound ||
  (apiCode(error) === deletionFailed && /EOF/.test(messageOf(error))) ||
  /no message found/.test(messageOf(error))

/** The result of a call; undefined if it fails with an error of this kind. */
export async function undefinedIf<T>(
  isExpected: (error: unknown) => boolean,
  call: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (!isExpected(error)) throw error
    return undefined
  }
}

/**
 * Is the error certain to mean that nothing was stored? The stream answered with a refusal, or no stream got the message.
 * One that says that an earlier attempt is still under way is none.
 */
export const isRefusal = (error: unknown): boolean =>
  isNoStream(error) || (error instanceof JetStreamApiError && error.code !== attemptUnderWay)

const mebibyte = 1024 * 1024

/** Creates a stream. Throws a `StartFault` if a limit of NATS is in the way: that does not pass by itself. */
export async function withRoom<T>(stream: string, bytesMax: number, create: () => Promise<T>): Promise<T> {
  try {
    return await create()
  } catch (error) {
    const size = `${Math.ceil(bytesMax / mebibyte)} MiB`
    if (isStorageFull(error))
      throw new StartFault(
        `NATS has no room for ${stream} (${size}). With a NATS of your own, raise its storage (max_file_store, and that of the account); without, raise WEIR_STORAGE_MAX.`,
        { cause: error },
      )
    const remedy = remedyFor(error)
    if (remedy === undefined) throw error
    throw new StartFault(`NATS does not make ${stream} (${size}): ${messageOf(error)}. ${remedy}`, {
      cause: error,
    })
  }
}

/** Weir itself closed the connection: no call on it will ever be answered. */
const isClosed = (error: unknown): boolean =>
  error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError

/**
 * A server of the cluster is away, or answers late, so that a stream can't have its copies yet. With too few servers, it
 * says less.
 */
const isPeerAway = (error: unknown): boolean =>
  apiCode(error) === noPeers && /peer offline/.test(messageOf(error))

/** Does the server start, or has it no leader? */
export const isUnavailable = (error: JetStreamApiError): boolean =>
  error.status === unavailableStatus && !lasting.has(error.code)

const isApiTransient = (error: JetStreamApiError): boolean =>
  isUnavailable(error) || temporary.has(error.code) || isPeerAway(error)

/** Will the error pass? The server is unreachable, elects a leader or answers late. */
function isTransient(error: unknown): boolean {
  if (isClosed(error)) return false
  if (isStorageFull(error)) return true
  if (error instanceof JetStreamApiError) return isApiTransient(error)
  const name = error instanceof Error ? error.name : ''
  return /Timeout|NoResponders|JetStreamNotEnabled|RequestError|ConnectionError|Disconnect/.test(
    `${name} ${messageOf(error)}`,
  )
}

export interface Patience {
  /** Ends the retries; the last error is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Gives up after this many attempts; the last error is thrown. */
  readonly triesMax?: number | undefined
  /** Gives up if an attempt fails this long after the first began, with an error that says so. */
  readonly patienceMs?: number | undefined
  /** Called before each retry. */
  readonly retrying?: (() => void) | undefined
  /** Called with the error of each failed attempt. */
  readonly failed?: ((error: unknown) => void) | undefined
}

/** Runs `call` until it succeeds or fails for good; without `patience`, retries without limit. */
export async function retried<T>(call: () => Promise<T>, patience: Patience = {}): Promise<T> {
  const { signal, triesMax, patienceMs = Number.POSITIVE_INFINITY, retrying, failed } = patience
  const startedMs = monotonicMs()
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      failed?.(error)
      if (signal?.aborted || !isTransient(error) || attempt === triesMax) throw error
      if (monotonicMs() - startedMs >= patienceMs)
        throw unavailable(isStorageFull(error) ? 'NATS has no room.' : 'NATS does not answer.', error)
      retrying?.()
      await sleep(Math.min(retryDelayMaxMs, retryDelayMs * 2 ** Math.min(attempt - 1, 8)), signal)
    }
  }
}
