/**
 * A **lane** delivers to one destination in one process. The journey of a pack through it:
 *
 * 1. **Taken** (`deliver`). The pack becomes a job, its events become items in one queue with those of other packs.
 * 2. **Cut into requests** (`#pump`). A request is sent when it is full, or when none is under way: a busy destination
 *    gets full requests, an idle one waits for nothing (unless its kind has `lingerMs`). Several full requests are under way
 *    at once.
 * 3. **Sent** (`#send`), at the pace that the service allows.
 * 4. **Answered** (`#answered`). Accepted events are done. Refused events are dead-lettered; of a packed record, the one
 *    at fault. Events that failed while others were accepted are sent again after their own backoff.
 * 5. **Or failed as a whole** (`#failed`):
 *    - Throttled or transient: nothing is sent during a backoff, then one request at a time until one is accepted, and
 *      fewer requests at once after that. When the backoff reaches its cap, the lane is *probing*.
 *    - Refused for its contents: the event that is refused even alone is found by halving, and dead-lettered. If there
 *      is none, requests become smaller. Many refusals in a row without an accepted event mean that the events are not
 *      at fault: the lane is *probing*.
 *    - Refused for its credentials or configuration: sent once more with fresh credentials, then it is *probing*.
 * 6. **Done**: each event is accepted or dead-lettered, or dropped, if the pack is too old. Or **returned** to the stream.
 *
 * A **probing** lane tries one event at a time, at long intervals and with fresh credentials, and holds only packs with
 * accepted events, or one, until an event is accepted. A lane that **closes** sends nothing new, waits for its requests
 * within a bound, and returns unfinished packs; one that **halts** keeps those that it began, until it goes on. A probing
 * lane is `paused` if it waits for a correction.
 */
import { after, monotonicMs, now, sleep, type Timer } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { inSpan } from '../../../ground/core/telemetry/tracing.js'
import type { Fault } from '../../outgoing/fault-class.js'
import { fault, timeoutCode } from '../../outgoing/faults.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import type { DestinationConfig } from '../kind/destination.js'
import { acceptedOf, tooLarge } from '../kind/outcomes.js'
import type { BatchLimits, SendAnswer, Sender, SendOutcome } from '../kind/sender.js'
import type { AttemptLog } from './attempt-log.js'
import { Retries } from './backoff.js'
import { Batcher, RequestSize } from './batcher.js'
import { CredentialsAge } from './credentials-age.js'
import { beginRequest, type DeliveryTrace, endRequest } from './delivery-trace.js'
import { Health, type LaneStatus } from './health.js'
import { HeldPacks } from './held-packs.js'
import { countDelivered, type Item, Job, type PackResult, whileDeciding } from './job.js'
import { type LaneDeps, type LaneSettings, laneSettings, refusalsInARowMax } from './lane-settings.js'
import { Pace } from './pace.js'
import { findRefused, isPassing, type PassingFault } from './refused-request.js'
import { UnderWay } from './under-way.js'

