/** Stores packs in the stream of their partition, and enters them in the ledger. */

import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { Patience } from '../../ground/nats/retry.js'
import { packHeaders } from '../wire/names.js'
import type { PackSummary } from '../wire/pack.js'
import { firstStoredAtMs, packMessage } from '../wire/pack-message.js'
import { deliverySubject, type Partition, sharedSubject } from '../wire/partitions.js'
import type { LedgerEntry, PackContents, PackEntry } from './ledger.js'

/** A full pack, and the input that its events come from. */
export interface FinishedPack {
  readonly destination: string
  readonly partition: Partition
  /** Is it for the consumer that idle destinations share, rather than for the destination's own? */
  readonly isShared: boolean
  readonly bytes: Uint8Array
  readonly origin: Pick<PackContents, 'stream' | 'since' | 'segments'>
  readonly summary: PackSummary
  /** The header that names the traces which go on in it. */
  readonly traces?: string | undefined
}

/** Publishes a pack and enters it, even if it was stored already: its first entry may be lost. */
export async function storePack(
  nats: Pick<Nats, 'publish'>,
  { destination, partition, isShared, bytes, origin, summary, traces }: FinishedPack,
  patience: Patience,
  enter: (entries: readonly LedgerEntry[]) => Promise<void>,
): Promise<void> {
  const { events, ...held } = summary
  const { msgId, headers } = packMessage(destination, bytes, events, origin, traces)
  const subject = isShared ? sharedSubject(partition, destination) : deliverySubject(partition, destination)
  const options = { msgId, headers, storedBy: partition.deliveriesStream, ...patience }
  const { sequence } = await nats.publish(subject, bytes, options)
  const place = placeOf(partition, sequence)
  await enter([{ type: 'pack', destination, pack: msgId, ...origin, ...place, ...held }])
}

/** Stores a pack of the shared consumer again, for its destination's own, and enters its new place. */
export async function storeAgain(
  nats: Pick<Nats, 'publish'>,
  { contents, partition, message }: MovedPack,
  patience: Patience,
  enter: (entries: readonly LedgerEntry[]) => Promise<void>,
): Promise<void> {
  const { destination, pack, stream, since, segments } = contents
  const traces = message.headers?.get(packHeaders.traces)
  const headers = {
    [packHeaders.pack]: pack,
    [packHeaders.storedAt]: String(firstStoredAtMs(message)),
    [packHeaders.events]: message.headers?.get(packHeaders.events) ?? '',
    [packHeaders.stream]: stream,
    [packHeaders.since]: since,
    [packHeaders.segments]: segments,
    ...(traces && { [packHeaders.traces]: traces }),
  }
  // The stream knows the pack's own id, and would not store it a second time.
  const options = { msgId: `${pack}.own`, headers, storedBy: partition.deliveriesStream, ...patience }
  const { sequence } = await nats.publish(deliverySubject(partition, destination), message.data, options)
  await enter([{ type: 'pack', ...contents, ...placeOf(partition, sequence) }])
}

/** A pack that leaves the shared consumer. */
interface MovedPack {
  readonly contents: PackContents
  readonly partition: Partition
  readonly message: PulledMessage
}

const placeOf = ({ number }: Partition, sequence: number): Pick<PackEntry, 'sequence' | 'partition'> => ({
  sequence,
  ...(number > 0 && { partition: number }),
})
