import type { StoredMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { deliveriesStream, deliverySubject } from '../wire/names.js'

/** The oldest pack that is not delivered: a killed server leaves some below the floor that were. */
export async function oldestPack(
  nats: Pick<Nats, 'consumerInfo' | 'nextMessage'>,
  id: string,
): Promise<StoredMessage | undefined> {
  const consumer = await nats.consumerInfo(deliveriesStream, id)
  return nats.nextMessage(deliveriesStream, deliverySubject(id), (consumer?.ackFloor ?? 0) + 1)
}
