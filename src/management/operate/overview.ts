/**
 * The overview of an account: one answer from its destinations, dead letters, certificates, the decision log and the
 * stream of records. Each part is kept for a while and has a time limit of its own, so an answer neither costs much
 * however often it is asked for, nor fails because one source does: such a part is named as unknown, with the reason.
 */

import { warningMs } from '../../delivery/deliver/expiry.js'
import { noAccount } from '../../delivery/wire/decision-rows.js'
import { isoMillis, now } from '../../ground/core/clock.js'
import { messageOf, WeirError } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import type { Links } from '../../words/resource/kind/define.js'
import type { Attention, OverviewAnswer, OverviewPart } from '../../words/shape/overview.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { AccountPolicies } from '../access/account-policies.js'
import { rowsOf } from '../exchange/rows.js'
import type { RoleVersions } from '../process/role-versions.js'
import type { FailedPlaces, FailureReader } from '../store/logs/failure-reader.js'
import type { LogReader } from '../store/logs/log-reader.js'
import type { UnservedNames } from '../store/logs/unserved-names.js'
import { isUnheard } from './advice/delivery-advice.js'
import type { DeadLetters } from './dead-letters.js'
import { attention, counted, destinationAttention, timeText, worstFirst } from './destination-attention.js'
import type { DestinationOperations } from './destination-operations.js'
import { expiringResources } from './expiring-resources.js'
import { failingExpressions } from './failing-expressions.js'
import { failingLists, type ListStatuses } from './failing-lists.js'
import { KeptAnswers } from './kept-answers.js'
import { lettersAttention } from './letter-attention.js'
import type { Lag, RecordsLag } from './records-lag.js'
import { namesFinding, namesRead, unownedFinding } from './unserved-names.js'

interface OverviewSources {
  /** Throws while the view is not usable. */
  readonly stateOf: () => ViewState
  readonly destinations: Pick<DestinationOperations, 'statuses' | 'worst' | 'losses'>
  readonly letters: Pick<DeadLetters, 'search'>
  readonly log: Pick<LogReader, 'unservedNames' | 'mode'>
  readonly failures: Pick<FailureReader, 'places' | 'mode'>
  readonly lag: Pick<RecordsLag, 'now'>
  readonly versions: Pick<RoleVersions, 'troubles'>
  readonly links: Pick<Links, 'uri'>
  readonly statuses: ListStatuses
  readonly policies: Pick<AccountPolicies, 'of'>
  readonly retentionMs: number
  readonly occurrences: Pick<Occurrences, 'overviewPartUnread'>
}

const destinationsShown = 50
const attentionShown = 100
/** An account with more has a longer list to look at. */
const failuresCounted = 100
const dayMs = 24 * 60 * 60_000
/** Records wait for less in the ordinary course. */
const lagMs = 30_000

/** What is the same for all of them is kept once. */
const everyAccount = ''
const answerWaitMs = 10_000
/** A first screen waits for these. Expensive parts are read less often. */
const second = { keepMs: 1_000, waitMs: 3_000 }
const seconds = { keepMs: 10_000, waitMs: 3_000 }
const minute = { keepMs: 60_000, waitMs: 3_000 }

interface Part {
  readonly attention: readonly Attention[]
}

interface DestinationsPart extends Part, Pick<OverviewAnswer, 'destinations' | 'destinations_left_out'> {
  /** No deliverer has answered for some of them yet: nothing is known of these. */
  readonly unheard: number
}

const noDestinations: DestinationsPart = {
  attention: [],
  destinations: [],
  destinations_left_out: 0,
  unheard: 0,
}

export class Overview {
  readonly #sources: OverviewSources
  readonly #answers: KeptAnswers<OverviewAnswer>
  readonly #destinations: KeptAnswers<DestinationsPart>
  readonly #letters: KeptAnswers<Part>
  readonly #certificates: KeptAnswers<Part>
  readonly #names: KeptAnswers<UnservedNames>
  readonly #failures: KeptAnswers<Pick<FailedPlaces, 'places'>>
  readonly #versions: KeptAnswers<readonly string[]>

