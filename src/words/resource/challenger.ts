/**
 * Challengers: whole drafts that are evaluated alongside the configuration in force, on the account's live records.
 * When to take a challenger, and when something else: docs/before-a-change.md.
 */
import { isoSeconds, now } from '../../ground/core/clock.js'
import { badRequest, conflict } from '../../ground/core/errors.js'
import {
  challengersEvaluatedMax,
  challengersEvaluatedPerAccountMax,
  challengersPerAccountMax,
} from '../../ground/core/limits.js'
import { mapOf, objectOf, oneOf, Type } from '../../ground/core/schema.js'
import { type ChallengerDraft, checkDraft, completeDraft, draftSchema } from './challenger-draft.js'
import { asIs, assigned, derived, described, field, observed, required } from './fields/fields.js'
import { canonicalTime, secondsOf, timestamp } from './fields/timestamp-field.js'
import { defineResource, type Row } from './kind/define.js'
import { exampleId } from './kind/examples.js'

/** A challenger runs for at most seven days: then its draft is a change to make, or not. */
const runningDaysMax = 7
const runningHoursDefault = 24
const dayMs = 24 * 60 * 60_000

const basis = objectOf(
  {
    kind: Type.String(),
    id: Type.String(),
    edge_id: Type.Optional(Type.String({ description: 'The HTTPS edge of a route.' })),
    version: Type.Integer({
      minimum: 0,
      description: 'Of the resource; of an IP policy, of its newest rule.',
    }),
    rules: Type.Optional(
      Type.Integer({ minimum: 0, description: 'How many rules an IP policy has that have not expired.' }),
    ),
    expiring: Type.Optional(
      Type.Array(
        objectOf({ at: Type.String({ format: 'date-time' }), rules: Type.Integer({ minimum: 1 }) }),
        {
          description:
            'When how many of them expire: the first hundred times. A rule that expires is no change of what was drafted from, unless the draft names it.',
        },
      ),
    ),
  },
  { title: 'ChallengerBasis' },
)

export interface ChallengerBasis {
  readonly kind: string
  readonly id: string
  readonly edge_id?: string
  readonly version: number
  readonly rules?: number
  readonly expiring?: readonly { readonly at: string; readonly rules: number }[]
}

const time = Type.String({ format: 'date-time' })

/** The fields of a challenger that say whether it runs. */
interface Outcome {
  readonly created_at: number
  readonly ends_at: string | null
  readonly promoted_at: string | null
  readonly discarded_at: string | null
}

export const challengerStates = ['running', 'ended', 'promoted', 'discarded'] as const

export function challengerState(row: Outcome, atMs: number): (typeof challengerStates)[number] {
  if (row.promoted_at !== null) return 'promoted'
  if (row.discarded_at !== null) return 'discarded'
  return atMs < challengerEnd(row) ? 'running' : 'ended'
}

/** In milliseconds since the epoch. */
export const challengerEnd = ({ created_at, ends_at }: Pick<Outcome, 'created_at' | 'ends_at'>): number =>
  ends_at === null ? created_at + runningHoursDefault * 60 * 60_000 : secondsOf(ends_at) * 1000

/** Records may be processed late: a challenger is evaluated for a day after its end, with those that were stored before. */
const evaluatedAfterEndMs = dayMs

/** Do pipelines have it compiled? */
export const isEvaluated = (row: Outcome, atMs: number): boolean =>
  row.promoted_at === null && row.discarded_at === null && atMs < challengerEnd(row) + evaluatedAfterEndMs

/** The row of a challenger with its state; any other row as it is. */
export const withChallengerState = ({ kind }: { readonly kind: string }, row: Row): Row =>
  kind === challenger.kind ? { ...row, state: challengerState(row as unknown as Outcome, now()) } : row

