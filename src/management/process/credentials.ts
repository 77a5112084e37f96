/**
 * `weir credentials`: names and passwords of users of NATS are replaced while everything runs. A new login is made, and servers
 * take both; programs go over to the new one; the earlier one is dropped, and its connections are closed. The files are
 * those of `nats-server/logins.ts`. `weir serve` looks at them and has its nats-server take what they say. Other servers take
 * what `weir nats-config --credentials` prints, which a person loads.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type LoginUse, usesOfLogins } from '../../delivery/nats-server/login-use.js'
import {
  type LoginStage,
  localNatsDir,
  loginFile,
  newLogin,
  readLogin,
  readUserUrl,
  withLogin,
  writeUserUrl,
} from '../../delivery/nats-server/logins.js'
import { usersOf } from '../../delivery/nats-server/nats-access.js'
import { natsAccess } from '../../delivery/nats-server/nats-users.js'
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { isLoginTaken } from '../../ground/nats/reach.js'
import { tryLock } from './file-lock.mjs'
import { NoAnswer, readRuntime } from './running-service.js'
import type { Settings } from './settings.js'
import { natsFiles } from './tls-files.js'

/**
 * `made`: servers may not know the new login yet; `both`: they take the earlier one, too; `dropping`: they may still do so;
 * `one`: there is no other login.
 */
type State = 'made' | 'both' | 'dropping' | 'one'

interface UserReport extends Partial<LoginUse> {
  readonly user: string
  readonly state: State
  /** Names; null if only servers know it, or there is none. */
  readonly login: string | null
  readonly earlier: string | null
  /** The file with the address. */
  readonly file: string
}

export interface CredentialsReport {
  /** The first of the states above that a user has. */
  readonly state: State
  readonly users: readonly UserReport[]
  readonly msg: string
}

/** `weir serve` looks every second, and a busy machine needs longer. */
const takenWithinMs = 30_000
const againAfterMs = 100

/** For servers that Weir does not run. */
export const ownServersDir = (dataDir: string): string => join(dataDir, 'credentials')

export class Credentials {
  readonly #settings: Settings
  readonly #isLocal: boolean
  readonly #dir: string
  readonly #users: readonly string[]