const searchWaitMaxMs = 1_000
/** Instead of an outcome, when a pause ends a search. */
const halted = {
  outcome: 'failed',
  fault: fault('transient', 'Paused', 'The destination was paused.'),
} as const
/** How often a lane that waits for more events looks whether it still may. */
const lookAgainMs = 1_000

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
    this.#retries = new Retries(this.#settings.backoffs.record, (items) => {
      this.#queue.addFirst(items)
      this.#pump()
    })
    this.#health = new Health(deps.changed ?? (() => {}))
    this.#sender = deps.open(config)
  }

  /** Never rejects. The events' bytes, of the message `pack`, must not change until the promise resolves. */
  deliver(
    events: readonly PackedEvent[],
    pack = 0,
    storedAtMs = now(),
    trace?: DeliveryTrace,
  ): Promise<PackResult> {
    const job = new Job(events, pack, storedAtMs, trace)
    if (this.#closing || this.wanted(1) === 0) job.giveBack(this.#pace.waitMs())
    if (job.ended) return job.result
    this.#packs.add(job)
    // Held packs were tried before; while probing, a new pack goes first, because its events may be accepted.
    if (this.probing) this.#queue.addFirst(job.items)
    else this.#queue.add(job.items)
    this.#pump()
    return job.result
  }

  readonly status = (): LaneStatus => this.#health.status()

  get isHealthy(): boolean {
    return this.#health.isHealthy
  }

  get probing(): boolean {
    return this.#pace.probing
  }

  /** How many packs to fetch, at most `room`. A probing lane needs one, if it holds none. */
  wanted(room: number): number {
    if (!this.probing) return Math.max(0, room)
    const isBusy = this.#isAllRefused ? this.#packs.hasUntouched : !this.#packs.isEmpty
    return isBusy ? 0 : Math.min(1, Math.max(0, room))
  }

  /** Events that are not sent yet go to the new target with the new credentials. */
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

  /** Before `close`: packs that were begun go on; packs of which nothing was sent yet are returned. */
  readonly finish = (): void => this.#packs.giveBackUnsent()

  /** Ends packs that were stored before this time: what was not accepted is dropped. */
  readonly expire = (beforeMs: number): void => this.#packs.expire(beforeMs)

  /** Sends nothing until `resume`. Packs of which some events were accepted stay, because these would be sent again. */
  halt(): void {
    this.#pace.halt()
    this.#packs.giveBackUntouched()
  }

  resume(): void {
    this.#pace.resume()
    this.#pump()
  }

  /** The next request does not wait for its time; if one is under way and fails, that is the one after it. */
  hurry(): void {
    this.#pace.hurry(this.#underWay.size > 0)
    this.#pump()
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#timer?.stop()
    await this.#underWay.end(this.#settings)
    this.#packs.giveBackAll()
    this.#sender.close()
  }

  // --- cut into requests, and sent ---

  #pump(): void {
    this.#timer?.stop()
    if (this.#closing) return
    while (this.#queue.length > 0) {
      const { concurrency, waitMs } = this.#pace.allowance()
      if (waitMs > 0) this.#timer = after(waitMs, () => this.#pump())
      // Read once: if it ended between two looks, nobody would look again.
      const lingerMs = this.#lingerMs()
      if (!this.#maySend(concurrency, lingerMs)) {
        this.#linger(concurrency, lingerMs)
        return
      }
      const { batch, oversize } = this.#queue.cut(this.#limits())
      for (const item of oversize) this.#track([item], () => this.#deadLetter(item, tooLarge))
      if (batch.length === 0) return
      this.#track(batch, () => this.#send(batch))
    }
  }

  #maySend(concurrency: number, lingerMs: number): boolean {
    if (this.#underWay.size >= concurrency) return false
    return this.#queue.fills(this.#limits()) || (this.#underWay.size === 0 && lingerMs <= 0)
  }

  /** Does it wait for more events than those at hand? Not while it is in trouble. */
  get collects(): boolean {
    return this.#sender.limits().lingerMs !== undefined && this.isHealthy
  }

  /** How long a request that is not full waits for other events. */
  #lingerMs(): number {
    const { lingerMs = 0 } = this.#limits()
    if (this.probing || (lingerMs > 0 && this.#deps.isFull?.())) return 0
    return this.#queue.sinceMs + lingerMs - monotonicMs()
  }

  /** Looks again when the wait is over, if it is that what the queue waits for. */
  #linger(concurrency: number, lingerMs: number): void {
    if (concurrency > 0 && this.#underWay.size === 0 && lingerMs > 0)
      this.#timer = after(Math.min(lingerMs, lookAgainMs), () => this.#pump())
  }

  readonly #limits = (): BatchLimits => this.#pace.limits(this.#requestSize.of(this.#sender.limits()))

  /** `close` waits for this work; when it ends, the queue moves on. */
  #track(items: readonly Item[], work: () => Promise<void>): void {
    this.#underWay.add(whileDeciding(items, work), () => this.#pump())
  }

  async #send(batch: readonly Item[]): Promise<void> {
    if (this.probing && this.#health.paused) this.#credentials.fetchAgain(this.#sender)
    const [sender, age] = [this.#sender, this.#credentials.value]
    const outcome = await this.#request(batch)
    if (sender !== this.#sender) this.#answeredByFormerTarget(batch, outcome)
    else if (outcome.outcome === 'failed') await this.#failed(batch, outcome.fault, age)
    else await this.#answered(batch, outcome)
  }

  /** Accepted events are done. Those that it refused, or could not take, are for the new target. */
  #answeredByFormerTarget(batch: readonly Item[], outcome: SendOutcome): void {
    const accepted = outcome.outcome === 'failed' ? [] : acceptedOf(batch, outcome)
    countDelivered(accepted)
    this.#requeue(batch.filter((item) => !accepted.includes(item)))
  }

  /** These go first, as new requests. */
  #requeue(items: readonly Item[]): void {
    for (const item of items) {
      item.again()
      item.request = undefined
    }
    this.#queue.addFirst(items)
  }

  async #request(batch: readonly Item[]): Promise<SendOutcome> {
    const events = batch.map((item) => item.begin())
    const sent = this.#pace.sent(batch.length)
    const beganMs = now()
    const span = beginRequest(batch)
    const outcome = await inSpan(span, () => this.#outcomeOf(events))
    endRequest(span, outcome)
    this.#log((log) => log.requested(batch, outcome, beganMs))
    for (const item of batch) item.end()
    this.#pace.answered(sent, outcome)
    return outcome
  }

  /** A sender never rejects. One that does has a defect, which must not end the process of all other destinations. */
  async #outcomeOf(events: readonly PackedEvent[]): Promise<SendOutcome> {
    try {
      return await this.#sender.send(events, this.#underWay.signal)
    } catch (error) {
      this.#deps.defect?.(error)
      return { outcome: 'failed', fault: fault('transient', 'Defect', messageOf(error)) }
    }
  }

  /** Nothing that is written about a request decides about its events. */
  #log(write: (log: AttemptLog) => void): void {
    try {
      if (this.#deps.log !== undefined) write(this.#deps.log)
    } catch (error) {
      this.#deps.defect?.(error)
    }
  }

  // --- answered: some records may still have failed ---

  async #answered(batch: readonly Item[], answer: SendAnswer): Promise<void> {
    countDelivered(acceptedOf(batch, answer))
    if (answer.outcome === 'accepted') return this.#accepted(true)
    const { retry, rejected, suspects, reason } = answer
    const age = this.#credentials.value
    if (reason !== undefined && retry.length === batch.length) return this.#failed(batch, reason, age)
    this.#accepted(retry.length === 0)
    const itemsAt = (indices: readonly number[]): Item[] => indices.map((index) => batch[index]!)
    if (reason !== undefined) this.#retry(itemsAt(retry), reason)
    await Promise.all(rejected.map(({ index, fault }) => this.#deadLetter(batch[index]!, fault)))
    if (suspects !== undefined) await this.#refused(itemsAt(suspects.indices), suspects.fault, age)
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

  // --- failed as a whole ---

  async #failed(batch: readonly Item[], fault: Fault, credentialsAge: number): Promise<void> {
    if (fault.class === 'poison') return this.#refused(batch, fault, credentialsAge)
    const mayRepeat = fault.class === 'throttle' && fault.retryAfterMs === undefined
    if (mayRepeat && this.#pace.hold()) return this.#retry(batch, fault)
    for (const item of batch) item.again()
    // A failed probe goes to the end of the queue, so that the next one tries another event.
    if (this.probing) this.#queue.add(batch)
    else this.#queue.addFirst(batch)
    if (this.#closing) return
    if (isPassing(fault)) this.#waitAndRetry(fault)
    else this.#authRefused(fault, credentialsAge)
  }

  #waitAndRetry(fault: PassingFault): void {
    this.#pace.slowDown(fault.code === timeoutCode)
    if (this.#pace.backOff(this.#settings.backoffs[fault.class], fault.retryAfterMs))
      this.#health.suffer(fault)
    else this.#probe(fault)
  }

  /** If several requests fail with the same credentials, only the first one has them fetched again. */
  #authRefused(fault: Fault, age: number): void {
    this.#health.note(fault)
    if (!this.probing && age < this.#credentials.value) return
    if (!this.probing && !this.#credentials.isUnproven) this.#credentials.fetchAgain(this.#sender)
    else this.#probe(fault)
  }

  async #refused(batch: readonly Item[], fault: Fault, credentialsAge: number): Promise<void> {
    this.#health.note(fault)
    const sender = this.#sender
    const { culprit, remaining, interruption, ...found } = await findRefused(batch, fault, {
      send: async (part) => (this.#pace.halted ? halted : this.#request(part)),
      answered: (part, answer) => this.#answered(part, answer),
      waitOut: (passing) => this.#waitOut(passing),
    })
    const isOver = interruption === halted.fault || sender !== this.#sender
    if (isOver) return this.#requeue(culprit === undefined ? remaining : [culprit, ...remaining])
    if (interruption !== undefined) return this.#failed(remaining, interruption, credentialsAge)
    this.#requeue(remaining)
    if (culprit === undefined) this.#requestSize.shrink()
    else await this.#condemn(culprit, found.fault)
  }

  /** False if it can't be waited for. A search that sleeps long would hear of no pause, hurry or other target. */
  async #waitOut(fault: PassingFault): Promise<boolean> {
    if (this.#pace.halted || (fault.retryAfterMs ?? 0) > searchWaitMaxMs) return false
    this.#health.suffer(fault)
    const backoff = this.#settings.backoffs[fault.class]
    if (this.#closing || !this.#pace.backOff(backoff, fault.retryAfterMs)) return false
    await sleep(this.#pace.waitMs(), this.#underWay.signal)
    return true
  }

  /** Dead-letters the one event that is refused, unless everything is refused: then no event is at fault. */
  async #condemn(culprit: Item, fault: Fault): Promise<void> {
    this.#refusalsInARow += 1
    if (!this.#isAllRefused) {
      if (this.probing) this.#pace.flow()
      return this.#deadLetter(culprit, fault)
    }
    culprit.again()
    this.#queue.add([culprit])
    this.#probe(fault)
    // Each probe takes another pack, in case these events are at fault after all.
    this.#packs.giveBackUntouched()
  }

  get #isAllRefused(): boolean {
    return this.#refusalsInARow > refusalsInARowMax
  }

  async #deadLetter(item: Item, fault: Fault): Promise<void> {
    if (item.abandoned) return
    try {
      await this.#deps.deadLetter(item.event, fault)
      this.#log((log) => log.deadLettered(item, fault))
      item.deadLettered()
    } catch {
      item.job.giveBack(this.#settings.backoffs.transient.capMs)
    }
  }

  /** Begins to probe: holds the packs that it must, returns the others, and tries again after a long interval. */
  #probe(fault: Fault): void {
    this.#health.suffer(fault)
    this.#pace.probe(fault.retryAfterMs)
    this.#packs.giveBackAllButOne()
  }
}
