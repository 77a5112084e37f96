/**
 * Users of the local nats-server: accounts, permissions and passwords. Each user's address, including the password, is
 * in a separate file of the data directory, readable only by its owner. Passwords survive restarts.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { randomToken } from '../../ground/core/clock.js'
import { readIfPresent, writeWhole } from './files.js'

/** Permissions by subject, as in the server's configuration. */
interface NatsPermissions {
  readonly publish: { readonly allow: readonly string[] }
  readonly subscribe: { readonly allow: readonly string[] }
}

export interface NatsUser {
  readonly name: string
  /** If missing, the user may do everything within its account. */
  readonly permissions?: NatsPermissions
}

interface NatsAccount {
  readonly jetstream?: 'enabled'
  readonly users: readonly NatsUser[]
  readonly exports?: readonly { readonly service: string; readonly accounts: readonly string[] }[]
  readonly imports?: readonly { readonly service: { readonly account: string; readonly subject: string } }[]
  /** Subjects, and what they are replaced by when a message is published. */
  readonly mappings?: Readonly<Record<string, string>>
}

export type NatsAccounts = Readonly<Record<string, NatsAccount>>

export interface NatsAccess {
  readonly accounts: NatsAccounts
  /** The account that owns the streams in the store. */
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

/** The last written address of a user; undefined if there is none. `dir`: the server's directory. */
export const readUserUrl = (dir: string, user: string): string | undefined =>
  readIfPresent(join(usersDir(dir), user))

/** The existing password of a user, or a new one. */
export const passwordOf = (dir: string, user: string): string =>
  passwordIn(readUserUrl(dir, user)) ?? randomToken(passwordBytes)

function passwordIn(url: string | undefined): string | undefined {
  const password = url === undefined || !URL.canParse(url) ? '' : new URL(url).password
  return password === '' ? undefined : password
}

/** Writes each user's address to a file, atomically. */
export function writeUserUrls(dir: string, urls: ReadonlyMap<string, string>): void {
  mkdirSync(usersDir(dir), { recursive: true, mode: 0o700 })
  for (const [user, url] of urls) writeWhole(join(usersDir(dir), user), `${url}\n`)
}

/** Migrates a store created before users were configured: its streams are in the server's default account. */
export function moveStore(storeDir: string, account: string): void {
  const before = join(storeDir, 'jetstream', '$G')
  const after = join(storeDir, 'jetstream', account)
  if (existsSync(before) && !existsSync(after)) renameSync(before, after)
}

/** The names of the streams in the store of a server that runs or ran on this directory. */
export function storedStreams(dataDir: string, account: string): string[] {
  try {
    return readdirSync(join(dataDir, 'nats', 'store', 'jetstream', account, 'streams'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
