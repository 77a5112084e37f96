/** Compiles a draft, and what it is compared with: the configuration of one account, as it is and as it would be. */

import type { GeoDatabases } from '../../delivery/record/geo.js'
import { missingNames } from '../../delivery/record/geo-entry.js'
import { yieldTurn } from '../../ground/core/clock.js'
import { namesIn } from '../../ground/expr/expression.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import { eventSubscription } from '../../words/resource/event-subscription.js'
import { type PolicyKind, policyScopesOf } from '../../words/resource/fields/traffic-policy-check.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow, KindName } from '../../words/resource/registry.js'
import { PlannedConfiguration, type PlannedWrite } from '../evaluate/planned-configuration.js'
import { buildPolicySet, type PolicySet } from '../evaluate/policy-set.js'
import type { ConfigurationSource, IpRule } from '../evaluate/policy-source.js'
import { type AccountDraft, DraftedConfiguration } from '../evaluate/portable/account-draft.js'
import { GivenConfiguration } from '../evaluate/portable/given-configuration.js'
import { buildSubscriptionSet } from '../produce/subscriptions.js'
import { DecisionTrial } from './decision-trial.js'
import { EventTrial, type TriedSource } from './event-trial.js'
import { expectedDenials } from './expected-denials.js'
import { NameCounts, NamesOfDraft } from './name-counts.js'
import type { Examiner } from './trial.js'

/** The rows that a write would store, checked like those of the write itself. */
export interface Draft {
  readonly rows: readonly { readonly kind: string; readonly row: Row }[]
  /** All rules of a policy after the write. */
  readonly rules?: { readonly policyId: string; readonly rules: readonly IpRule[] } | undefined
  /** Many resources at once, in place of rows and rules. */
  readonly account?: AccountDraft | undefined
}

const plannedBy = ({ rows, rules }: Draft): PlannedWrite => ({ puts: rows, removals: [], rules })

/** Edges and reserved addresses of all accounts have a part in finding the edge of a record. */
const sharedKinds: readonly KindName[] = ['tcp_edge', 'https_edge', 'reserved_addr']

/**
 * The configuration that concerns the records of one account. Edges of others have their names alone: they serve their own
 * records, and what applies at them is not compiled.
 */
class AccountConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #source: ConfigurationSource
  readonly #accountId: string

  constructor(source: ConfigurationSource, accountId: string) {
    this.revision = source.revision
    this.#source = source
    this.#accountId = accountId
  }

  *rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    for (const row of this.#source.rowsOf(kind)) {
      const ownerId = kind === 'account' ? row.id : row.account_id
      if (ownerId === this.#accountId) yield row
      else if (sharedKinds.includes(kind)) yield { ...row, ip_restriction: null, policies: null }
    }
  }

  rules(ipPolicyId: string) {
    return this.#source.rules(ipPolicyId)
  }

  soleAccountId() {
    return this.#source.soleAccountId?.()
  }

  listText(chunkId: string) {
    return this.#source.listText?.(chunkId)
  }
}

interface ExaminerOptions {
  readonly accountId: string
  readonly draft: Draft
  /** The configuration in force. */
  readonly source: ConfigurationSource
  readonly geo: GeoDatabases
  readonly eventKinds: readonly AnyTrafficEvent[]
}

interface OpenedExaminer {
  /** In force. */
  readonly policySet: PolicySet
  readonly examiner: Examiner
}

export async function openExaminer(options: ExaminerOptions): Promise<OpenedExaminer> {
  const { accountId, draft } = options
  const source = new AccountConfiguration(options.source, accountId)
  const policySet = await buildPolicySet(source, undefined, yieldTurn)
  const subscription = draft.rows.find(({ kind }) => kind === eventSubscription.kind)?.row
  if (subscription !== undefined) {
    const row = subscription as unknown as DeclaredRow<'event_subscription'>
    return { policySet, examiner: await eventTrial(options, row, policySet) }
  }
  const ofDraft = draft.account === undefined ? partTrial : accountTrial
  return { policySet, examiner: await ofDraft(options, source, policySet) }
}

/** The draft of a part of a resource. */
async function partTrial(
  { draft, geo }: ExaminerOptions,
  source: ConfigurationSource,
  policySet: PolicySet,
): Promise<DecisionTrial> {
  const drafted = await buildPolicySet(
    new PlannedConfiguration(source, plannedBy(draft)),
    policySet,
    yieldTurn,
  )
  const owner = draft.rows.find(({ kind }) => Object.hasOwn(policyScopesOf, kind))
  const names = owner === undefined ? [] : [namesOfOwner(owner.kind as PolicyKind, owner.row, geo)]
  return new DecisionTrial(policySet, drafted, geo, {
    names: new NamesOfDraft(new Map(names), owner !== undefined),
  })
}

async function accountTrial(
  { accountId, draft, geo }: ExaminerOptions,
  source: ConfigurationSource,
  before: PolicySet,
): Promise<DecisionTrial> {
  const account = draft.account!
  const after = await buildPolicySet(new DraftedConfiguration(source, accountId, account), before, yieldTurn)
  const given = new GivenConfiguration(account.configuration)
  const names = (Object.keys(policyScopesOf) as PolicyKind[]).flatMap((kind) =>
    [...given.rowsOf(kind)].map((row) => namesOfOwner(kind, row, geo)),
  )
  const expected = expectedDenials(account.tests, { accountId, before, after, geo })
  return new DecisionTrial(before, after, geo, {
    names: new NamesOfDraft(new Map(names), false),
    account: { id: accountId, expected },
  })
}

function namesOfOwner(kind: PolicyKind, row: { readonly id: string }, { members }: GeoDatabases) {
  const { inbound = [], outbound = [] } = (row as PolicyOwner).policies ?? {}
  const used = [...inbound, ...outbound].flatMap(({ expressions }) =>
    // The outbound scope has the names of inbound policies, too, and reads them in the same way.
    expressions.flatMap((text) => namesIn(text, policyScopesOf[kind].outbound)),
  )
  return [row.id, new NameCounts(used, missingNames(members))] as const
}

type PolicyOwner = Partial<DeclaredRow<PolicyKind>>

async function eventTrial(
  { accountId, draft, geo, eventKinds }: ExaminerOptions,
  row: DeclaredRow<'event_subscription'>,
  policySet: PolicySet,
): Promise<EventTrial> {
  const alone = new PlannedConfiguration(nothing, plannedBy(draft))
  const { byAccount } = await buildSubscriptionSet(alone, undefined, yieldTurn, eventKinds)
  const missing = missingNames(geo.members)
  const tried: TriedSource[] = []
  const notTried: string[] = []
  for (const { type, filter } of row.sources) {
    const kind = eventKinds.find(({ name }) => name === type)
    if (kind === undefined) notTried.push(type)
    else {
      const names = filter ? namesIn(filter, kind.filterScope) : []
      tried.push({ type, madeFrom: kind.madeFrom, names: new NameCounts(names, missing) })
    }
  }
  return new EventTrial(policySet, { sources: byAccount.get(accountId), tried, notTried }, geo)
}

const nothing: ConfigurationSource = { revision: 0, rowsOf: () => [], rules: () => undefined }
