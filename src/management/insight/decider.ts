/**
 * Start here: explains decisions. Decides for an account, with its present configuration or an earlier one, and names who
 * added the part that decided and who changed it last. The evaluator is that of the pipeline.
 */

import type { GeoLookup } from '../../delivery/record/geo.js'
import type { DecisionRequest } from '../../delivery/record/record.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { WeirError } from '../../ground/core/errors.js'
import { Slices } from '../../ground/core/slices.js'
import type { Challenger, ChallengerRow } from '../../judging/evaluate/challenger.js'
import { buildChallenger } from '../../judging/evaluate/challenger-build.js'
import { type Decided, decideRecord, explainChallenged, ofAccount } from '../../judging/evaluate/decide.js'
import type { Phase } from '../../judging/evaluate/evaluate.js'
import { type Unserved, unservedFor } from '../../judging/evaluate/unserved.js'
import { apiKey } from '../../words/resource/api-key.js'
import { resources } from '../../words/resource/registry.js'
import type { Addition, LastChange } from '../../words/shape/decisions/change-schema.js'
import { authorDescription } from '../../words/shape/decisions/change-schema.js'
import type { Decision } from '../../words/shape/decisions/decision.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { AccountPolicies } from '../access/account-policies.js'
import { accountSource } from '../access/account-source.js'
import type { PastRows } from '../store/history/past-rows.js'
import { additionsOf, rulesAdded, type StoredAddition } from './additions.js'
import { type AlsoRead, PastPolicyReader } from './past-policies.js'

interface DeciderOptions {
  readonly pastRows: PastRows
  readonly geo: GeoLookup
  readonly policies: AccountPolicies
}

interface Moment {
  /** The revision of the configuration to decide by; undefined for the present one. */
  readonly revision?: number | undefined
  readonly phase?: Phase
  /** The question's choice for a name that no edge serves; undefined: that of the account's proxies. */
  readonly unserved?: Unserved | undefined
  /** When an earlier configuration decided, if that is known: rules of it that had expired by then are left out. */
  readonly atMs?: number
}

/** When a record was decided, and by which revision. */
interface PastMoment {
  readonly revision: number
  readonly atMs: number
}

export interface DecidedThen extends Decided {
  /** The version of the account whose configuration decided; undefined if that is the present one. */
  readonly pastVersion: number | undefined
}

export class Decider {
  readonly #options: DeciderOptions
  readonly #pastPolicies: PastPolicyReader

  constructor(options: DeciderOptions) {
    this.#options = options
    this.#pastPolicies = new PastPolicyReader(options.pastRows)
  }

