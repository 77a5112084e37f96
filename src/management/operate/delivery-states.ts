/**
 * Delivery states of destinations, requested from the deliverers. If they answer late, on a busy machine, their last
 * report is returned with its time. Only after some seconds of silence is the state "no deliverer answers".
 */

import type { LaneReport, LaneState, LaneStatus, StateReport } from '../../delivery/deliver/lane/health.js'
import { type LastOutcomes, laterOutcomes, type Usage } from '../../delivery/wire/delivery-attempts.js'
import { probeSubject, statesSubject, statusesSubject, statusSubject } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { after, isoMillis, monotonicMs, now, sleep, type Timer, timeOfDay } from '../../ground/core/clock.js'
import { unansweredCause } from './advice/delivery-advice.js'

/** Sends a request to all deliverers and resolves with the replies in time; undefined without a subscriber. */
type Gather = (subject: string, data: string, waitMs: number) => Promise<Uint8Array[] | undefined>

/** The state of all lanes together; `as_of` is the time of the report, null if there was none. */
type DeliveryState = Omit<LaneStatus, 'cause' | keyof LastOutcomes> & {
  readonly cause: string | null
  readonly as_of: string | null
  /** The usage of each lane, if it reports one. */
  readonly usages: readonly Usage[]
  /** Events that all lanes accept per second; null if no report says. */
  readonly rate: number | null
}

interface Heard {
  readonly lanes: readonly LaneReport[]
  /** Monotonic, as all times here but those that are shown. */
  readonly atMs: number
  readonly as_of: string
}

const heardNow = (lanes: readonly LaneReport[]): Heard => ({
  lanes,
  atMs: monotonicMs(),
  as_of: isoMillis(now()),
})

export interface StatesSettings {
  /** How long one round waits for the deliverers; the client waits, too. */
  readonly answerWaitMs: number
  /** A report older than this is requested again, for as long as this. */
  readonly freshMs: number
  /** After this time without any reply the state is "no deliverer answers". */
  readonly silenceMs: number
}

const settingsDefault: StatesSettings = { answerWaitMs: 300, freshMs: 2_000, silenceMs: 10_000 }

const lookOnMs = 1_000
const wantedForMs = 10 * 60_000

/** Destinations whose last report is kept. */
const rememberedMax = 10_000

export class DeliveryStates {
  readonly #gather: Gather
  readonly #settings: StatesSettings
  readonly #heard = new Map<string, Heard>()
  /** Time of the first request since the last reply of any deliverer. */
  #silentSinceMs: number | undefined
  /** Looks on while they are silent, so that a silence never has just two looks. */
  #lookingOn: Timer | undefined
  #wantedMs = 0

  constructor(gather: Gather, settings: Partial<StatesSettings> = {}) {
    this.#gather = gather
    this.#settings = { ...settingsDefault, ...settings }
  }

