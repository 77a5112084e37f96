/**
 * Logins of users of NATS, in files that only their owner can read. `users/<user>` is the address with the login in use. There
 * are more while that is being replaced:
 *
 *     <user>.next      a new one, to be in use as soon as the server takes it
 *     <user>.earlier   the one before, which the server takes until it is dropped
 *     <user>.dropped   one that the server has been told to refuse
 *
 * A server has one password for each name, so a user has two names in turn. Each step writes or renames one file, so that a
 * replacement that was interrupted can be finished.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { every, randomToken, type Timer } from '../../ground/core/clock.js'
import { serverUrl } from '../../ground/nats/login-files.js'
import { readIfPresent, writeWhole } from './files.js'

export interface Login {
  readonly name: string
  /** Empty: only the server knows it, from a variable. */
  readonly password: string
}

export type LoginStage = 'next' | 'earlier' | 'dropped'

const passwordBytes = 24

/** The directory of the local server. */
export const localNatsDir = (dataDir: string): string => join(dataDir, 'nats')

/** `dir`: that of the server. */
export const loginFile = (dir: string, user: string, stage?: LoginStage): string =>
  join(dir, 'users', stage === undefined ? user : `${user}.${stage}`)

/** The address in the file of a login; undefined if there is none. */
export const readUserUrl = (dir: string, user: string, stage?: LoginStage): string | undefined =>
  readIfPresent(loginFile(dir, user, stage))

/** Undefined if there is no such file, or none that is of use. */
export function readLogin(dir: string, user: string, stage?: LoginStage): Login | undefined {
  const [address = ''] = (readUserUrl(dir, user, stage) ?? '').split(',')
  if (!URL.canParse(address)) return undefined
  const { username: name, password } = new URL(address)
  return namesOf(user).includes(name) ? { name, password } : undefined
}

/** Writes an address atomically. */
export function writeUserUrl(dir: string, user: string, url: string, stage?: LoginStage): void {
  mkdirSync(join(dir, 'users'), { recursive: true, mode: 0o700 })
  writeWhole(loginFile(dir, user, stage), `${url}\n`)
}

const namesOf = (user: string): readonly [string, string] => [user, `${user}_b`]

/** A new login, by the name that the one in use does not have. */
export const newLogin = (user: string, inUse: string | undefined): Login => {
  const [first, second] = namesOf(user)
  return { name: inUse === first ? second : first, password: randomToken(passwordBytes) }
}

/** The logins that the server should take, the one in use first. */
export function loginsOf(dir: string, user: string): readonly Login[] {
  // In the order in which a rotation moves them, each written before it is removed: none is missed that is moved meanwhile.
  const next = readLogin(dir, user, 'next')
  const inUse = readLogin(dir, user)
  const earlier = readLogin(dir, user, 'earlier')
  const found = [inUse, next, earlier].filter((login) => login !== undefined)
  return [...new Map(found.toReversed().map((login) => [login.name, login])).values()].toReversed()
}

/** The same addresses, separated by commas, with this login in the first one, whose login counts for all. */
export function withLogin(addresses: string, { name, password }: Login): string {
  const [first = '', ...others] = addresses.split(',')
  const url = new URL(serverUrl(first))
  url.username = name
  url.password = password
  return [url.href, ...others].join(',')
}

const lookEveryMs = 1_000

/** The logins that the local nats-server takes: those in files, and a new one for a user without any. */
export class LocalLogins {
  readonly #dir: string
  /** A login for each user, if there is no file. */
  readonly #made: ReadonlyMap<string, Login>
  #looking: Timer | undefined
  #taken: ReadonlyMap<string, readonly Login[]> = new Map()

  /** `dir`: that of the server. */
  constructor(dir: string, users: readonly string[]) {
    this.#dir = dir
    this.#made = new Map(users.map((user) => [user, newLogin(user, undefined)]))
    this.read()
  }

  /** Reads the files. Has anything changed? */
  read(): boolean {
    const before = JSON.stringify([...this.#taken])
    this.#taken = new Map([...this.#made].map(([user, made]) => [user, this.#found(user) ?? [made]]))
    return JSON.stringify([...this.#taken]) !== before
  }

  #found(user: string): readonly Login[] | undefined {
    const found = loginsOf(this.#dir, user).filter(({ password }) => password !== '')
    return found.length === 0 ? undefined : found
  }

  of(user: string): readonly Login[] {
    return this.#taken.get(user) ?? []
  }

  /** Calls now and then, until `close`, so that the server takes what has changed. */
  watch(look: () => void): void {
    this.#looking = every(lookEveryMs, look)
  }

  close(): void {
    this.#looking?.stop()
  }

  /** With the login in use. */
  addressOf(user: string, port: number): string {
    return withLogin(`nats://127.0.0.1:${port}`, this.of(user)[0]!)
  }

  /** Writes the addresses with the logins in use. */
  write(port: number): void {
    this.read()
    for (const user of this.#made.keys()) writeUserUrl(this.#dir, user, this.addressOf(user, port))
  }
}
