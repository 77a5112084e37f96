/** Which packs wait in the stream of a partition, as its server says: no consumer is asked, and no pack read. */
import type { Nats } from '../../ground/nats/nats.js'
import { allPacks, type PackPlace, type Partition, placeOfSubject } from './partitions.js'

/** A place that has packs, and how many. */
interface WaitingPacks extends PackPlace {
  readonly packs: number
}

export async function waitingPacks(
  nats: Pick<Nats, 'subjectCounts'>,
  { deliveriesStream }: Partition,
): Promise<readonly WaitingPacks[]> {
  const counts = await nats.subjectCounts(deliveriesStream, allPacks)
  return Object.entries(counts).map(([subject, packs]) => ({ ...placeOfSubject(subject), packs }))
}
