/**
 * Sessions of the web console, in a bucket of their own: each stands for the API key that signed in.
 *
 * The browser has a random token. Only its hash is stored, with what it stands for, sealed with the key of the deployment:
 * an entry that another program wrote into the bucket is no session. Every API process follows the bucket, so a request
 * costs no call; a session that is not known yet, because another process has just begun it, is read once.
 */

import { sessionsBucket } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { every, now, randomToken, type Timer, within } from '../../ground/core/clock.js'
import { deferred, type Soon } from '../../ground/core/concurrency.js'
import { messageOf, unavailable } from '../../ground/core/errors.js'
import { hashToken } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Sealer } from '../../ground/core/seal.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Bucket, BucketEntry } from '../../ground/nats/bucket.js'
import { BucketFollower, type Pass } from '../../ground/nats/bucket-follower.js'
import type { Nats } from '../../ground/nats/nats.js'
import { expiryOf } from '../../words/resource/api-key.js'
import type { Row } from '../../words/resource/kind/define.js'

export const sessionLifetimeMs = 8 * 60 * 60_000

interface SessionBounds {
  /** Sessions of one key; another one ends the oldest. */
  readonly perKeyMax: number
  /** Sessions of one account, which may have any number of keys; another one ends the oldest. */
  readonly perAccountMax: number
  /**
   * Sessions of the deployment, with some 500 bytes of memory each; another one ends the oldest of the account with the
   * most.
   */
  readonly max: number
}

const boundsDefault: SessionBounds = { perKeyMax: 50, perAccountMax: 1_000, max: 20_000 }

/** Some 400 bytes for each session, and less for the mark of one that has ended. */
const bucketBytesMax = 16 * 1024 * 1024
/** A call of the bucket is retried for so long: a person waits. */
const patienceMs = 5_000
const sweepEveryMs = 60_000
/** 256 bits. */
const tokenBytes = 32
const tokenForm = /^[\w-]{43}$/
/** Tokens of no session, which are not read again for a while: a page may send its last one several times. */
const unknownMax = 1_000

export interface Session {
  /** The hash of the token: its key in the bucket. */
  readonly hash: string
  readonly keyId: string
  readonly accountId: string
  readonly createdMs: number
  readonly expiresMs: number
}

interface SessionsOptions {
  /** Creates it if NATS has lost it. */
  readonly bucket: () => Promise<Bucket>
  readonly sealer: Pick<Sealer, 'seal' | 'unseal' | 'isCurrent'>
  readonly occurrences: Pick<Occurrences, 'sessionForeign' | 'sessionsUnswept'>
  /** Is it certain that there is no such key? */
  readonly isDeleted: (keyId: string) => boolean
  readonly bounds?: SessionBounds
}

export class Sessions {
  readonly #options: SessionsOptions
  readonly #bounds: SessionBounds
  readonly #known = new Map<string, Session>()
  /**
   * Hashes of sessions that ended here, until the bucket's entries say so, too: one that was stored before may still arrive.
   */
  readonly #ended = new Set<string>()
  /** Hashes of sessions that are being stored here: they count when they are. */
  readonly #beginning = new Set<string>()
  readonly #reading = new Map<string, Promise<Session | undefined>>()
  readonly #unknown = new Set<string>()
  readonly #timer: Timer
  #follower: BucketFollower | undefined

  constructor(options: SessionsOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? boundsDefault
    this.#timer = every(sweepEveryMs, () => this.sweep())
  }

  /** Resolves when the sessions in the bucket are known. */
  async follow(bucket: Bucket): Promise<void> {
    const whenRead = deferred()
    this.#follower = new BucketFollower(bucket, { begin: () => this.#pass(bucket, () => whenRead.resolve()) })
    await this.#follower.open()
    await whenRead.promise
  }

  /** When all entries of a bucket were read, sessions of before that are missing have ended, or their bucket is lost. */
  #pass(bucket: Bucket, whenRead: () => void): Pass {
    const before = new Set(this.#known.keys())
    return {
      entry: (entry) => {
        before.delete(entry.key)
        this.#take(entry, bucket)
      },
      current: () => {
        for (const hash of before) this.#known.delete(hash)
        before.clear()
        this.#ended.clear()
        whenRead()
      },
    }
  }

