/** Expressions that are the same for every record, in traffic policies and filters, and policies that are never reached. */

import { truthOf } from '../../../ground/expr/expression.js'
import type { Scope } from '../../../ground/expr/scope.js'
import type { Truth } from '../../../ground/expr/truth.js'
import { isEnforced, type PoliciesModule, type PolicyRow } from '../../../judging/evaluate/policy-source.js'
import type { AnyTrafficEvent } from '../../../words/event/define.js'
import { eventSubscription, type Source } from '../../../words/resource/event-subscription.js'
import { type PolicyKind, policyScopesOf } from '../../../words/resource/fields/traffic-policy-check.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { resourceOf } from '../../../words/resource/registry.js'
import type { Finding } from '../../../words/shape/finding.js'
import { pathOf, rowsOf } from '../../exchange/rows.js'
import type { Search } from './collected.js'

const policyOwners = ['tcp_edge', 'https_edge', 'https_edge_route'] as const satisfies readonly PolicyKind[]

const directions = ['inbound', 'outbound'] as const

const expressionsMax = 200_000
/** Parts of expressions that are judged: some seconds. */
const workMax = 20_000_000
/** The truth of so many texts is remembered: most edges have the policies of others. */
const rememberedMax = 10_000
/** A larger draft is left out. */
const draftBytesMax = 16 * 1024

/** The module of an owner that is in force. */
export function policiesOf(row: Row): PoliciesModule | undefined {
  const module = row['policies'] as PoliciesModule | null | undefined
  return module?.enabled ? module : undefined
}

class Truths {
  readonly #known = new Map<unknown, Map<string, Truth | undefined>>()
  readonly #work = { left: workMax }
  #asked = 0

  get isSpent(): boolean {
    return this.#asked > expressionsMax || this.#work.left <= 0
  }

