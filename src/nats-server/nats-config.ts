/** The part of a nats-server's configuration that Weir needs, for servers that others run. */
import { partitionsMax } from '../wire/partitions.js'
import { accountsConfig } from './nats-access.js'
import { natsAccess } from './nats-users.js'

/** The environment variable of the server that has a user's password. */
const passwordVariable = (user: string): string => `NATS_${user.toUpperCase()}_PASSWORD`

/**
 * The block `accounts`, in the server's own format. `existing`: how many partitions have streams. Throws for an impossible
 * number of them.
 */
export function natsConfig(partitions: number, existing: number): string {
  if (!Number.isInteger(existing) || existing < partitions || existing > partitionsMax)
    throw new Error(`--draining must be a number from WEIR_PARTITIONS, ${partitions}, to ${partitionsMax}.`)
  const { accounts } = natsAccess(partitions, existing)
  const json = JSON.stringify(
    accountsConfig(accounts, (user) => `$${passwordVariable(user)}`),
    null,
    2,
  )
  // The server takes a variable only without quotation marks.
  return `accounts: ${json.replace(/"(\$NATS_[A-Z]+_PASSWORD)"/g, '$1')}\n`
}
