/** The part of a nats-server's configuration that Weir needs, for servers that others run. */
import { partitionsMax } from '../wire/partitions.js'
import { accountsConfig } from './nats-access.js'
import { natsAccess } from './nats-users.js'

/** The environment variable of the server that has a user's password. */
const passwordVariable = (user: string): string => `NATS_${user.toUpperCase()}_PASSWORD`

/**
 * The server reads the value of a variable as a part of its configuration: `12` is a number, and to an older one `a,b` is
 * `a`, unless quotation marks belong to the value.
 */
const aboutPasswords = `# Each password is an environment variable of the server, with quotation marks in its value: NATS_API_PASSWORD='"…"'.`

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
  return `${aboutPasswords}\naccounts: ${json.replace(/"(\$NATS_[A-Z]+_PASSWORD)"/g, '$1')}\n`
}
