/** The packs that wait for a destination, in each partition. */

import type { Nats } from '../../ground/nats/nats.js'
import type { LedgerWriter } from '../books/ledger.js'
import { deliverySubject, type Partition, type PartitionSet, packPlaces } from '../wire/partitions.js'

export interface BacklogDeps {
  readonly nats: Pick<Nats, 'nextMessage' | 'consumerInfo' | 'deleteConsumer' | 'purgeSubject'>
  readonly ledger: Pick<LedgerWriter, 'write'>
  readonly partitions: Pick<PartitionSet, 'all'>
}

/**
 * Removes a deleted destination's backlog and its own consumers; false if there was neither. Packs of the shared consumer
 * stay: if they were purged, the server could forget which packs of other destinations the consumer has delivered. The
 * deliverers that get them drop them.
 */
export async function dropBacklog(deps: BacklogDeps, destinationId: string): Promise<boolean> {
  let isDropped = false
  for (const partition of deps.partitions.all)
    if (await dropFrom(partition, deps, destinationId)) isDropped = true
  return isDropped
}

async function dropFrom(
  partition: Partition,
  { nats, ledger }: BacklogDeps,
  destinationId: string,
): Promise<boolean> {
  const { deliveriesStream } = partition
  const places = packPlaces(partition, destinationId)
  const waiting = await Promise.all(places.map(({ subject }) => nats.nextMessage(deliveriesStream, subject)))
  const consumer = await nats.consumerInfo(deliveriesStream, destinationId)
  if (consumer === undefined && waiting.every((pack) => pack === undefined)) return false
  // Recorded first: after a crash, leftover messages are found again, but a missing entry of the books is not.
  await ledger.write([{ type: 'dropped', destination: destinationId }])
  await nats.deleteConsumer(deliveriesStream, destinationId)
  await nats.purgeSubject(deliveriesStream, deliverySubject(partition, destinationId))
  return true
}