  of<C>(text: string, scope: Scope<C>): Truth | undefined {
    this.#asked += 1
    let ofScope = this.#known.get(scope)
    if (ofScope === undefined || ofScope.size >= rememberedMax) {
      ofScope = new Map()
      this.#known.set(scope, ofScope)
    }
    if (!ofScope.has(text)) ofScope.set(text, truthOf(text, scope, this.#work))
    return ofScope.get(text)
  }
}

export async function expressionFindings(
  search: Search,
  eventKinds: readonly AnyTrafficEvent[],
): Promise<void> {
  const { state, accountId, slices, found } = search
  const truths = new Truths()
  for (const kind of policyOwners) {
    for (const row of [...rowsOf(state, accountId, kind)]) {
      if (slices.isDue()) await slices.pause()
      if (truths.isSpent) {
        const reason = `Only ${expressionsMax} expressions are looked at, or fewer if many are long; the account has more.`
        found.unknown('expression_constant', reason)
        found.unknown('policy_unreachable', reason)
        return
      }
      const module = policiesOf(row)
      if (module === undefined) continue
      ofModule(search, truths, kind, row, module)
    }
  }
  for (const row of [...rowsOf(state, accountId, eventSubscription.kind)]) {
    if (slices.isDue()) await slices.pause()
    for (const source of row['sources'] as readonly Source[])
      ofFilter(search, truths, eventKinds, row, source)
  }
}

function ofModule(search: Search, truths: Truths, kind: PolicyKind, row: Row, module: PoliciesModule): void {
  for (const direction of directions)
    for (const [index, policy] of module[direction].entries()) {
      if (!isEnforced(policy)) continue
      const place = `policies.${direction}[${index}]`
      for (const [at, text] of policy.expressions.entries()) {
        search.found.lookedAt('expression_constant')
        const truth = truths.of(text, policyScopesOf[kind][direction] as Scope<unknown>)
        if (truth === undefined) continue
        const deniesAll =
          direction === 'inbound' && alwaysDenies(policy, policyScopesOf[kind].inbound, truths)
        const without = () =>
          truth === 'always' && !deniesAll
            ? withPolicy(module, direction, index, {
                ...policy,
                expressions: policy.expressions.filter((_, other) => other !== at),
              })
            : withPolicy(module, direction, index, undefined)
        search.found.add('expression_constant', () => ({
          severity: truth === 'always' && !deniesAll ? 'notice' : 'attention',
          about: search.found.placeOf(kind, row, `${place}.expressions[${at}]`),
          sentence: deniesAll
            ? `This expression is true for every record, so the traffic policy ${place} denies everything.`
            : sentenceOf(truth, `traffic policy ${place}`),
          evidence: { expression: text },
          draft: draftOf(search, kind, row, without()),
        }))
      }
    }
  unreachable(search, truths, kind, row, module)
}

const sentenceOf = (truth: Truth, of: string): string =>
  ({
    always: `This expression of the ${of} is true for every record: it has no effect.`,
    unless_fails: `This expression of the ${of} is true for every record for which it has a result.`,
    never: `This expression is true for no record: the ${of} never applies.`,
    fails: `This expression has a result for no record: the ${of} never applies.`,
  })[truth]

const alwaysDenies = <C>({ actions, expressions }: PolicyRow, scope: Scope<C>, truths: Truths): boolean =>
  actions.some(({ type }) => type === 'deny') &&
  expressions.every((text) => truths.of(text, scope) === 'always')

/** After a policy that denies everything, no other one runs. */
function unreachable(
  search: Search,
  truths: Truths,
  kind: PolicyKind,
  row: Row,
  module: PoliciesModule,
): void {
  const { found } = search
  found.lookedAt('policy_unreachable', module.inbound.length)
  const scope = policyScopesOf[kind].inbound as Scope<unknown>
  const last = module.inbound.findIndex((policy) => isEnforced(policy) && alwaysDenies(policy, scope, truths))
  const next = module.inbound.findIndex((policy, index) => index > last && isEnforced(policy))
  if (last < 0 || next < 0) return
  found.add('policy_unreachable', () => ({
    severity: 'attention',
    about: found.placeOf(kind, row, `policies.inbound[${next}]`),
    sentence: `The traffic policy policies.inbound[${next}], and any after it, never runs: policies.inbound[${last}] denies everything.`,
    evidence: { by: found.placeOf(kind, row, `policies.inbound[${last}]`) },
    draft: draftOf(search, kind, row, withPolicy(module, 'inbound', last, undefined)),
  }))
}

/** The module with another policy at a place, or without one there. */
function withPolicy(
  module: PoliciesModule,
  direction: 'inbound' | 'outbound',
  at: number,
  policy: PolicyRow | undefined,
): PoliciesModule {
  const changed = module[direction].flatMap((each, index) =>
    index !== at ? [each] : policy === undefined ? [] : [policy],
  )
  return { ...module, [direction]: changed }
}

function draftOf({ found }: Search, kind: string, row: Row, module: PoliciesModule): Finding['draft'] {
  if (JSON.stringify(module).length > draftBytesMax) return null
  const uri = found.links.uri(`${pathOf(resourceOf(kind), row)}/policies/try`)
  return { method: 'POST', uri, body: { ...module } }
}

const filterSentences: Readonly<Record<Truth, (isTrue: string) => string>> = {
  always: (isTrue) => `${isTrue} for every record: it keeps nothing back.`,
  unless_fails: (isTrue) => `${isTrue} for every record for which it has a result.`,
  never: (isTrue) => `${isTrue} for no record: it lets no event through.`,
  fails: (isTrue) => `${isTrue} for no record, because it has a result for none: it lets no event through.`,
}

function ofFilter(
  { found }: Search,
  truths: Truths,
  eventKinds: readonly AnyTrafficEvent[],
  row: Row,
  { type, filter }: Source,
): void {
  const scope = eventKinds.find(({ name }) => name === type)?.filterScope
  if (!filter || scope === undefined) return
  found.lookedAt('expression_constant')
  const truth = truths.of(filter, scope as Scope<unknown>)
  if (truth === undefined) return
  found.add('expression_constant', () => ({
    severity: truth === 'always' ? 'notice' : 'attention',
    about: found.placeOf(eventSubscription.kind, row, `sources[type=${type}].filter`),
    sentence: filterSentences[truth](`The filter of the source ${type} is true`),
    evidence: { expression: filter },
  }))
}
