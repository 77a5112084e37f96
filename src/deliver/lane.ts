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
 * - **Probing.** One event at a time is tried, at long intervals and with credentials fetched anew. Packs of which
 *   some events were accepted are held, or else the oldest one; all others are given back, so that a dead
 *   destination holds next to no memory. Whenever an event is accepted the lane is flowing again.
 * - **Closing.** Nothing new is sent; requests under way may end within a bound; unfinished packs are given back.
 *
 * `status` calls a flowing lane `healthy`, `throttled` or `failing`, and a probing one `paused` where it waits
 * for credentials, configuration or a person, `throttled` or `failing` where it does not.
 */
import { after, sleep, type Timer } from '../core/clock.js'
import type { PackedEvent } from '../wire/pack.js'
import { Batcher } from './batcher.js'
import { CredentialsAge } from './credentials-age.js'
import type { Answer, BatchLimits, DestinationConfig, Fault, Sender, SendOutcome } from './destination.js'
import { throttledIn, timeoutCode, tooLarge } from './faults.js'
import { Health, type LaneStatus } from './health.js'
import { HeldPacks } from './held-packs.js'
import { type Item, Job, type PackResult } from './job.js'
import { type LaneDeps, type LaneSettings, laneSettings, refusalsInARowMax } from './lane-settings.js'
import { Pace } from './pace.js'
import { findRefused } from './refused-request.js'
import { RequestSize } from './request-size.js'
import { Retries } from './retries.js'
import { UnderWay } from './under-way.js'

export class Lane {
  readonly #deps: LaneDeps
  readonly #settings: LaneSettings
  readonly #health: Health
  readonly #pace: Pace
  readonly #requestSize = new RequestSize()
  readonly #packs: HeldPacks
  readonly #queue = new Batcher<Item>()
  readonly #retries: Retries
  readonly #underWay = new UnderWay()
  readonly #credentials = new CredentialsAge()
  #sender: Sender
  #timer: Timer | undefined
  #closing = false
  #refusalsInARow = 0

  constructor(config: DestinationConfig, deps: LaneDeps) {
    this.#deps = deps
    this.#settings = { ...laneSettings, ...deps.settings }
    this.#pace = new Pace(this.#settings)
    this.#packs = new HeldPacks(deps.budget, this.#queue, () => this.#pace.waitMs())
    this.#retries = new Retries(this.#settings.backoffs.record, (items) => this.#resume(items))
    this.#health = new Health(deps.changed ?? (() => {}))
    this.#sender = deps.open(config)
  }

  /** Never rejects. The events' bytes must not change until the result is there. */
  deliver(events: readonly PackedEvent[]): Promise<PackResult> {
    const job = new Job(events)
    if (this.#closing || this.wanted(1) === 0) job.giveBack(this.#pace.waitMs())
    if (job.ended) return job.result
    this.#packs.add(job)
    // What is held was tried before; a pack that is taken while probing is to say something new.
    if (this.probing) this.#queue.addFirst(job.items)
    else this.#queue.add(job.items)
    this.#pump()
    return job.result
  }

  status(): LaneStatus {
    return this.#health.status()
  }

  get probing(): boolean {
    return this.#pace.probing
  }

  /** How many packs to fetch, if there is room for so many: a probing lane has use for one, if it holds none. */
  wanted(room: number): number {
    if (!this.probing) return Math.max(0, room)
    const isBusy = this.#isAllRefused ? this.#packs.hasUntouched : !this.#packs.isEmpty
    return isBusy ? 0 : Math.min(1, Math.max(0, room))
  }

  /** What is pending, and everything after it, goes to the new target with the new credentials. */
  retarget(config: DestinationConfig): void {
    const before = this.#sender
    void this.#underWay.settled().then(() => before.close())
    this.#sender = this.#deps.open(config)
    this.#credentials.replace()
    this.#refusalsInARow = 0
    this.#requestSize.reset()
    this.#pace.reset()
    this.#pump()
  }

  /** Before `close`: what was begun goes on, and packs of which nothing was sent yet are given back. */
  finish(): void {
    this.#packs.giveBackUnsent()
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#timer?.stop()
    await this.#underWay.end(this.#settings)
    this.#packs.giveBackAll()
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
    this.#underWay.add(work, () => this.#pump())
  }

  async #send(batch: readonly Item[]): Promise<void> {
    if (this.probing && this.#health.paused) this.#refreshCredentials()
    const age = this.#credentials.value
    const outcome = await this.#request(batch)
    if (outcome.outcome === 'failed') await this.#failed(batch, outcome.fault, age)
    else await this.#answered(batch, outcome)
  }

  async #request(batch: readonly Item[]): Promise<SendOutcome> {
    const events = batch.map((item) => item.begin())
    this.#pace.rate.sent(batch.length)
    const outcome = await this.#sender.send(events, this.#underWay.signal)
    for (const item of batch) item.end()
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
    if (reason !== undefined && isNoneAccepted) return this.#failed(batch, reason, this.#credentials.value)
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
    this.#credentials.prove()
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
    if (!this.probing && age < this.#credentials.value) return
    if (!this.probing && !this.#credentials.isUnproven) this.#refreshCredentials()
    else this.#probe(fault)
  }

  #refreshCredentials(): void {
    this.#sender.dropCredentials()
    this.#credentials.fetchAgain()
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
      await sleep(this.#pace.waitMs(), this.#underWay.signal)
    }
  }

  /** Parks the one event that is refused; unless everything is, for then it is no event's fault. */
  async #condemn(culprit: Item, fault: Fault): Promise<void> {
    this.#refusalsInARow += 1
    if (!this.#isAllRefused) {
      if (this.probing) this.#pace.flow()
      return this.#deadLetter(culprit, fault)
    }
    culprit.again()
    this.#queue.add([culprit])
    this.#probe({ ...fault, class: 'configuration' })
    // Each probe takes another pack, in case it is these events after all.
    this.#packs.giveBackUntouched()
  }

  get #isAllRefused(): boolean {
    return this.#refusalsInARow > refusalsInARowMax
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

  /** Holds what it must, gives the other packs back, and tries again after a long while. */
  #probe(fault: Fault): void {
    this.#health.suffer(fault)
    this.#pace.probe()
    this.#packs.giveBackAllButOne()
  }
}
