/** Packs that no pipeline wrote, or that are damaged: what can be read of them is sent. */
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { Pack } from '../wire/pack.js'
import type { Partition } from '../wire/partitions.js'

interface MalformedDeps {
  readonly nats: Pick<Nats, 'damaged'>
  readonly occurrences: Pick<Occurrences, 'packLineMalformed'>
}

export function reportMalformed(
  { nats, occurrences }: MalformedDeps,
  destination_id: string,
  {
    deliveriesStream: stream,
    message,
  }: Pick<Partition, 'deliveriesStream'> & { readonly message: PulledMessage },
  { events, malformed }: Pack,
): void {
  if (malformed.length === 0 && events.length > 0) return
  for (const { line, reason } of malformed) occurrences.packLineMalformed({ destination_id, line, reason })
  const error = new Error(malformed[0]?.reason ?? 'The pack holds no event.')
  nats.damaged.report({ stream, sequence: message.sequence }, message.data, error)
}