  /** `known`: outcomes of earlier lanes, from the books. `sinceMs`: a report from then on needs no question. */
  async of(
    destinationId: string,
    known: LastOutcomes,
    sinceMs = Number.POSITIVE_INFINITY,
  ): Promise<DeliveryState & LastOutcomes> {
    const earlier = this.#heard.get(destinationId)
    const isRecent = earlier !== undefined && earlier.atMs >= sinceMs
    const heard = isRecent ? earlier : await this.#latest(destinationId)
    return heard === undefined ? { ...this.#unanswered(destinationId), ...known } : merged(heard, known)
  }

  /**
   * Asks about many at once, which takes as long as about one. Returns when it asked: `of` asks again only for those that
   * no deliverer reported since.
   */
  async hear(ids: readonly string[]): Promise<number> {
    const askedMs = monotonicMs()
    const answers = await this.#gather(statusesSubject, JSON.stringify(ids), this.#settings.answerWaitMs)
    const reports = (answers ?? []).map((answer) => jsonOf<Record<string, LaneReport | null>>(answer))
    for (const id of ids) {
      const lanes = reports.flatMap((report) => report[id] ?? [])
      if (lanes.length > 0) this.#remember(id, heardNow(lanes))
    }
    return askedMs
  }

  /** The worst states of all destinations of the deployment that are not healthy; undefined if no deliverer answers. */
  async troubled(): Promise<ReadonlyMap<string, LaneState> | undefined> {
    const answers = await this.#gather(statesSubject, '[]', this.#settings.answerWaitMs)
    if (answers === undefined || answers.length === 0) return undefined
    const reports = answers.flatMap((answer) => jsonOf<StateReport[] | null>(answer) ?? [])
    const states = new Map<string, LaneState>()
    for (const { destination_id: id, state } of reports)
      if (severityOf(state) > severityOf(states.get(id) ?? 'healthy')) states.set(id, state)
    return states
  }

  /** Tells deliverers to try now; the worst of their states before, undefined if none answers. */
  async tryNow(destinationId: string): Promise<LaneStatus | undefined> {
    const lanes = lanesIn(await this.#gather(probeSubject, destinationId, this.#settings.answerWaitMs))
    return lanes.length === 0 ? undefined : worstOf(lanes)
  }

  async #latest(id: string): Promise<Heard | undefined> {
    const { answerWaitMs, freshMs, silenceMs } = this.#settings
    const askedMs = monotonicMs()
    for (;;) {
      const isListened = await this.#ask(id, answerWaitMs)
      const heard = this.#heard.get(id)
      if (heard !== undefined && heard.atMs >= askedMs) return heard
      if (monotonicMs() - (this.#silentSinceMs ?? monotonicMs()) >= silenceMs) return undefined
      const ageMs = heard === undefined ? silenceMs : askedMs - heard.atMs
      if (!isListened) {
        if (heard === undefined || ageMs < silenceMs) return heard
        await sleep(answerWaitMs)
      }
      // A recent report is good enough; an older one is worth another round, an old one or none at all is worth many.
      const patienceMs = ageMs < freshMs ? 0 : ageMs < silenceMs ? freshMs : silenceMs
      if (monotonicMs() - askedMs >= patienceMs) return ageMs < silenceMs ? heard : undefined
    }
  }

  /** Asks once and keeps the report; false without a subscriber. */
  async #ask(id: string, waitMs: number): Promise<boolean> {
    const askedMs = monotonicMs()
    const answers = await this.#gather(statusSubject, id, waitMs)
    this.#wantedMs = askedMs
    this.#noteSilence(answers, askedMs)
    const lanes = lanesIn(answers)
    if (lanes.length > 0) this.#remember(id, heardNow(lanes))
    return answers !== undefined
  }

  #noteSilence(answers: readonly Uint8Array[] | undefined, askedMs: number): void {
    if (answers !== undefined && answers.length > 0) {
      this.#silentSinceMs = undefined
      return
    }
    this.#silentSinceMs ??= askedMs
    this.#lookingOn ??= after(lookOnMs, () => void this.#lookOn())
  }

  /** If no one wants to know any more, the silence is forgotten: the next request begins another one. */
  async #lookOn(): Promise<void> {
    const askedMs = monotonicMs()
    const answers = await this.#gather(statesSubject, '[]', this.#settings.answerWaitMs).catch(
      () => undefined,
    )
    this.#lookingOn = undefined
    if (askedMs - this.#wantedMs < wantedForMs) this.#noteSilence(answers, askedMs)
    else this.#silentSinceMs = undefined
  }

  #remember(id: string, heard: Heard): void {
    this.#heard.delete(id)
    this.#heard.set(id, heard)
    for (const oldest of this.#heard.keys()) {
      if (this.#heard.size <= rememberedMax) break
      this.#heard.delete(oldest)
    }
  }

  #unanswered(id: string): DeliveryState {
    const heard = this.#heard.get(id)
    return {
      state: 'paused',
      cause: unansweredCause,
      since: isoMillis(timeOfDay(this.#silentSinceMs ?? monotonicMs())),
      as_of: heard?.as_of ?? null,
      usages: [],
      rate: null,
    }
  }
}

const lanesIn = (answers: readonly Uint8Array[] | undefined): LaneReport[] =>
  (answers ?? []).map((answer) => jsonOf<LaneReport | null>(answer)).filter((lane) => lane !== null)

const worst: readonly LaneState[] = ['healthy', 'throttled', 'failing', 'paused']

/** The place of a state among all, from 0 for healthy. */
export const severityOf = (state: LaneState): number => worst.indexOf(state)

/** The lane in the worst state, of all lanes of a destination. */
export const worstOf = <Lane extends { readonly state: LaneState }>(lanes: readonly Lane[]): Lane =>
  lanes.toSorted((a, b) => severityOf(b.state) - severityOf(a.state))[0]!

/** One state for all lanes: the worst; the last success and the last error of any present or earlier lane. */
function merged({ lanes, as_of }: Heard, known: LastOutcomes): DeliveryState & LastOutcomes {
  const { usage: _usage, rate: _rate, ...lane } = worstOf(lanes)
  const usages = lanes.flatMap(({ usage }) => usage ?? [])
  return {
    ...lane,
    ...lanes.reduce(laterOutcomes, known),
    as_of,
    usages,
    rate: rateOf(lanes),
  }
}

/** To a hundredth of an event per second. */
function rateOf(lanes: readonly LaneReport[]): number | null {
  const rates = lanes.flatMap(({ rate }) => rate ?? [])
  return rates.length === 0 ? null : Math.round(rates.reduce((sum, rate) => sum + rate, 0) * 100) / 100
}