export const challenger = defineResource({
  kind: 'challenger',
  idPrefix: 'chl_',
  path: '/challengers',
  listName: 'challengers',
  title: 'challenger',
  about:
    "A whole draft of policies, rules and restrictions, evaluated alongside the configuration in force, on the account's live records. It decides nothing.",
  example: {
    description: 'no scanners, and the new office',
    draft: {
      edges: [
        {
          id: exampleId('edgtcp_'),
          policies: {
            inbound: [
              {
                name: 'No scanners',
                expressions: ["conn.geo.country_code == 'ZZ'"],
                actions: [{ type: 'deny' }],
              },
            ],
          },
        },
      ],
      ip_policies: [{ id: exampleId('ipp_'), add: [{ cidr: '198.51.100.0/24', action: 'allow' }] }],
    },
    based_on: [
      { kind: 'tcp_edge', id: exampleId('edgtcp_'), version: 12 },
      { kind: 'ip_policy', id: exampleId('ipp_'), version: 9, rules: 4 },
    ],
    promoted_at: null,
    discarded_at: null,
    state: 'running',
  },
  audit: 'challenger',
  fields: {
    ...described,
    draft: {
      ...required(draftSchema, { atCreation: true, column: 'json' }),
      fallback: undefined as never as ChallengerDraft,
      complete: completeDraft as never,
      shown: asIs(
        Type.Unsafe<ChallengerDraft>(mapOf(Type.Unknown(), { description: 'As it was sent, in full.' })),
      ),
    },
    ends_at: {
      ...field(timestamp, {}, null as string | null, {
        setBy: 'client-at-creation',
        required: false,
        unset: 'never',
      }),
      complete: canonicalTime,
    },
    based_on: { ...assigned(Type.Array(basis)), column: 'json' as const },
    promoted_at: derived(time, { unset: 'null' }),
    discarded_at: derived(time, { unset: 'null' }),
    state: observed(
      oneOf(
        challengerStates,
        'ended: its time is over. promoted: it became the configuration. discarded: it was ended by hand.',
      ),
    ),
  },
  embed: (row) => ({ ends_at: isoSeconds(challengerEnd(row)) }),
  check(row, previous, lookups) {
    if (previous === undefined) {
      checkEnd(row)
      checkDraft(row.draft)
      checkCount(row.id, [...lookups.all('challenger')])
    }
    const wasEvaluated = previous !== undefined && isEvaluated(previous, now())
    if (isEvaluated(row, now()) && !wasEvaluated) checkEvaluated(row, lookups.ofAllAccounts('challenger'))
    const isRunning = (one: Outcome): boolean => challengerState(one, now()) === 'running'
    if (!isRunning(row)) return
    for (const other of lookups.all('challenger')) {
      if (other.id === row.id || !isRunning(other as unknown as Outcome)) continue
      throw conflict(
        `The challenger ${other.id} is running: an account has one at a time. Promote it, discard it, or wait until it has ended.`,
      )
    }
  },
})

function checkEnd({ ends_at, created_at }: Pick<Outcome, 'created_at' | 'ends_at'>): void {
  const endMs = challengerEnd({ ends_at, created_at })
  if (endMs <= created_at) throw badRequest(`"ends_at" is "${ends_at}": a time in the future is needed.`)
  if (endMs > created_at + runningDaysMax * dayMs)
    throw badRequest(`"ends_at" is "${ends_at}": a challenger runs for at most ${runningDaysMax} days.`)
}

function checkCount(id: string, present: readonly { readonly id: string }[]): void {
  const count = present.filter((other) => other.id !== id).length
  if (count >= challengersPerAccountMax)
    throw conflict(
      `The account has ${count} challengers: at most ${challengersPerAccountMax} are allowed. Delete one first.`,
    )
}

/** Refuses one more than an account and a deployment evaluate at the same time. `others`: those of all accounts. */
function checkEvaluated({ id, account_id }: Row, others: Iterable<Row>): void {
  const nowMs = now()
  let [all, own] = [0, 0]
  for (const other of others) {
    if (other.id === id || !isEvaluated(other as unknown as Outcome & Row, nowMs)) continue
    all += 1
    if (other.account_id === account_id) own += 1
  }
  if (own >= challengersEvaluatedPerAccountMax)
    throw conflict(
      `The account has ${own} challengers that are running or ended within the last day, whose records may still be processed: at most ${challengersEvaluatedPerAccountMax} are allowed. Discard one.`,
    )
  if (all >= challengersEvaluatedMax)
    throw conflict(
      `All accounts have ${all} challengers that are running or ended within the last day: this deployment evaluates at most ${challengersEvaluatedMax} at the same time. Try again later.`,
    )
}