  /** `user`: only this one. Throws a `StartFault` if there is nothing to replace. */
  constructor(settings: Settings, user?: string) {
    const { nats, data } = settings
    this.#settings = settings
    this.#isLocal = nats.servers === undefined
    this.#dir = this.#isLocal ? localNatsDir(data.dir) : ownServersDir(data.dir)
    const all = usersOf(natsAccess())
    if (user !== undefined && !all.includes(user))
      throw new StartFault(`There is no user "${user}" of NATS: ${all.join(', ')}.`)
    this.#users = user === undefined ? all : [user]
    if ((nats.creds ?? nats.nkey) !== undefined)
      throw new StartFault(
        'Roles log in with a file (WEIR_NATS_CREDS or WEIR_NATS_NKEY), not with a password: replace that file, which is read for each connection.',
      )
    if (this.#isLocal && readRuntime(data.dir) === undefined)
      throw new NoAnswer(
        'No Weir runs on this data directory: start it first, because it runs the nats-server.',
      )
  }

  /** Begins, or goes on with what was begun. `isOffline`: this machine can't ask the servers whether they take new logins. */
  rotate({ isOffline = false } = {}): Promise<CredentialsReport> {
    return this.#alone(async () => {
      for (const user of this.#users) {
        await this.#finishDrop(user)
        if (this.#stateOf(user) === 'one') this.#make(user)
      }
      const made = this.#users.filter((user) => this.#stateOf(user) === 'made')
      if (!isOffline && !(await this.#areTaken(made))) return this.status()
      for (const user of made) this.#use(user)
      return this.status()
    })
  }

  /** From now on servers should refuse the earlier logins. */
  drop(): Promise<CredentialsReport> {
    return this.#alone(async () => {
      const made = this.#users.filter((user) => this.#stateOf(user) === 'made')
      if (made.length > 0)
        throw new StartFault(`No login was dropped. Run weir credentials rotate first: ${made.join(', ')}.`)
      const both = this.#users.filter((user) => this.#stateOf(user) === 'both')
      for (const user of both) renameSync(this.#file(user, 'earlier'), this.#file(user, 'dropped'))
      for (const user of this.#users) await this.#finishDrop(user)
      const report = await this.status()
      return this.#isLocal || both.length === 0 ? report : { ...report, msg: `${load} ${sinceLoaded}` }
    })
  }

  async status(): Promise<CredentialsReport> {
    const states = new Map(this.#users.map((user) => [user, this.#stateOf(user)]))
    const earlier = this.#users.flatMap((user) => readLogin(this.#dir, user, 'earlier')?.name ?? [])
    const uses = this.#isLocal ? await usesOfLogins(this.#dir, earlier) : new Map<string, LoginUse>()
    const users = [...states].map(([user, state]): UserReport => {
      const before = readLogin(this.#dir, user, 'earlier')?.name ?? null
      return {
        user,
        state,
        login: readLogin(this.#dir, user)?.name ?? null,
        earlier: before,
        file: this.#file(user),
        ...(before === null ? {} : uses.get(before)),
      }
    })
    const found = new Set(states.values())
    const state = (['made', 'both', 'dropping'] as const).find((each) => found.has(each)) ?? 'one'
    return { state, users, msg: this.#sentence(state) }
  }

  #sentence(state: State): string {
    if (state === 'one') return 'Each user has one login.'
    if (state === 'dropping') return 'The earlier logins are not dropped yet. Run: weir credentials drop.'
    if (state === 'both')
      return `Earlier logins are good, too. Give programs the addresses in ${join(this.#dir, 'users')}, and then run: weir credentials drop.`
    return this.#isLocal
      ? 'New logins are not in use yet. Run: weir credentials rotate.'
      : `Servers do not take all of the new logins yet. ${load} Then run weir credentials rotate again.`
  }

  #stateOf(user: string): State {
    const has = (stage: LoginStage): boolean => existsSync(this.#file(user, stage))
    if (has('next')) return 'made'
    if (has('dropped')) return 'dropping'
    return has('earlier') ? 'both' : 'one'
  }

  #file(user: string, stage?: LoginStage): string {
    return loginFile(this.#dir, user, stage)
  }

  /** The addresses in use. A login that was never replaced is known to servers of others only, by the name of the user. */
  #addressOf(user: string): string {
    const stored = readUserUrl(this.#dir, user)
    if (stored !== undefined) return stored
    const hosts = (this.#settings.nats.servers ?? []).map((server) => server.replace(/(^|\/\/)[^/@]*@/, '$1'))
    return withLogin(hosts.join(','), { name: user, password: '' })
  }

  #make(user: string): void {
    const login = newLogin(user, readLogin(this.#dir, user)?.name ?? user)
    writeUserUrl(this.#dir, user, withLogin(this.#addressOf(user), login), 'next')
  }

  /** The new login is the one in use, the other the earlier one. It may be repeated after an interruption at any step. */
  #use(user: string): void {
    const next = readLogin(this.#dir, user, 'next')
    if (next === undefined)
      throw new StartFault(`${this.#file(user, 'next')} is damaged: delete it, and begin again.`)
    const address = this.#addressOf(user)
    if (readLogin(this.#dir, user)?.name !== next.name) writeUserUrl(this.#dir, user, address, 'earlier')
    writeUserUrl(this.#dir, user, withLogin(address, next))
    rmSync(this.#file(user, 'next'))
  }

  /** Waits until the local server refuses a login that is to be dropped. */
  async #finishDrop(user: string): Promise<void> {
    const login = readLogin(this.#dir, user, 'dropped')
    if (login !== undefined && this.#isLocal) {
      const address = withLogin(this.#addressOf(user), login)
      if (!(await this.#within(async () => !(await this.#isTaken(address)))))
        throw new StartFault(this.#unheard('still takes a login that was dropped'))
    }
    rmSync(this.#file(user, 'dropped'), { force: true })
  }

  async #areTaken(users: readonly string[]): Promise<boolean> {
    for (const user of users) {
      const address = readUserUrl(this.#dir, user, 'next') ?? ''
      if (!this.#isLocal && !(await this.#isTaken(address).catch(unasked))) return false
      if (this.#isLocal && !(await this.#within(() => this.#isTaken(address))))
        throw new StartFault(this.#unheard('does not take the new logins'))
    }
    return true
  }

  #unheard(what: string): string {
    return `The local nats-server ${what}: ${join(this.#dir, 'server.log')} may say why. Earlier versions of Weir do not look for them. Run the command again.`
  }

  /** By all of the servers. */
  async #isTaken(addresses: string): Promise<boolean> {
    const [first = '', ...others] = addresses.split(',')
    const { username: name, password } = new URL(first)
    const files = { ...natsFiles(this.#settings.nats), url: undefined }
    for (const server of [first, ...others.map((other) => withLogin(other, { name, password }))]) {
      const options = { servers: [server], files, name: 'weir credentials', replicas: 1, isUpNow: true }
      if (!(await isLoginTaken(options))) return false
    }
    return true
  }

  /** A server that is just restarted counts as one that does not do it yet. */
  async #within(holds: () => Promise<boolean>): Promise<boolean> {
    const begunMs = monotonicMs()
    while (!(await holds().catch(() => false))) {
      if (monotonicMs() - begunMs > takenWithinMs) return false
      await sleep(againAfterMs)
    }
    return true
  }

  /** Two of these commands at a time would each make logins. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    const lock = tryLock(join(this.#dir, 'credentials.lock'))
    if (!lock.held) throw new StartFault(`Process ${lock.holderPid} is at it: wait for its end.`)
    try {
      return await work()
    } finally {
      lock.release()
    }
  }
}

const load =
  'Load what "weir nats-config --credentials" prints into every nats-server (nats-server --signal reload).'
const sinceLoaded = 'Since then, earlier logins are refused, and their connections closed.'

function unasked(error: unknown): never {
  throw new StartFault(
    `Whether every nats-server takes the new logins is unknown: ${messageOf(error)}. They are made, and not in use. From a machine that can't reach the servers, use --offline.`,
  )
}
