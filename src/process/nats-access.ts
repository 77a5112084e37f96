/**
 * Users of the local nats-server: accounts, permissions and passwords. Each user's address, password included, is
 * a file of its own in the data directory, which its owner alone can read; passwords stay the same from start to start.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { randomToken } from '../core/clock.js'
import { writeWhole } from './nats-files.js'

/** Subjects, in the words of the server's configuration. */
export interface NatsPermissions {
  readonly publish: { readonly allow: readonly string[] }
  readonly subscribe: { readonly allow: readonly string[] }
  /** May publish one answer to each question it hears. */
  readonly allow_responses?: true
}

export interface NatsUser {
  readonly name: string
  /** Without them, a user may do everything within its account. */
  readonly permissions?: NatsPermissions
}

export interface NatsAccount {
  readonly jetstream?: 'enabled'
  readonly users: readonly NatsUser[]
  readonly exports?: readonly { readonly service: string; readonly accounts: readonly string[] }[]
  readonly imports?: readonly { readonly service: { readonly account: string; readonly subject: string } }[]
}

export type NatsAccounts = Readonly<Record<string, NatsAccount>>

export interface NatsAccess {
  readonly accounts: NatsAccounts
  /** The account whose streams are in the store. */
  readonly streamsOf: string
}

const passwordBytes = 24

/** The `accounts` of the server's configuration. */
export function accountsConfig(accounts: NatsAccounts, passwordOf: (user: string) => string): object {
  const config = Object.entries(accounts).map(([name, { users, ...rest }]) => {
    const withPassword = users.map(({ name: user, permissions }) => ({
      user,
      password: passwordOf(user),
      ...(permissions === undefined ? {} : { permissions }),
    }))
    return [name, { ...rest, users: withPassword }]
  })
  return Object.fromEntries(config)
}

const usersDir = (dir: string): string => join(dir, 'users')

/** The address of a user as it was written last; undefined if there is none. `dir`: that of the server. */
export function readUserUrl(dir: string, user: string): string | undefined {
  try {
    return readFileSync(join(usersDir(dir), user), 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The password of a user: the one it had, or a new one. */
export const passwordOf = (dir: string, user: string): string =>
  passwordIn(readUserUrl(dir, user)) ?? randomToken(passwordBytes)

function passwordIn(url: string | undefined): string | undefined {
  const password = url === undefined || !URL.canParse(url) ? '' : new URL(url).password
  return password === '' ? undefined : password
}

/** Leaves the addresses of the users in files, each written whole. */
export function writeUserUrls(dir: string, urls: ReadonlyMap<string, string>): void {
  mkdirSync(usersDir(dir), { recursive: true, mode: 0o700 })
  for (const [user, url] of urls) writeWhole(join(usersDir(dir), user), `${url}\n`)
}

/** Streams of a store that was made before there were users lie under the account of a server without any. */
export function moveStore(storeDir: string, account: string): void {
  const before = join(storeDir, 'jetstream', '$G')
  const after = join(storeDir, 'jetstream', account)
  if (existsSync(before) && !existsSync(after)) renameSync(before, after)
}
