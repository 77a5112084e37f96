/** The streams and subjects of a deployment with one partition, which is what most tests use. */
import {
  deliverySubject as deliverySubjectOf,
  partitionNumbered,
} from '../../src/delivery/wire/partitions.js'

export { recordsSubjects } from '../../src/delivery/wire/partitions.js'

const first = partitionNumbered(0)!

export const recordsStream = first.recordsStream
export const deliveriesStream = first.deliveriesStream
export const deliverySubject = (destinationId: string): string => deliverySubjectOf(first, destinationId)

/** Each destination has a consumer of its own, as in a small deployment. */
export const allBusy = { hasNext: () => true }
