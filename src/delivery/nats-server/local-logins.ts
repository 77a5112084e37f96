/** The logins that the local nats-server takes: those in files, and a new one for a user without any. */
import { every, type Timer } from '../../ground/core/clock.js'
import { type Login, loginsOf, newLogin, withLogin, writeUserUrl } from './logins.js'

const lookEveryMs = 1_000

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