  /** A new session for this key. The token is for the browser alone. */
  async begin(key: Row): Promise<{ readonly token: string; readonly session: Session }> {
    const token = randomToken(tokenBytes)
    const createdMs = now()
    const keyEndsMs = Date.parse(expiryOf(key) ?? '')
    const endsMs = createdMs + sessionLifetimeMs
    const session: Session = {
      hash: hashToken(token),
      keyId: key.id,
      accountId: key.account_id,
      createdMs,
      expiresMs: Number.isNaN(keyEndsMs) ? endsMs : Math.min(endsMs, keyEndsMs),
    }
    const bucket = await this.#bucket()
    const { hash, ...sealed } = session
    this.#beginning.add(hash)
    try {
      await bucket.put(hash, this.#options.sealer.seal(JSON.stringify(sealed), ownerOf(hash)))
    } finally {
      this.#beginning.delete(hash)
    }
    this.#known.set(hash, session)
    // Chosen and forgotten in one turn: of several that begin at the same time, each ends others.
    const excess = this.#excess(session)
    for (const old of excess) this.#forget(old.hash)
    for (const old of excess) await this.#remove(bucket, old)
    return { token, session }
  }

  /**
   * The sessions that end because this one has begun. An account that fills the deployment ends its own, not those of
   * others.
   */
  #excess({ keyId, accountId }: Session): Session[] {
    const { perKeyMax, perAccountMax, max } = this.#bounds
    const all = [...this.#known.values()].filter(({ hash }) => !this.#beginning.has(hash))
    const ofKey = all.filter((each) => each.keyId === keyId)
    const ended = new Set(oldestOf(ofKey, ofKey.length - perKeyMax))
    const ofAccount = all.filter((each) => each.accountId === accountId && !ended.has(each))
    for (const each of oldestOf(ofAccount, ofAccount.length - perAccountMax)) ended.add(each)
    const left = all.filter((each) => !ended.has(each))
    if (left.length > max)
      for (const each of oldestOf(ofLargestAccount(left), left.length - max)) ended.add(each)
    return [...ended]
  }

  /** The session with this token, if it lasts: a promise only if this process does not know it. */
  find(token: string): Soon<Session | undefined> {
    if (!tokenForm.test(token)) return undefined
    const hash = hashToken(token)
    const known = this.#known.get(hash)
    if (known !== undefined) return this.isOver(known) ? undefined : known
    if (this.#unknown.has(hash)) return undefined
    return getOrMake(this.#reading, hash, () => this.#read(hash).finally(() => this.#reading.delete(hash)))
  }

  /** Does this process know, or know not to exist, the session with this token? */
  knows(token: string): boolean {
    const hash = hashToken(token)
    return this.#known.has(hash) || this.#unknown.has(hash)
  }

  async #read(hash: string): Promise<Session | undefined> {
    const bucket = await this.#bucket()
    const entry = await bucket.get(hash)
    if (entry !== undefined) this.#take(entry, bucket)
    const found = this.#known.get(hash)
    if (found !== undefined) return this.isOver(found) ? undefined : found
    // A token is random: one that means nothing now will never mean anything.
    this.#unknown.add(hash)
    if (this.#unknown.size > unknownMax) this.#unknown.delete(this.#unknown.values().next().value!)
    return undefined
  }

  /** Has it ended, as far as this process knows? */
  isOver(session: Session): boolean {
    return session.expiresMs <= now() || !this.#known.has(session.hash)
  }

  /** Seals again what an earlier key sealed, or only counts it. Resolves with how many there were. */
  async reseal(isDry: boolean): Promise<number> {
    const { sealer } = this.#options
    const bucket = await this.#bucket()
    let count = 0
    for (const hash of [...this.#known.keys()]) {
      const entry = await bucket.get(hash)
      if (entry?.value === undefined) continue
      const sealed = Buffer.from(entry.value).toString('latin1')
      if (sealer.isCurrent(sealed, ownerOf(hash))) continue
      count += 1
      const text = sealer.unseal(sealed, ownerOf(hash))
      // If another process wrote meanwhile, the next look finds what is there.
      if (!isDry) await bucket.replace(hash, sealer.seal(text, ownerOf(hash)), entry.revision)
    }
    return count
  }

  async end(session: Session): Promise<void> {
    await this.#remove(await this.#bucket(), session)
  }

  async #bucket(): Promise<Bucket> {
    try {
      return await within(patienceMs, this.#options.bucket(), 'It took too long.')
    } catch (error) {
      throw unavailable('NATS, which has the sessions, does not answer.', error)
    }
  }

  /** Here at once; in other processes when they read the mark. */
  async #remove(bucket: Bucket, { hash }: Session): Promise<void> {
    this.#forget(hash)
    const entry = await bucket.get(hash)
    if (entry?.value === undefined) this.#ended.delete(hash)
    else await bucket.remove(hash, entry.revision)
  }

  #forget(hash: string): void {
    this.#known.delete(hash)
    this.#ended.add(hash)
  }

  /** Forgets sessions that are over, and removes those of deleted keys. */
  async sweep(): Promise<void> {
    for (const session of this.#known.values())
      if (session.expiresMs <= now()) this.#known.delete(session.hash)
    const orphans = [...this.#known.values()].filter(({ keyId }) => this.#options.isDeleted(keyId))
    if (orphans.length === 0) return
    try {
      const bucket = await this.#bucket()
      for (const orphan of orphans) await this.#remove(bucket, orphan)
    } catch (error) {
      this.#options.occurrences.sessionsUnswept({ reason: messageOf(error), sessions: orphans.length })
    }
  }

  #take(entry: BucketEntry, bucket: Bucket): void {
    const { key } = entry
    if (entry.value === undefined) {
      this.#known.delete(key)
      this.#ended.delete(key)
      return
    }
    if (this.#ended.has(key)) return
    const session = this.#opened(entry, bucket)
    if (session !== undefined && session.expiresMs > now()) this.#known.set(key, session)
  }

  /** Undefined if no API of this deployment has sealed the entry. */
  #opened(entry: BucketEntry, bucket: Bucket): Session | undefined {
    const { key: hash } = entry
    return bucket.decoded(entry, (value) => {
      try {
        const text = this.#options.sealer.unseal(Buffer.from(value).toString('latin1'), ownerOf(hash))
        return { hash, ...jsonOf<Omit<Session, 'hash'>>(Buffer.from(text)) }
      } catch (error) {
        this.#options.occurrences.sessionForeign({ reason: messageOf(error) })
        throw error
      }
    })
  }

  async close(): Promise<void> {
    this.#timer.stop()
    this.#follower?.close()
  }
}

const ownerOf = (hash: string): string => `session ${hash}`

const oldestOf = (sessions: readonly Session[], count: number): Session[] =>
  count <= 0 ? [] : sessions.toSorted((a, b) => a.createdMs - b.createdMs).slice(0, count)

function ofLargestAccount(sessions: readonly Session[]): Session[] {
  const byAccount = new Map<string, Session[]>()
  for (const session of sessions) getOrMake(byAccount, session.accountId, () => []).push(session)
  return [...byAccount.values()].reduce((most, each) => (each.length > most.length ? each : most))
}

/** For the API, which creates the bucket, and creates it again if NATS has lost it. `bytesMax`: of any small bucket. */
export async function openSessions(
  nats: Pick<Nats, 'openBucket'>,
  bytesMax: number,
  options: Omit<SessionsOptions, 'bucket'>,
): Promise<Sessions> {
  const limits = { patienceMs, ageMaxMs: sessionLifetimeMs }
  // Key uses and sessions share the room of one bucket (`wire/streams.ts`).
  const bucket = () =>
    nats.openBucket(sessionsBucket, Math.min(Math.floor(bytesMax / 2), bucketBytesMax), limits)
  const sessions = new Sessions({ ...options, bucket })
  await sessions.follow(await bucket())
  return sessions
}