  async decide(
    state: ViewState,
    accountId: string,
    asked: DecisionRequest,
    { revision, phase = 'opening', atMs = 0, unserved }: Moment,
  ): Promise<DecidedThen> {
    const then = await this.#policiesAt(state, accountId, asked.record, { revision, atMs })
    const { policySet, version, pastVersion } = then
    const decided = decideRecord(policySet, this.#options.geo, ofAccount(accountId, asked), accountId, {
      phase,
      unserved: unserved ?? unservedFor(policySet, accountId),
    })
    if (!decided.ok) throw new WeirError(decided.problem.code, decided.problem.msg)
    const { answer, judgement } = decided.value
    return {
      answer: await this.#withAuthors(state, accountId, version, answer),
      judgement,
      pastVersion,
    }
  }

  /** The decision of a challenger over the configuration of a revision, explained. */
  async challenged(
    state: ViewState,
    row: ChallengerRow,
    record: TrafficRecord,
    moment: PastMoment,
  ): Promise<Pick<Decision, 'decision' | 'explanation'>> {
    const { policySet, challenger } = await this.#challengerOver(state, row, record, moment)
    const found = policySet.findEdgeOf(row.account_id, record)
    if (!found.ok) throw new WeirError('ERR_INVALID_REQUEST', found.problem.msg)
    return explainChallenged(challenger, record, found.value, this.#options.geo)
  }

  /** A challenger over the configuration of a revision, as far as it decides about this record. */
  async challengerAt(
    state: ViewState,
    row: ChallengerRow,
    record: TrafficRecord,
    moment: PastMoment,
  ): Promise<Challenger> {
    const { challenger } = await this.#challengerOver(state, row, record, moment)
    return challenger
  }

  async #challengerOver(state: ViewState, row: ChallengerRow, record: TrafficRecord, moment: PastMoment) {
    const asked = { ...moment, also: namedIn(row) }
    const { policySet, source } = await this.#policiesAt(state, row.account_id, record, asked)
    const challenger = await buildChallenger(source, policySet, row, new Slices(), moment.atMs)
    return { policySet, challenger }
  }

  async #policiesAt(
    state: ViewState,
    accountId: string,
    record: TrafficRecord,
    { revision, atMs, also }: { revision: number | undefined; atMs: number; also?: AlsoRead },
  ) {
    const past =
      revision === undefined
        ? undefined
        : await this.#pastPolicies.at(state, accountId, revision, record, atMs, also)
    const { policies } = this.#options
    return {
      policySet: past?.policySet ?? (await policies.of(state, accountId, revision)),
      source: past?.source ?? accountSource(state, accountId),
      version: past?.version ?? state.versionOf(accountId),
      pastVersion: past?.version,
    }
  }

  /** Adds who added the part that decided, and the rules that won, and who changed it last. */
  async #withAuthors(
    state: ViewState,
    accountId: string,
    version: number,
    answer: Decision,
  ): Promise<Decision> {
    const { explanation } = answer
    if (explanation === undefined) return answer
    const { pastRows } = this.#options
    const { rule_id, id } = explanation.decided_by
    const [found, { decider, rules }] = await Promise.all([
      lastChangeOf(rule_id ?? id, (kind, deciding) =>
        pastRows.lastChange(accountId, kind, deciding, version),
      ),
      additionsOf({ pastRows, accountId, version }, explanation),
    ])
    const named = await this.#naming(state, accountId, [found, decider, ...rules.values()])
    const added = (addition: StoredAddition | null | undefined): Addition | null =>
      addition ? named(addition) : null
    return {
      ...answer,
      explanation: {
        ...explanation,
        ip_policies: explanation.ip_policies.map((group) => ({
          ...group,
          rules: group.rules.map((rule) =>
            rule.won ? { ...rule, added: added(rules.get(rule.rule_id)) } : rule,
          ),
        })),
        decided_by: {
          ...explanation.decided_by,
          added: added(decider),
          last_change: found && named(found),
        },
      },
    }
  }

  /** When these rules of the account were added, and by whom, by their ids. */
  async rulesAdded(
    state: ViewState,
    accountId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Addition>> {
    if (ids.length === 0) return new Map()
    const { pastRows } = this.#options
    const found = await rulesAdded({ pastRows, accountId, version: state.versionOf(accountId) }, ids)
    const named = await this.#naming(state, accountId, [...found.values()])
    return new Map([...found].map(([id, addition]) => [id, named(addition)]))
  }

  /** Adds to any of these changes how the account calls its author. */
  async #naming(state: ViewState, accountId: string, changes: readonly (Authored | null)[]) {
    const authors = new Set(changes.flatMap((change) => change?.by ?? []))
    const named = [...authors].map(async (by) => [by, await this.#authorOf(state, accountId, by)] as const)
    const names = new Map(await Promise.all(named))
    return <Change extends Authored>(change: Change) => ({
      ...change,
      by_description: names.get(change.by ?? '') ?? null,
    })
  }

  /** The author of a change, as the account calls its key; only a deleted key has to be read. */
  async #authorOf(state: ViewState, accountId: string, by: string): Promise<string | null> {
    const key = state.rows.get(apiKey.kind)?.get(by)
    const isKey = by.startsWith(apiKey.idPrefix)
    const isDeleted = isKey && key?.account_id !== accountId
    const description = isDeleted
      ? await this.#options.pastRows.keyDescription(accountId, by)
      : (key?.['description'] as string | null | undefined)
    return authorDescription(by, description)
  }
}

interface Authored {
  readonly by: string | null
}

type StoredChange = Omit<LastChange, 'by_description'>

async function lastChangeOf(
  id: string | null,
  read: (kind: string, id: string) => Promise<StoredChange | undefined>,
): Promise<StoredChange | null> {
  const resource = resources.find(({ idPrefix }) => id?.startsWith(idPrefix))
  return resource === undefined || id === null ? null : ((await read(resource.kind, id)) ?? null)
}

/** The policies and lists that a draft names. */
function namedIn({ draft }: ChallengerRow): AlsoRead {
  const owners = [...draft.edges, ...draft.routes]
  const modules = owners.map(({ ip_restriction }) => ip_restriction)
  const rules = draft.ip_policies.flatMap(({ add, change }) => [...add, ...change])
  return {
    policyIds: [
      ...draft.ip_policies.map(({ id }) => id),
      ...[...modules, ...draft.ip_restrictions].flatMap((each) => each?.ip_policy_ids ?? []),
    ],
    listIds: rules.flatMap(({ list_id }) => list_id ?? []),
    owners,
  }
}
