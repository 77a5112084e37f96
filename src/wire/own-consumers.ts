/** What pipelines and deliverers tell deliverers about the consumers of destinations. */
import { jsonOf } from '../core/bytes.js'
import { type Partition, partitionNumbered } from './partitions.js'

/** A message on `ownConsumersSubject`: packs of a destination come to a consumer of its own in this partition. */
export interface OwnConsumerNotice {
  readonly destination: string
  readonly partition: Partition
}

export const formatNotice = ({ destination, partition }: OwnConsumerNotice): string =>
  JSON.stringify({ destination, partition: partition.number })

/** Undefined if it is none: what is missed is found in the streams. */
export function parseNotice(data: Uint8Array): OwnConsumerNotice | undefined {
  try {
    const { destination, partition } = jsonOf<Record<string, unknown>>(data)
    const place = partitionNumbered(partition as number)
    return typeof destination !== 'string' || place === undefined
      ? undefined
      : { destination, partition: place }
  } catch {
    return undefined
  }
}
