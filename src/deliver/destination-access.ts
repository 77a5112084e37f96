/** How destinations are reached under the settings of a process. */
import { checkRole, requestTimeoutMsDefault } from './aws.js'
import { type DeliverySettings, openSender } from './kinds.js'
import type { DestinationAccess } from './test-event.js'

export function destinationAccess({
  aws,
  destinationKinds: kinds,
}: {
  readonly aws: DeliverySettings['aws']
  readonly destinationKinds: DeliverySettings['kinds']
}): DestinationAccess {
  const delivery = { kinds, aws, requestTimeoutMs: requestTimeoutMsDefault }
  return {
    openSender: (config) => openSender(config, delivery),
    checkRole: (config, signal) => checkRole(config, delivery, signal),
  }
}
