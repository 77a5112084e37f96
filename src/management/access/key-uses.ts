/**
 * When each API key, tunnel credential and bouncer was used last, and from where, in a bucket of its own.
 *
 * A request costs no write: each process notes uses in memory and writes those of a minute together, the last one of
 * each key. API processes follow the bucket and show the later of their own note and the bucket's entry. A process that
 * is killed loses a minute of uses.
 */

import { keyUseBucket } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { every, isoSeconds, now, type Timer, within } from '../../ground/core/clock.js'
import { eachOf } from '../../ground/core/concurrency.js'
import { messageOf, unavailable } from '../../ground/core/errors.js'
import { keysAtOnceMax } from '../../ground/core/limits.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Bucket, BucketEntry } from '../../ground/nats/bucket.js'
import { EntryFollower } from '../../ground/nats/bucket-follower.js'
import type { Nats } from '../../ground/nats/nats.js'
import { apiKey } from '../../words/resource/api-key.js'
import { bouncer } from '../../words/resource/bouncers/bouncer.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import { tunnelCredential } from '../../words/resource/tunnel-credential.js'

interface KeyUse {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The client's address. */
  readonly from: string
  readonly pulls?: Pulls
}

interface Pulls {
  /** When they were noted, in milliseconds since the epoch. */
  readonly at: number
  readonly last: readonly Pull[]
}

/** An answer to a bouncer. */
export interface Pull {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The version of the account, which also says what the bouncer names. */
  readonly version: number
  /** Later answers, handed to the socket as a whole, that had what has changed since. */
  readonly repeats: number
}

/** Some 250 bytes for each key, and 500 for a bouncer. */
const bucketBytesMax = 16 * 1024 * 1024
const saveEveryMs = 60_000
/** A stop waits so long for the last uses to be written. */
const lastSaveMs = 2_000
/** A call of the bucket is retried for so long. */
const patienceMs = 5_000
/** Entries of keys that do not exist are dropped at this age: a key that another process created may not be known yet. */
const droppedAfterMs = 10 * 60_000

const usedKinds: ReadonlySet<string> = new Set([apiKey.kind, tunnelCredential.kind, bouncer.kind])

interface KeyUsesOptions {
  /** The bucket to write to; undefined while there is none. */
  readonly bucket: () => Promise<Pick<Bucket, 'put' | 'forget'> | undefined>
  readonly occurrences: Pick<Occurrences, 'keyUsesUnsaved'>
  /** Is it certain that there is no such key or credential? Undefined: this process drops no entries. */
  readonly isDeleted?: (keyId: string) => boolean
}

export class KeyUses {
  readonly #options: KeyUsesOptions
  /** By this process, and not yet written. */
  readonly #unsaved = new Map<string, KeyUse>()
  /** Written by this process or another one. */
  readonly #saved = new Map<string, KeyUse>()
  /** The last write of the pulls of each bouncer that is under way. */
  readonly #storing = new Map<string, Promise<void>>()
  readonly #timer: Timer
  #follower: EntryFollower | undefined

  constructor(options: KeyUsesOptions) {
    this.#options = options
    this.#timer = every(saveEveryMs, () => this.save())
  }

  /** Resolves when what is in the bucket is known. */
  async follow(bucket: Bucket): Promise<void> {
    this.#follower = new EntryFollower(bucket, (entry) => this.#take(entry))
    await this.#follower.open()
  }

  note(keyId: string, address: string): void {
    const { pulls } = this.lastUse(keyId) ?? {}
    this.#unsaved.set(keyId, { at: now(), from: address, ...(pulls && { pulls }) })
  }

  /** The answers that a bouncer may have got last, from whichever process. */
  lastPulls(bouncerId: string): readonly Pull[] {
    return this.lastUse(bouncerId)?.pulls?.last ?? []
  }

  /** Resolves when they are stored: other processes go on from there. This one does at once. */
  async notePulls(bouncerId: string, address: string, last: readonly Pull[]): Promise<void> {
    // An entry that is being written must not be the later one.
    const at = Math.max(now(), this.lastUse(bouncerId)?.at ?? 0) + 1
    this.#unsaved.set(bouncerId, { at, from: address, pulls: { at, last } })
    const before = this.#storing.get(bouncerId)
    const storing = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#storePulls(bouncerId))
    this.#storing.set(bouncerId, storing)
    try {
      await storing
    } finally {
      if (this.#storing.get(bouncerId) === storing) this.#storing.delete(bouncerId)
    }
  }

  /** One at a time for each bouncer, so that the last one written is the latest. */
  async #storePulls(bouncerId: string): Promise<void> {
    const use = this.#unsaved.get(bouncerId)
    // Written with those of another call.
    if (use === undefined) return
    const bucket = await this.#options.bucket()
    if (bucket === undefined) throw unavailable('The bucket of the last uses is missing.')
    await this.#write(bucket, bouncerId, use)
  }