  constructor(sources: OverviewSources) {
    this.#sources = sources
    this.#answers = new KeptAnswers({ ...second, waitMs: answerWaitMs }, (id) => this.#answerFor(id))
    this.#destinations = new KeptAnswers(second, (id) => this.#destinationsOf(id))
    this.#letters = new KeptAnswers(seconds, (id) => this.#lettersOf(id))
    this.#certificates = new KeptAnswers(seconds, (id) => this.#endingOf(id))
    this.#names = new KeptAnswers(minute, (id) => this.#namesOf(id))
    this.#failures = new KeptAnswers(seconds, (id) => this.#failuresOf(id))
    this.#versions = new KeptAnswers(seconds, () => sources.versions.troubles())
  }

  of(accountId: string): Promise<OverviewAnswer> {
    return this.#answers.of(accountId)
  }

  async #answerFor(accountId: string): Promise<OverviewAnswer> {
    const unknown: OverviewAnswer['unknown'] = []
    const part = async <T>(name: OverviewPart, reading: Promise<T>): Promise<T | undefined> => {
      try {
        return await reading
      } catch (error) {
        unknown.push({ part: name, reason: this.#reasonOf(name, error) })
        return undefined
      }
    }
    const [destinations = noDestinations, letters, certificates, names, failures, lag, versions] =
      await Promise.all([
        part('destinations', this.#destinations.of(accountId)),
        part('dead_letters', this.#letters.of(accountId)),
        part('certificates', this.#certificates.of(accountId)),
        part('unserved_names', this.#namesFinding(accountId)),
        part('failing_expressions', this.#failures.of(accountId)),
        part('records_lag', this.#sources.lag.now()),
        part('role_versions', this.#versions.of(everyAccount)),
      ])
    if (destinations.unheard > 0) unknown.push({ part: 'destinations', reason: unheardReason })
    const found = worstFirst([
      ...destinations.attention,
      ...(letters?.attention ?? []),
      ...(certificates?.attention ?? []),
      ...lagFinding(lag, now()),
      ...(versions ?? []).map(versionsFinding),
      ...(names ?? []),
      ...(failures === undefined ? [] : this.#failuresFinding(failures)),
      ...failingLists(this.#sources.stateOf(), accountId, this.#sources.statuses, now()),
      ...this.#logFinding(),
    ])
    return {
      ...summaryOf(found, destinations, unknown),
      as_of: isoMillis(now()),
      destinations: destinations.destinations,
      destinations_left_out: destinations.destinations_left_out,
      attention: found.slice(0, attentionShown),
      attention_left_out: Math.max(0, found.length - attentionShown),
      records_lag: lag === undefined ? null : shownLag(lag),
      unknown,
    }
  }

  /** Errors that are not meant for clients are in the log only. */
  #reasonOf(part: OverviewPart, error: unknown): string {
    this.#sources.occurrences.overviewPartUnread({ part, reason: messageOf(error) })
    return error instanceof WeirError ? error.message : 'It was not read because of an internal error.'
  }

  async #destinationsOf(accountId: string): Promise<DestinationsPart> {
    const { stateOf, destinations, retentionMs } = this.#sources
    const rows = [...rowsOf(stateOf(), accountId, eventDestination.kind)]
    const worst = (await destinations.worst(rows, destinationsShown)) ?? rows.slice(0, destinationsShown)
    const statuses = await destinations.statuses(worst)
    const byId = new Map(worst.map((row) => [row.id, row]))
    const lossesOf = (id: string) => destinations.losses(byId.get(id)!)
    const nowMs = now()
    const found = destinationAttention(statuses, lossesOf, { nowMs, warningMs: warningMs(retentionMs) })
    const severityOf = new Map<string, number>()
    for (const [place, { ids }] of worstFirst(found).entries())
      for (const id of ids) getOrMake(severityOf, id, () => place)
    const placeOf = ({ destination_id }: { readonly destination_id: string }): number =>
      severityOf.get(destination_id) ?? found.length
    return {
      attention: found,
      destinations: statuses.toSorted(
        (one, other) =>
          placeOf(one) - placeOf(other) || other.status.backlog.events - one.status.backlog.events,
      ),
      destinations_left_out: rows.length - worst.length,
      unheard: statuses.filter(({ status }) => isUnheard(status, nowMs)).length,
    }
  }

  async #lettersOf(accountId: string): Promise<Part> {
    return { attention: await lettersAttention(this.#sources, accountId) }
  }

  async #endingOf(accountId: string): Promise<Part> {
    return { attention: await expiringResources(this.#sources.stateOf, accountId, now()) }
  }

  async #namesOf(accountId: string): Promise<UnservedNames> {
    const { log } = this.#sources
    // Without a row for every record, the finding about the log says that they are not counted.
    if (log.mode !== 'all') return { names: [], namesCount: 0, records: 0, recordsOfAll: 0 }
    return log.unservedNames(accountId, now() - dayMs, namesRead)
  }

  /** A name that an edge serves by now is left out at once, although its records are in the log. */
  async #namesFinding(accountId: string): Promise<Attention[]> {
    const { stateOf, policies } = this.#sources
    const [own, unowned] = await Promise.all([this.#names.of(accountId), this.#names.of(noAccount)])
    return [...(await namesFinding(own, stateOf(), accountId, policies)), ...unownedFinding(unowned)]
  }

  async #failuresOf(accountId: string): Promise<Pick<FailedPlaces, 'places'>> {
    const { failures } = this.#sources
    // The finding about the log says that they are not known.
    if (failures.mode === 'off') return { places: [] }
    return failures.places({ accountId, sinceMs: now() - dayMs, limit: failuresCounted })
  }

  #failuresFinding(failures: Pick<FailedPlaces, 'places'>): Attention[] {
    const { stateOf, links } = this.#sources
    return failingExpressions(failures, { state: stateOf(), links, nowMs: now() })
  }

  #logFinding(): Attention[] {
    const { mode } = this.#sources.log
    if (mode === 'all') return []
    const sentence =
      mode === 'off'
        ? 'The decision log is off (WEIR_DECISION_LOG): decisions, names that no edge serves, and expressions without a result are not counted.'
        : 'The decision log has only what was blocked or denied (WEIR_DECISION_LOG): what was let in, and names that no edge serves, are not counted.'
    return [attention({ type: 'decision_log', severity: 'notice', sentence, scope: 'deployment' })]
  }
}

const versionsFinding = (sentence: string): Attention =>
  attention({ type: 'role_versions', severity: 'attention', sentence, scope: 'deployment' })

const unheardReason = 'No deliverer has answered for some of them yet.'

function lagFinding(lag: Lag | undefined, nowMs: number): Attention[] {
  if (lag?.oldestAtMs === undefined || nowMs - lag.oldestAtMs < lagMs) return []
  const since = isoMillis(lag.oldestAtMs)
  const sentence = `Records of this deployment wait since ${timeText(since)}: ${counted(lag.messages, 'message')} of all accounts, not only of yours.`
  const about = { count: lag.messages, since, scope: 'deployment' } as const
  return [attention({ type: 'records_lag', severity: 'attention', sentence, ...about })]
}

const shownLag = ({ messages, oldestAtMs }: Lag): OverviewAnswer['records_lag'] => ({
  messages,
  oldest_at: oldestAtMs === undefined ? null : isoMillis(oldestAtMs),
})

/** The sentence is that of the worst finding. */
function summaryOf(
  found: readonly Attention[],
  { destinations, destinations_left_out }: DestinationsPart,
  unknown: OverviewAnswer['unknown'],
): Pick<OverviewAnswer, 'state' | 'sentence'> {
  const [worst] = found
  const more = found.filter(({ severity }) => severity !== 'notice').length - 1
  if (worst !== undefined && worst.severity !== 'notice') {
    const others = more === 0 ? '' : ` ${more} more ${more === 1 ? 'thing needs' : 'things need'} a hand.`
    return { state: worst.severity, sentence: `${worst.sentence}${others}` }
  }
  if (unknown.length > 0) {
    const parts = unknown.map(({ part }) => part.replaceAll('_', ' ')).join(', ')
    return {
      state: 'attention',
      sentence: `Nothing else needs a hand, but this is not known: ${parts}. ${unknown[0]!.reason}`,
    }
  }
  const all = destinations.length + destinations_left_out
  const sentence =
    all === 0
      ? 'Nothing needs a hand. There are no destinations yet, so no events are sent.'
      : `All is well: ${all === 1 ? 'the destination accepts its' : `all ${all} destinations accept their`} events.`
  return { state: 'ok', sentence }
}
