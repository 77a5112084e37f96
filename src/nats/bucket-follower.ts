/**
 * Follows a bucket for as long as it is open.
 *
 * A watch alone goes silent when its server restarts, when its consumer is lost, and when the bucket is made anew or
 * put back to an earlier state. So the bucket's identity and position are compared with one's own at every reconnect
 * and now and then: behind, the watch is taken up where it was; changed, everything is read again in a new **pass**.
 */
import { after, every, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Bucket, BucketEntry, BucketPosition, Closable } from './bucket.js'

const checkMs = 10_000
const resumeDelayMs = 250

/** Takes in what a bucket says, from its start. */
export interface Pass {
  entry(entry: BucketEntry, pending: number): void
  /** Everything that was there has been told; may be called again. */
  current(): void
}

export interface FollowerOptions {
  begin(): Pass
  /** The bucket is found not to be what it was: a new pass begins. */
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
  /** Where the last check found it: no progress until the next one, though there is more, means a dead watch. */
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

  /** One step at a time; what fails is tried again by the next check. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch((error: unknown) => {
      this.#isBroken = true
      this.#options.unreachable?.(messageOf(error))
    })
    return this.#turn
  }

  async #check(mayBeCut: boolean): Promise<void> {
    // What comes in before the answer does may be beyond it.
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
        pass.entry(entry, pending)
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

/** What a bucket holds at this moment. */
export function readEntries(bucket: Bucket, take: (entry: BucketEntry) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let watch: Closable | undefined
    let isDone = false
    const done = (): void => {
      isDone = true
      watch?.close()
      resolve()
    }
    bucket.watch({ entry: take, current: done, ended: reject }).then((opened) => {
      watch = opened
      if (isDone) opened.close()
    }, reject)
  })
}