  /** The last use that this process knows of. */
  lastUse(keyId: string): KeyUse | undefined {
    return latest(this.#unsaved.get(keyId), this.#saved.get(keyId))
  }

  /** The row of a key or credential with its last use; any other row as it is. */
  shown({ kind }: Pick<AnyResource, 'kind'>, row: Row): Row {
    if (!usedKinds.has(kind)) return row
    const { at, from } = this.lastUse(row.id) ?? {}
    return { ...row, last_used_at: at === undefined ? null : isoSeconds(at), last_used_from: from ?? null }
  }

  /** Writes the uses noted since the last time. Uses that can't be written are tried again the next time. */
  async save(): Promise<void> {
    const dropped = this.#dropped()
    if (this.#unsaved.size + dropped.length === 0) return
    try {
      const bucket = await this.#options.bucket()
      if (bucket === undefined) return
      await eachOf([...this.#unsaved], keysAtOnceMax, ([keyId, use]) => this.#write(bucket, keyId, use))
      await eachOf(dropped, keysAtOnceMax, (keyId) => this.#drop(bucket, keyId))
    } catch (error) {
      this.#options.occurrences.keyUsesUnsaved({ reason: messageOf(error), keys: this.#unsaved.size })
    }
  }

  async #write(bucket: Pick<Bucket, 'put'>, keyId: string, use: KeyUse): Promise<void> {
    const written = latest(use, this.#saved.get(keyId))!
    // Another process may have written a later use.
    if (written !== this.#saved.get(keyId)) {
      await bucket.put(keyId, JSON.stringify(written))
      this.#saved.set(keyId, latest(written, this.#saved.get(keyId))!)
    }
    if (this.#unsaved.get(keyId) === use) this.#unsaved.delete(keyId)
  }

  /** Keys that were deleted a while ago. */
  #dropped(): string[] {
    const { isDeleted = () => false } = this.#options
    const beforeMs = now() - droppedAfterMs
    return [...this.#saved].flatMap(([keyId, { at }]) => (at < beforeMs && isDeleted(keyId) ? [keyId] : []))
  }

  async #drop(bucket: Pick<Bucket, 'forget'>, keyId: string): Promise<void> {
    await bucket.forget(keyId)
    this.#saved.delete(keyId)
  }

  #take({ key, value }: BucketEntry): void {
    const use = value && useIn(value)
    if (use !== undefined) this.#saved.set(key, latest(use, this.#saved.get(key))!)
  }

  async close(): Promise<void> {
    this.#timer.stop()
    await within(lastSaveMs, this.save(), 'NATS did not take them in time.').catch((error: unknown) =>
      this.#options.occurrences.keyUsesUnsaved({ reason: messageOf(error), keys: this.#unsaved.size }),
    )
    this.#follower?.close()
  }
}

/** The later use, with the later pulls: the one who noted that use may not have known of them. */
function latest(use: KeyUse | undefined, other: KeyUse | undefined): KeyUse | undefined {
  if (use === undefined || other === undefined) return use ?? other
  const [later, earlier] = use.at > other.at ? [use, other] : [other, use]
  const isBehind = (earlier.pulls?.at ?? 0) > (later.pulls?.at ?? 0)
  return isBehind ? { ...later, pulls: earlier.pulls! } : later
}

/** The latest time that a date can hold. */
const timeMaxMs = 8_640_000_000_000_000

const isPull = ({ at, version, repeats }: Partial<Pull>): boolean =>
  [at, version, repeats].every((each) => Number.isInteger(each))

const arePulls = (pulls: Partial<Pulls> | undefined): pulls is Pulls =>
  Number.isInteger(pulls?.at) && Array.isArray(pulls?.last) && pulls.last.every(isPull)

/** Throws if the entry is damaged. */
function useIn(value: Uint8Array): KeyUse {
  const { at, from, pulls } = jsonOf<Partial<KeyUse>>(value)
  if (Number.isInteger(at) && Math.abs(at!) <= timeMaxMs && typeof from === 'string')
    return { at: at!, from, ...(arePulls(pulls) && { pulls }) }
  throw new Error('The value is no use of a key.')
}

/** For the API, which creates the bucket, and creates it again if NATS has lost it. `bytesMax`: of any small bucket. */
export async function openKeyUses(
  nats: Pick<Nats, 'openBucket'>,
  bytesMax: number,
  occurrences: KeyUsesOptions['occurrences'],
  isDeleted: (keyId: string) => boolean,
): Promise<KeyUses> {
  // Key uses and sessions share the room of one bucket (`wire/streams.ts`).
  const bucket = () =>
    nats.openBucket(keyUseBucket, Math.min(Math.floor(bytesMax / 2), bucketBytesMax), { patienceMs })
  const uses = new KeyUses({ bucket, occurrences, isDeleted })
  await uses.follow(await bucket())
  return uses
}
