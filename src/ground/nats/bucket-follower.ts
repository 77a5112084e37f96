/**
 * Follows a bucket until it is closed.
 *
 * A watch alone goes silent when its server restarts, when its consumer is lost, and when the bucket is recreated or
 * restored from a backup. So the bucket's identity and position are compared with the cursor at each reconnect and
 * periodically: a watch that lags is resumed at the cursor; if the bucket changed, all is read again in a new **pass**.
 *
 * The books read their ledger by themselves (`books/reading.ts`): a pass of theirs begins with a snapshot that other
 * processes replace meanwhile, and must notice every missing entry, whereas a bucket keeps only each key's last value.
 */
import { after, every, monotonicMs, type Timer } from '../core/clock.js'
import { deferred } from '../core/concurrency.js'
import { messageOf, unavailable } from '../core/errors.js'
import type { Bucket, BucketEntry, BucketPosition, Closable } from './bucket.js'

const checkMs = 10_000
const silenceCheckMs = 1_000
const silenceMaxMsDefault = 15_000
const resumeDelayMs = 250

/** Takes the entries of a bucket, from its start. */
export interface Pass {
  entry(entry: BucketEntry, pending: number): void
  /** All entries that existed at the start have been delivered; may be called again. */
  current(): void
}

interface FollowerOptions {
  begin(): Pass
  /** The bucket was recreated or restored: a new pass begins. */
  reread?(position: BucketPosition): void
  unreachable?(reason: string): void
}

export class BucketFollower {
  readonly #bucket: Bucket
  readonly #options: FollowerOptions
  #turn: Promise<void> = Promise.resolve()
  #pass: Pass | undefined
  #run = 0
  #watch: Closable | undefined
  #isBroken = false
  /** The cursor at the last check: if it lags and did not move until the next check, the watch is dead. */
  #checkedAt = 0
  #cursor = 0
  #identity = ''
  #timer: Timer | undefined
  #stopListening = (): void => {}

  constructor(bucket: Bucket, options: FollowerOptions) {
    this.#bucket = bucket
    this.#options = options
  }

  /** Resolves when the first pass has begun. */
  async open(): Promise<void> {
    await this.#begin(await this.#bucket.position())
    this.#timer = every(checkMs, () => this.#inTurn(() => this.#check(false)))
    this.#stopListening = this.#bucket.onReconnect(() => this.#inTurn(() => this.#check(true)))
  }

  /** Reads everything again, whatever the bucket's position says. */
  reread(): Promise<void> {
    return this.#inTurn(async () => this.#begin(await this.#bucket.position()))
  }

  /** One step at a time; the next check retries a failed one. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch((error: unknown) => {
      this.#isBroken = true
      this.#options.unreachable?.(messageOf(error))
    })
    return this.#turn
  }

  async #check(mayBeCut: boolean): Promise<void> {
    // Entries can arrive while we wait, so compare with the cursor from before the request.
    const cursor = this.#cursor
    const position = await this.#bucket.position()
    if (position.identity !== this.#identity || position.lastRevision < cursor) {
      this.#options.reread?.(position)
      return this.#begin(position)
    }
    const isStuck = position.lastRevision > this.#cursor && this.#cursor === this.#checkedAt
    this.#checkedAt = this.#cursor
    if (mayBeCut || isStuck || this.#isBroken) await this.#listen(this.#cursor + 1)
  }

  async #begin({ identity }: BucketPosition): Promise<void> {
    this.#identity = identity
    this.#cursor = 0
    this.#pass = this.#options.begin()
    await this.#listen(0)
  }

  async #listen(from: number): Promise<void> {
    this.#watch?.close()
    this.#run += 1
    const run = this.#run
    const pass = this.#pass!
    this.#isBroken = true
    const watcher = {
      entry: (entry: BucketEntry, pending: number) => {
        if (run !== this.#run) return
        this.#cursor = Math.max(this.#cursor, entry.revision)
        skippingDamaged(this.#bucket, entry, () => pass.entry(entry, pending))
      },
      current: () => {
        if (run === this.#run) pass.current()
      },
      ended: () => {
        if (run !== this.#run) return
        this.#isBroken = true
        after(resumeDelayMs, () => void this.#inTurn(() => this.#check(false)))
      },
    }
    this.#watch = await this.#bucket.watch(watcher, from)
    this.#isBroken = false
  }

  close(): void {
    this.#run += 1
    this.#timer?.stop()
    this.#stopListening()
    this.#watch?.close()
  }
}

/** An entry that can't be read must not end the watch: those behind it would never come. */
function skippingDamaged(bucket: Bucket, entry: BucketEntry, take: () => void): void {
  try {
    take()
  } catch (error) {
    bucket.reportDamaged(entry, error)
  }
}

/** Follows a bucket whose entries are taken one by one: a pass that begins again changes nothing. */
export class EntryFollower {
  readonly #whenRead = deferred()
  readonly #follower: BucketFollower

  constructor(bucket: Bucket, take: (entry: BucketEntry) => void) {
    this.#follower = new BucketFollower(bucket, {
      begin: () => ({ entry: take, current: () => this.#whenRead.resolve() }),
    })
  }

  /** Resolves when all entries that the bucket had were taken. */
  async open(): Promise<void> {
    await this.#follower.open()
    await this.#whenRead.promise
  }

  close(): void {
    this.#follower.close()
  }
}

/** Reads the current entries of a bucket once; rejects if the watch goes silent before the last of them. */
export function readEntries(
  bucket: Bucket,
  take: (entry: BucketEntry) => void,
  silenceMaxMs = silenceMaxMsDefault,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let watch: Closable | undefined
    let isDone = false
    let heardMs = monotonicMs()
    const done = (end: () => void): void => {
      isDone = true
      silence.stop()
      watch?.close()
      end()
    }
    const fail = (error: unknown): void => done(() => reject(error))
    const silence = every(silenceCheckMs, () => {
      if (monotonicMs() - heardMs > silenceMaxMs) fail(unavailable(`The bucket ${bucket.name} went silent.`))
    })
    const entry = (each: BucketEntry): void => {
      heardMs = monotonicMs()
      skippingDamaged(bucket, each, () => take(each))
    }
    bucket.watch({ entry, current: () => done(resolve), ended: fail }).then((opened) => {
      watch = opened
      if (isDone) opened.close()
    }, fail)
  })
}
