/** The part of a nats-server's configuration that Weir needs, for servers that others run. */
import { partitionsMax } from '../wire/partitions.js'
import { type Login, loginsOf, readLogin } from './logins.js'
import { accountsConfig } from './nats-access.js'
import { natsAccess } from './nats-users.js'

/** The environment variable of the server that has a user's password. */
const passwordVariable = (user: string): string => `NATS_${user.toUpperCase()}_PASSWORD`

/**
 * The server reads the value of a variable as a part of its configuration: `12` is a number, and to an older one `a,b` is
 * `a`, unless quotation marks belong to the value.
 */
const aboutPasswords = `# Each password is an environment variable of the server, with quotation marks in its value: NATS_API_PASSWORD='"…"'.`

/** A file with passwords is not for everyone. */
const withPasswords = '# This holds passwords: only nats-server and you may read it.'

/**
 * The block `accounts`, in the server's own format. `existing`: how many partitions have streams. Throws for an impossible
 * number of them. `dir`: the directory of logins, which are then in the block; default: passwords are variables.
 */
export function natsConfig(partitions: number, existing: number, dir?: string): string {
  if (!Number.isInteger(existing) || existing < partitions || existing > partitionsMax)
    throw new Error(`--draining must be a number from WEIR_PARTITIONS, ${partitions}, to ${partitionsMax}.`)
  const { accounts } = natsAccess(partitions, existing)
  const json = JSON.stringify(
    accountsConfig(accounts, (user) => loginsIn(dir, user)),
    null,
    2,
  )
  // The server takes a variable only without quotation marks.
  const block = `accounts: ${json.replace(/"(\$NATS_[A-Z]+_PASSWORD)"/g, '$1')}\n`
  const head = [dir === undefined ? [] : withPasswords, block.includes('$NATS_') ? aboutPasswords : []].flat()
  return [...head, block].join('\n')
}

/** A password that was never replaced is a variable. */
function loginsIn(dir: string | undefined, user: string): readonly Login[] {
  const variable = `$${passwordVariable(user)}`
  const before = { name: user, password: variable }
  const found =
    dir === undefined
      ? []
      : loginsOf(dir, user).map((login) => ({ ...login, password: login.password || variable }))
  const isBegun = dir !== undefined && readLogin(dir, user) === undefined
  return found.length === 0 || isBegun ? [before, ...found] : found
}
