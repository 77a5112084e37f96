/** A sender of the kind `file`, without the rest of Weir. */
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { Sender } from '../../../src/delivery/deliver/kind/sender.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'

export const fileConfig = (options: object = {}, name = 'events.ndjson'): DestinationConfig => ({
  id: 'ed_file',
  accountId: 'ac_test',
  kind: 'file',
  address: name,
  options: { ...options },
})

/** `directory`: the operator's; undefined if it is not set. */
export const openFile = (
  directory: string | undefined,
  options: object = {},
  name?: string,
  spaceBytesMax?: number,
): Sender =>
  openSender(fileConfig(options, name), {
    aws: {},
    clock: new AwsClock(),
    requestTimeoutMs: 60_000,
    networks: new ReachableNetworks(),
    kinds: { file: { requestBytesMax: 4 * 1024 * 1024, directory, spaceBytesMax } },
  })
