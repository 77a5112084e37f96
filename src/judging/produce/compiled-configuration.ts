/** The compiled configuration, rebuilt when it changes; changes in quick succession are compiled together. */
import { after, every, monotonicMs, now, type Timer, yieldTurn } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { Slices } from '../../ground/core/slices.js'
import type { Level } from '../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { trafficEvents } from '../../words/event/catalog.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import type { View } from '../../words/view/view.js'
import { type Challengers, noChallengers } from '../evaluate/challenger.js'
import { buildChallengers } from '../evaluate/challenger-build.js'
import { buildPolicySet, type PolicySet, withoutExpired } from '../evaluate/policy-set.js'
import type { ConfigurationSource } from '../evaluate/policy-source.js'
import { buildSubscriptionSet, type SubscriptionSet } from './subscriptions.js'

/** Policies that decide about records, and subscriptions that make events of them. Immutable, replaced as a whole. */
export interface TrafficView {
  readonly policySet: PolicySet
  readonly subscriptions: SubscriptionSet
  /** Drafts that are evaluated in addition to the policies. */
  readonly challengers: Challengers
}

/** Builds a view in slices of 5 ms, each followed by `yieldTurn`; reuses what `previous` has compiled. */
export async function buildTrafficView(
  source: ConfigurationSource,
  previous: TrafficView | undefined,
  yieldTurn: () => Promise<void>,
  eventKinds: readonly AnyTrafficEvent[] = trafficEvents,
  withChallengers = true,
): Promise<TrafficView> {
  const policySet = await buildPolicySet(source, previous?.policySet, yieldTurn)
  const subscriptions = await buildSubscriptionSet(source, previous?.subscriptions, yieldTurn, eventKinds)
  const challengers = withChallengers
    ? await challengersOver(policySet, source, previous?.challengers, yieldTurn)
    : noChallengers
  return { policySet, subscriptions, challengers }
}

/** The view without what has expired. Nothing else is built again: rules may expire every second. */
async function viewWithoutExpired(
  source: ConfigurationSource,
  { policySet: previous, subscriptions, challengers: compared }: TrafficView,
  yieldTurn: () => Promise<void>,
): Promise<TrafficView> {
  const policySet = await withoutExpired(previous, yieldTurn, now())
  const challengers =
    compared === noChallengers ? noChallengers : await challengersOver(policySet, source, compared, yieldTurn)
  return { policySet, subscriptions, challengers }
}

const challengersOver = (
  policySet: PolicySet,
  source: ConfigurationSource,
  previous: Challengers | undefined,
  yieldTurn: () => Promise<void>,
): Promise<Challengers> =>
  buildChallengers(source, policySet, previous, new Slices({ letOthers: yieldTurn }), now())

/** Changes that arrive within this time are compiled together; a change must take effect within 2 s. */
export const changeCoalesceMs = 200
/**
 * A rule that expires must be without effect within 2 s, too. The clock is read this often instead of once at the end of a
 * timer, because it may be set in between.
 */
const expiryLookMs = 1_000

export class Configuration {
  readonly #view: View
  readonly #occurrences: Occurrences
  readonly #eventKinds: readonly AnyTrafficEvent[]
  readonly #role: string
  readonly #comparesRecords: boolean
  #current: TrafficView | undefined
  #building: Promise<void> = Promise.resolve()
  #timer: Timer | undefined
  readonly #expiring: Timer
  #isBuilding = false
  #appliedMs: number | undefined

  /** `role`: of this process, in its metrics. `comparesRecords`: with challengers, which only records are compared with. */
  constructor(
    view: View,
    occurrences: Occurrences,
    eventKinds: readonly AnyTrafficEvent[],
    role: string,
    comparesRecords = true,
  ) {
    this.#role = role
    this.#comparesRecords = comparesRecords
    this.#view = view
    this.#eventKinds = eventKinds
    this.#occurrences = occurrences
    occurrences.configurationAge(() => this.#age())
    view.onChange(() => {
      this.#timer ??= after(changeCoalesceMs, () => void this.#buildInTurn())
    })
    this.#expiring = every(expiryLookMs, () => this.#buildIfExpired())
  }

  /** Resolves when there is a configuration to evaluate against. */
  async open(): Promise<void> {
    await this.#view.usable
    await this.#buildInTurn()
  }

  get current(): TrafficView {
    if (this.#current === undefined) throw new Error('The configuration is used before it is open.')
    return this.#current
  }

  /** Does the current one have all that is in this revision of the bucket? */
  covers(revision: number): boolean {
    if (this.current.policySet.revision >= revision) return true
    // Not every revision changes what is compiled.
    return this.#view.state.revision >= revision && this.#timer === undefined && !this.#isBuilding
  }

  /** A build that fails is tried again at the next look. */
  async #buildIfExpired(): Promise<void> {
    if (this.#hasExpired()) await this.#inTurn(() => this.#dropExpired())
  }

  #hasExpired(): boolean {
    if (this.#current === undefined) return false
    const { policySet, challengers } = this.#current
    return Math.min(policySet.contents.expiresMs, challengers.expiresMs) <= now()
  }

  #buildInTurn(): Promise<void> {
    return this.#inTurn(() => this.#build())
  }

  /** One build at a time, so that an older configuration never replaces a newer one. */
  #inTurn(build: () => Promise<void>): Promise<void> {
    this.#building = this.#building.then(build)
    return this.#building
  }

  async #dropExpired(): Promise<void> {
    // A build that was ahead may have left it out already.
    if (!this.#hasExpired()) return
    try {
      this.#current = await viewWithoutExpired(this.#view.state, this.current, yieldTurn)
    } catch (error) {
      this.#occurrences.configurationUnbuilt({ reason: messageOf(error) })
    }
  }

  async #build(): Promise<void> {
    // It has every change until now; one that comes while it is built is announced again.
    this.#timer?.stop()
    this.#timer = undefined
    this.#isBuilding = true
    try {
      this.#current = await buildTrafficView(
        this.#view.state,
        this.#current,
        yieldTurn,
        this.#eventKinds,
        this.#comparesRecords,
      )
      this.#appliedMs = monotonicMs()
      const { revision } = this.#current.policySet
      this.#occurrences.configurationBuilt({ revision })
      this.#occurrences.configurationRevision({ role: this.#role }, revision)
    } catch (error) {
      this.#occurrences.configurationUnbuilt({ reason: messageOf(error) })
    } finally {
      this.#isBuilding = false
    }
  }

  #age(): Level<'role'>[] {
    return this.#appliedMs === undefined
      ? []
      : [[{ role: this.#role }, (monotonicMs() - this.#appliedMs) / 1000]]
  }

  close(): void {
    this.#timer?.stop()
    this.#expiring.stop()
  }
}
