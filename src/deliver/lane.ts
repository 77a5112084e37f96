/**
 * A **lane** is one destination in one process: it takes packs, sends their events in requests, sends again
 * only what failed, and says of each pack when every event of it is accepted or in the dead letters.
 *
 * - **Flowing.** Events of all packs stand in one line and are cut into requests. A request goes out when it is
 *   full or when none is under way, so that a busy destination gets full requests and an idle one no delay.
 *   Several full ones are under way at once; failed ones halve their number, which climbs back slowly.
 *   - Some records of a request failed, or all of it was throttled while others are accepted: they alone are sent
 *     again, after a backoff of their own; the rest of the line goes on, at the rate that the service takes.
 *   - A whole request failed, throttled or for a passing reason: nothing is sent before a backoff has passed, and
 *     then one request at a time until one is accepted. At the backoff's cap the lane is *probing*.
 *   - A request was refused for what is in it: the event that is refused alone, too, is found by halves and goes to
 *     the dead letters; if there is none, requests become smaller. Many in a row with nothing accepted in between
 *     mean that it is not the events: the lane is *probing*.
 *   - Credentials or configuration are refused: credentials are fetched anew and the request is sent again, once;
 *     then the lane is *probing*.
 * - **Probing.** One pack is held, and one event of it at a time is tried, at long intervals and with credentials
 *   fetched anew. All other packs are given back, so that a dead destination holds next to no memory. Whenever
 *   an event is accepted the lane is flowing again.
 * - **Closing.** Nothing new is sent; requests under way may end within a bound; unfinished packs are given back.
 *
 * `status` calls a flowing lane `healthy`, `throttled` or `failing`, and a probing one `paused` where it waits
 * for credentials, configuration or a person, `throttled` or `failing` where it does not.
 */
import { after, sleep, type Timer } from '../core/clock.js'
import { Batcher } from './batcher.js'
import type { Answer, BatchLimits, DestinationConfig, Fault, Sender, SendOutcome } from './destination.js'
import { throttledIn, timeoutCode, tooLarge } from './faults.js'
import { Health, type LaneStatus } from './health.js'
import { type Item, Job, type PackResult } from './job.js'
import { type LaneDeps, type LaneSettings, laneSettings, refusalsInARowMax } from './lane-settings.js'
import { Pace } from './pace.js'
import type { PackedEvent } from './pack.js'
import { findRefused } from './refused-request.js'
import { RequestSize } from './request-size.js'
import { Retries } from './retries.js'

export class Lane {
  readonly #deps: LaneDeps
  readonly #settings: LaneSettings
  readonly #health: Health
  readonly #pace: Pace
  readonly #requestSize = new RequestSize()
  readonly #jobs = new Set<Job>()
  readonly #queue = new Batcher<Item>()
  readonly #retries: Retries
  readonly #underWay = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  #sender: Sender
  #timer: Timer | undefined
  #closing = false
  #refusalsInARow = 0
  /** How often credentials were fetched anew, so that a fault of older ones is not taken for one of these. */
  #credentialsAge = 0
  /** Fetched anew, and nothing was accepted since. */
  #credentialsUnproven = false

  constructor(config: DestinationConfig, deps: LaneDeps) {
    this.#deps = deps
    this.#settings = { ...laneSettings, ...deps.settings }
    this.#pace = new Pace(this.#settings)
    this.#retries = new Retries(this.#settings.backoffs.record, (items) => this.#resume(items))
    this.#health = new Health(deps.changed ?? (() => {}))
    this.#sender = deps.open(config)
  }

