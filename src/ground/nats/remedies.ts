/** Remedies of an operator for limits of NATS, by the codes of errors in the server's errors.json. */
import { JetStreamApiError } from '@nats-io/jetstream'
import { StartFault } from '../core/errors.js'

const ofAccount = 'of the account in NATS ("jetstream" of its configuration, or its claims)'

const remedies = new Map<number, string>([
  // Resource limits of the account; the same for storage.
  [10002, `Raise max_file ${ofAccount}, or delete what is not needed.`],
  [10047, `Raise max_file ${ofAccount}, or max_file_store of the server.`],
  [10023, 'Raise max_file_store of the server, or make room on its disk.'],
  [10028, `Raise max_mem ${ofAccount}, or max_memory_store of the server.`],
  [10026, `Raise max_consumers ${ofAccount}, or delete consumers that no one reads.`],
  [10027, `Raise max_streams ${ofAccount}, or delete streams that no one needs.`],
  [10122, `Raise disk_max_stream_bytes ${ofAccount}, or lower WEIR_STORAGE_MAX.`],
  [10039, 'Enable JetStream for the account.'],
  [10076, 'Enable JetStream on the server.'],
])

/** Undefined if the error is of no limit, or says itself what to do. */
export function remedyFor(error: unknown): string | undefined {
  if (error instanceof JetStreamApiError) return remedies.get(error.code)
  if (error instanceof StartFault || !(error instanceof Error)) return undefined
  return error.cause === undefined ? undefined : remedyFor(error.cause)
}
