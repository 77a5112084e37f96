/**
 * How the deliverers say that a destination is doing. They are asked, and a busy machine may answer late: then what
 * they said last is told with its age. That none of them answers is said only after some seconds of silence.
 */
import { isoMillis, now } from '../core/clock.js'
import type { LaneState, LaneStatus } from '../deliver/health.js'
import { type LastOutcomes, laterOutcomes } from '../wire/last-outcomes.js'
import { statusSubject } from '../wire/names.js'

/** Asks all deliverers, and answers what came within the time; undefined if nobody listens. */
export type Gather = (subject: string, data: string, waitMs: number) => Promise<Uint8Array[] | undefined>

/** The state of all lanes together; `as_of` is when deliverers said so, null if they never did. */
export type DeliveryState = Omit<LaneStatus, 'cause' | keyof LastOutcomes> & {
  readonly cause: string | null
  readonly as_of: string | null
}

interface Heard {
  readonly lanes: readonly LaneStatus[]
  readonly atMs: number
}

export interface StatesSettings {
  /** Long enough for every deliverer to answer, short enough for a request to wait. */
  readonly answerWaitMs: number
  /** What was heard longer ago than this is asked for again, for this long. */
  readonly freshMs: number
  /** Without an answer for this long, no deliverer answers. */
  readonly silenceMs: number
}

const settingsDefault: StatesSettings = { answerWaitMs: 300, freshMs: 2_000, silenceMs: 10_000 }

/** Destinations whose state is remembered. */
const rememberedMax = 10_000

export class DeliveryStates {
  readonly #gather: Gather
  readonly #settings: StatesSettings
  readonly #heard = new Map<string, Heard>()
  /** The first ask since an answer to any. */
  #silentSinceMs: number | undefined

  constructor(gather: Gather, settings: Partial<StatesSettings> = {}) {
    this.#gather = gather
    this.#settings = { ...settingsDefault, ...settings }
  }

  /** `known`: what the books know of earlier lanes. */
  async of(destinationId: string, known: LastOutcomes): Promise<DeliveryState & LastOutcomes> {
    const heard = await this.#latest(destinationId)
    return heard === undefined ? { ...this.#unanswered(destinationId), ...known } : merged(heard, known)
  }

  async #latest(id: string): Promise<Heard | undefined> {
    const { answerWaitMs, freshMs, silenceMs } = this.#settings
    const askedMs = now()
    for (;;) {
      const isListened = await this.#ask(id, answerWaitMs)
      const heard = this.#heard.get(id)
      if (heard !== undefined && heard.atMs >= askedMs) return heard
      if (now() - (this.#silentSinceMs ?? now()) >= silenceMs) return undefined
      if (!isListened) return heard
      // What was just heard is good enough; what is older is worth another try, and nothing at all worth many.
      const patienceMs = heard === undefined ? silenceMs : askedMs - heard.atMs < freshMs ? 0 : freshMs
      if (now() - askedMs >= patienceMs) return heard
    }
  }

  /** Asks once and remembers what is answered; false if nobody listens. */
  async #ask(id: string, waitMs: number): Promise<boolean> {
    const askedMs = now()
    const answers = await this.#gather(statusSubject, id, waitMs)
    if (answers === undefined || answers.length === 0) this.#silentSinceMs ??= askedMs
    else this.#silentSinceMs = undefined
    const lanes = (answers ?? [])
      .map((answer) => JSON.parse(Buffer.from(answer).toString()) as LaneStatus | null)
      .filter((lane) => lane !== null)
    if (lanes.length > 0) this.#remember(id, { lanes, atMs: now() })
    return answers !== undefined
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
      cause: 'no deliverer answers',
      since: isoMillis(this.#silentSinceMs ?? now()),
      as_of: heard === undefined ? null : isoMillis(heard.atMs),
    }
  }
}

const worst: readonly LaneState[] = ['healthy', 'throttled', 'failing', 'paused']

/** One state of all lanes: the worst of them, the last success and the last error of any that is or ever was. */
function merged({ lanes, atMs }: Heard, known: LastOutcomes): DeliveryState & LastOutcomes {
  const lane = lanes.toSorted((a, b) => worst.indexOf(b.state) - worst.indexOf(a.state))[0]!
  return { ...lane, ...lanes.reduce(laterOutcomes, known), as_of: isoMillis(atMs) }
}