  /** Never rejects. The events' bytes must not change until the result is there. */
  deliver(events: readonly PackedEvent[]): Promise<PackResult> {
    const job = new Job(events)
    if (this.#closing || (this.probing && this.#jobs.size > 0)) job.giveBack(this.#pace.waitMs())
    if (job.ended) return job.result
    this.#jobs.add(job)
    this.#queue.add(job.items)
    this.#pump()
    return job.result.finally(() => this.#jobs.delete(job))
  }

  status(): LaneStatus {
    return this.#health.status()
  }

  /** A probing lane gives packs back: there is no point in fetching more than one. */
  get probing(): boolean {
    return this.#pace.probing
  }

  /** What is pending, and everything after it, goes to the new target with the new credentials. */
  retarget(config: DestinationConfig): void {
    const before = this.#sender
    void Promise.allSettled([...this.#underWay]).then(() => before.close())
    this.#sender = this.#deps.open(config)
    this.#credentialsAge += 1
    this.#credentialsUnproven = false
    this.#refusalsInARow = 0
    this.#requestSize.reset()
    this.#pace.reset()
    this.#pump()
  }

  /** Before `close`: what was begun goes on, and packs of which nothing was sent yet are given back. */
  finish(): void {
    this.#giveBack([...this.#jobs].filter(({ isBegun }) => !isBegun))
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#timer?.stop()
    const ended = new AbortController()
    const settled = Promise.allSettled([...this.#underWay])
    await Promise.race([settled, sleep(this.#settings.closeTimeoutMs, ended.signal)])
    this.#abort.abort()
    await Promise.race([settled, sleep(this.#settings.abortTimeoutMs, ended.signal)])
    ended.abort()
    this.#giveBack([...this.#jobs])
    this.#sender.close()
  }

  // --- sending ---

  #pump(): void {
    this.#timer?.stop()
    if (this.#closing) return
    while (this.#maySend()) {
      const { batch, oversize } = this.#queue.cut(this.#limits())
      for (const item of oversize) this.#track(this.#deadLetter(item, tooLarge))
      if (batch.length === 0) break
      this.#track(this.#send(batch))
    }
    const waitMs = this.#pace.waitMs()
    if (waitMs > 0 && this.#queue.length > 0) this.#timer = after(waitMs, () => this.#pump())
  }

  #maySend(): boolean {
    if (this.#queue.length === 0 || this.#underWay.size >= this.#pace.concurrency) return false
    return this.#underWay.size === 0 || this.#queue.fills(this.#limits())
  }

  #limits(): BatchLimits {
    return this.#pace.limits(this.#requestSize.of(this.#sender.limits()))
  }

  /** What runs here is waited for by `close`, and the line moves on when it has ended. */
  #track(work: Promise<void>): void {
    const tracked = work.finally(() => {
      this.#underWay.delete(tracked)
      this.#pump()
    })
    this.#underWay.add(tracked)
  }

  async #send(batch: readonly Item[]): Promise<void> {
    if (this.probing && this.#health.paused) this.#refreshCredentials()
    const age = this.#credentialsAge
    const outcome = await this.#request(batch)
    if (outcome.outcome === 'failed') await this.#failed(batch, outcome.fault, age)
    else await this.#answered(batch, outcome)
  }

  async #request(batch: readonly Item[]): Promise<SendOutcome> {
    const events = batch.map((item) => item.begin())
    this.#pace.rate.sent(batch.length)
    const outcome = await this.#sender.send(events, this.#abort.signal)
    this.#pace.rate.answered(batch.length, throttledIn(outcome, batch.length))
    return outcome
  }

  // --- requests that were answered: some of their records may have failed all the same ---

  async #answered(batch: readonly Item[], answer: Answer): Promise<void> {
    if (answer.outcome === 'accepted') {
      for (const { job } of batch) job.delivered()
      return this.#accepted(true)
    }
    const { retry, rejected, reason } = answer
    const isNoneAccepted = retry.length === batch.length
    if (reason !== undefined && isNoneAccepted) return this.#failed(batch, reason, this.#credentialsAge)
    const failed = new Set([...retry, ...rejected.map(({ index }) => index)])
    for (const [index, { job }] of batch.entries()) if (!failed.has(index)) job.delivered()
    this.#accepted(retry.length === 0)
    const again = retry.map((index) => batch[index]!)
    if (reason !== undefined) this.#retry(again, reason)
    await Promise.all(rejected.map(({ index, fault }) => this.#deadLetter(batch[index]!, fault)))
  }

  #accepted(whole: boolean): void {
    this.#pace.flow()
    this.#requestSize.grow()
    this.#refusalsInARow = 0
    this.#credentialsUnproven = false
    this.#health.accepted(whole && this.#retries.isEmpty)
  }

  #retry(items: readonly Item[], reason: Fault): void {
    this.#health.suffer({ ...reason, class: reason.class === 'throttle' ? 'throttle' : 'transient' })
    this.#retries.add(items)
  }

  #resume(items: readonly Item[]): void {
    this.#queue.addFirst(items)
    this.#pump()
  }

  // --- requests that failed ---

  async #failed(batch: readonly Item[], fault: Fault, credentialsAge: number): Promise<void> {
    if (fault.class === 'poison') return this.#refused(batch, fault, credentialsAge)
    if (fault.class === 'throttle' && this.#pace.hold()) return this.#retry(batch, fault)
    for (const item of batch) item.again()
    // A probe that failed goes to the end of the line: the next one tries another event.
    if (this.probing) this.#queue.add(batch)
    else this.#queue.addFirst(batch)
    if (this.#closing) return
    if (fault.class === 'throttle' || fault.class === 'transient') this.#waitAndRetry(fault, fault.class)
    else this.#authRefused(fault, credentialsAge)
  }

  #waitAndRetry(fault: Fault, faultClass: 'throttle' | 'transient'): void {
    this.#pace.slowDown(fault.code === timeoutCode)
    if (this.#pace.backOff(this.#settings.backoffs[faultClass])) this.#health.suffer(fault)
    else this.#probe(fault)
  }

  /** Of several requests under way with the same credentials the first to fail has them fetched anew. */
  #authRefused(fault: Fault, age: number): void {
    this.#health.note(fault)
    if (!this.probing && age < this.#credentialsAge) return
    if (!this.probing && !this.#credentialsUnproven) this.#refreshCredentials()
    else this.#probe(fault)
  }

  #refreshCredentials(): void {
    this.#sender.dropCredentials()
    this.#credentialsAge += 1
    this.#credentialsUnproven = true
  }

  async #refused(batch: readonly Item[], fault: Fault, credentialsAge: number): Promise<void> {
    this.#health.note(fault)
    const { culprit, remaining, interruption, ...found } = await findRefused(batch, fault, {
      send: (part) => this.#requestPart(part),
      answered: (part, answer) => this.#answered(part, answer),
    })
    if (interruption !== undefined) return this.#failed(remaining, interruption, credentialsAge)
    for (const item of remaining) item.again()
    this.#queue.addFirst(remaining)
    if (culprit === undefined) this.#requestSize.shrink()
    else await this.#condemn(culprit, found.fault)
  }

  /** Passing faults are waited out: a search that started again at each would never end if they are frequent. */
  async #requestPart(part: readonly Item[]): Promise<SendOutcome> {
    for (;;) {
      for (const item of part) item.again()
      const outcome = await this.#request(part)
      if (outcome.outcome !== 'failed' || this.#closing) return outcome
      const { fault } = outcome
      if (fault.class !== 'throttle' && fault.class !== 'transient') return outcome
      this.#health.suffer(fault)
      if (!this.#pace.backOff(this.#settings.backoffs[fault.class])) return outcome
      await sleep(this.#pace.waitMs(), this.#abort.signal)
    }
  }

  /** Parks the one event that is refused; unless everything is, for then it is no event's fault. */
  async #condemn(culprit: Item, fault: Fault): Promise<void> {
    this.#refusalsInARow += 1
    if (this.#refusalsInARow <= refusalsInARowMax) {
      if (this.probing) this.#pace.flow()
      return this.#deadLetter(culprit, fault)
    }
    this.#probe({ ...fault, class: 'configuration' })
    // Not even one is held: each probe takes another pack, in case it is these events after all.
    this.#giveBack([...this.#jobs])
  }

  async #deadLetter(item: Item, fault: Fault): Promise<void> {
    if (item.abandoned) return
    try {
      await this.#deps.deadLetter(item.event, fault)
      item.job.deadLettered()
    } catch {
      item.job.giveBack(this.#settings.backoffs.transient.capMs)
    }
  }

  // --- probing ---

  /** Holds the oldest pack, gives the others back, and tries again after a long while. */
  #probe(fault: Fault): void {
    this.#health.suffer(fault)
    this.#pace.probe()
    this.#giveBack([...this.#jobs].filter((job) => !job.ended).slice(1))
  }

  #giveBack(jobs: readonly Job[]): void {
    for (const job of jobs) job.giveBack(this.#pace.waitMs())
    this.#queue.dropAbandoned()
  }
}
