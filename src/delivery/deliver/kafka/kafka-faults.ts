/**
 * Turns an error code of Kafka, or an error of a connection, into a fault:
 * https://kafka.apache.org/protocol#protocol_error_codes
 */
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import { closedCode, connectionFault, fault } from '../../outgoing/faults.js'
import { protocol } from './protocol.js'

/** A fault that is not named here pauses the destination, so that no event is dropped on a guess. */
const classes = new Map<string, FaultClass>()
const classify = (faultClass: FaultClass, ...codes: readonly string[]): void => {
  for (const code of codes) classes.set(code, faultClass)
}

classify('throttle', 'THROTTLING_QUOTA_EXCEEDED')
classify(
  'transient',
  'UNKNOWN_SERVER_ERROR',
  'CORRUPT_MESSAGE',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_OR_FOLLOWER',
  'REQUEST_TIMED_OUT',
  'BROKER_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
  'NETWORK_EXCEPTION',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'CONCURRENT_TRANSACTIONS',
  'KAFKA_STORAGE_ERROR',
  'UNKNOWN_LEADER_EPOCH',
  'FENCED_LEADER_EPOCH',
)
classify('credentials', 'SASL_AUTHENTICATION_FAILED')
classify('poison', 'MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_TIMESTAMP', 'INVALID_RECORD')

/** The broker does not know which batch comes next: the producer begins again. */
const resetting = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
])

export const needsReset = ({ code }: Fault): boolean => resetting.has(code)

const explained: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'The topic does not exist, or may not be seen.',
  TOPIC_AUTHORIZATION_FAILED: 'Writing to the topic is not allowed.',
  CLUSTER_AUTHORIZATION_FAILED:
    'An idempotent producer is not allowed: it needs IdempotentWrite on the cluster.',
  UNSUPPORTED_SASL_MECHANISM: 'The broker does not support this SASL mechanism.',
  SASL_AUTHENTICATION_FAILED: 'The broker refuses the user or the password.',
}

/** `code`: Kafka's name of the error. */
const faultOfCode = (code: string, message: string): Fault =>
  fault(classes.get(code) ?? 'configuration', code, explained[code] ?? message)

/** `number`: Kafka's number of the error; `detail`: what the broker says about it. */
export async function faultOfNumber(number: number, detail?: string | null): Promise<Fault> {
  const { protocolErrors, protocolErrorsCodesById } = await protocol()
  const code = protocolErrorsCodesById[number] ?? `Error${number}`
  return faultOfCode(code, detail ?? protocolErrors[code]?.message ?? code)
}

interface LibraryError extends Error {
  readonly code?: string
  readonly errors?: readonly { readonly apiId?: string; readonly message: string }[]
}

export function faultOf(error: unknown): Fault {
  const { name, message, code = '', errors, cause } = error as LibraryError
  const [first] = errors ?? []
  if (first?.apiId !== undefined) return faultOfCode(first.apiId, first.message)
  if (name === 'NotKafkaError' || name === 'UnknownVersionError')
    return fault('configuration', name.replace(/Error$/, ''), message)
  if (name === 'ClosedByBrokerError') return fault('transient', closedCode, message)
  // The library says so of any error on the way, too.
  if (code === 'PLT_KFK_AUTHENTICATION')
    return cause === undefined ? fault('credentials', 'SaslFailed', message) : faultOf(cause)
  return connectionFault(error)
}
