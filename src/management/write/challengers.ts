/** Plans of challengers: their creation, their promotion to the configuration, and their end by hand. */
import { isoSeconds, now } from '../../ground/core/clock.js'
import { badRequest, conflict, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import {
  challengerState,
  type challengerStates,
  challenger as declared,
} from '../../words/resource/challenger.js'
import type { ChallengerDraft } from '../../words/resource/challenger-draft.js'
import { ipPolicyRule } from '../../words/resource/ip-policy.js'
import { ipRestriction } from '../../words/resource/ip-restriction.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { type DeclaredRow, resourceOf } from '../../words/resource/registry.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import { rowOf } from '../exchange/rows.js'
import { type Draft, isEmpty, type Plan } from '../store/change/plan.js'
import { basisOf, outdatedIn } from './challenger-basis.js'
import { draftChanges } from './challenger-changes.js'
import type { WriteResult, Writes } from './writes.js'

const challenger = anyResource(declared)
type Challenger = DeclaredRow<'challenger'>
type State = (typeof challengerStates)[number]

/** A head has at most 960 KiB, if NATS takes messages of 1 MiB; the draft itself is in it, too. */
const promotionBytesMax = 640 * 1024

export class Challengers {
  readonly #writes: Writes

  constructor(writes: Writes) {
    this.#writes = writes
  }

  /** A draft is checked exactly as its promotion would be at present. */
  async create(
    caller: Caller,
    values: Readonly<Record<string, unknown>>,
    requestedAt: number,
  ): Promise<Plan<WriteResult>> {
    const draft = withIds(values['draft'] as ChallengerDraft)
    const complete = (row: Row, state: ViewState): Row => ({
      ...row,
      based_on: basisOf(state, caller.accountId, draft, values['draft'] as ChallengerDraft),
    })
    const whole = { ...values, draft }
    const plan = await this.#writes.create(caller, challenger, whole, requestedAt, complete)
    return (state, version, at) => {
      const created = plan(state, version, at)
      const row = created.result.row as Row & Challenger
      const changes = draftChanges(this.#writes, caller, row)(state, version, at)
      if (isEmpty(changes)) throw badRequest('"draft" changes nothing: everything in it is so already.')
      checkSize(changes)
      const { puts, removals, check } = changes
      return { ...created, check: async ({ state }) => check?.({ state, puts, removals }) }
    }
  }

  /** Makes the draft the configuration: all of it, or nothing. */
  promote(caller: Caller, id: string): Plan<WriteResult> {
    return (state, version, at) => {
      const row = this.#open(state, caller, id)
      const outdated = outdatedIn(state, row)
      if (outdated.length > 0) throw outdatedDraft(id, outdated)
      const changes = draftChanges(this.#writes, caller, row)(state, version, at)
      const promoted = this.#ended(caller, id, 'promoted_at')(state, version, at)
      return {
        ...changes,
        puts: [...promoted.puts, ...changes.puts],
        audits: [...promoted.audits, ...changes.audits],
        result: promoted.result,
      }
    }
  }

  /** Ends it; its results stay. */
  discard(caller: Caller, id: string): Plan<WriteResult> {
    return (state, version, at) => {
      this.#open(state, caller, id)
      return this.#ended(caller, id, 'discarded_at')(state, version, at)
    }
  }

  #ended(caller: Caller, id: string, field: 'promoted_at' | 'discarded_at'): Plan<WriteResult> {
    return (state, version, at) =>
      this.#writes.update(caller, challenger, id, () => ({ [field]: isoSeconds(at) }))(state, version, at)
  }

  /** One about which nothing is decided yet. */
  #open(state: ViewState, { accountId }: Caller, id: string): Challenger {
    const row = rowOf(state, accountId, challenger, id) as Row & Challenger
    const known: State = challengerState(row, now())
    if (known === 'promoted' || known === 'discarded')
      throw conflict(`The challenger ${id} was ${known} at ${row.promoted_at ?? row.discarded_at}.`)
    return row
  }
}

/** Refuses a draft that could never be promoted: all that it changes is one record, which must fit a message. */
function checkSize({ puts, removals, audits }: Draft<unknown>): void {
  const bytes = Buffer.byteLength(JSON.stringify([puts, removals, audits]))
  if (bytes <= promotionBytesMax) return
  throw badRequest(
    `"draft" changes resources of ${bytes} bytes as JSON at once: at most ${promotionBytesMax} are allowed. Draft fewer edges, routes or rules.`,
  )
}

/** Gives ids to what is new, so that decisions by it can be told apart; a promotion keeps them. */
const withIds = (draft: ChallengerDraft): ChallengerDraft => ({
  ...draft,
  ip_policies: draft.ip_policies.map((entry) => ({
    ...entry,
    add: entry.add.map((rule) => ({ ...rule, id: newId(ipPolicyRule.idPrefix) })),
  })),
  ip_restrictions: draft.ip_restrictions.map(({ id, ...entry }) => ({
    id: id ?? newId(ipRestriction.idPrefix),
    ...entry,
  })),
})

function outdatedDraft(id: string, outdated: readonly { kind: string; id: string; why: string }[]) {
  const [first, ...others] = outdated
  const more = others.length === 0 ? '' : ` ${others.length} more are in "details".`
  return new WeirError(
    'ERR_DRAFT_OUTDATED',
    `The ${resourceOf(first!.kind).title} ${first!.id} ${first!.why} since the challenger ${id} was drafted: make a new one from what is there now.${more}`,
    { details: Object.fromEntries(outdated.map(({ id, why }) => [id, why])) },
  )
}
