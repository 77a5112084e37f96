/** Users of NATS by accounts, with their permissions, as a server is configured with them. Their logins are in `logins.ts`. */
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Login } from './logins.js'

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

/** The `accounts` of the server's configuration, where each login of a user has the same permissions. */
export function accountsConfig(
  accounts: NatsAccounts,
  loginsOf: (user: string) => readonly Login[],
): Readonly<Record<string, object>> {
  const config = Object.entries(accounts).map(([name, { users, ...rest }]) => {
    const withPasswords = users.flatMap(({ name: user, permissions }) =>
      loginsOf(user).map((login) => ({
        user: login.name,
        password: login.password,
        ...(permissions === undefined ? {} : { permissions }),
      })),
    )
    return [name, { ...rest, users: withPasswords }]
  })
  return Object.fromEntries(config)
}

/** The names of all users. */
export const usersOf = ({ accounts }: NatsAccess): string[] =>
  Object.values(accounts).flatMap(({ users }) => users.map(({ name }) => name))

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
