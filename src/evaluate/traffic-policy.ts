/**
 * Traffic policies of a TCP edge, in order. A policy applies if all its expressions are true; then its actions run in
 * order. `deny` ends the evaluation; `log` makes an event.
 */
import { messageOf } from '../core/errors.js'
import type { Direction, LogEntry } from '../event/define.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import { type CompiledExpression, compileExpression } from '../expr/expression.js'
import type { Scope } from '../expr/scope.js'
import { inboundScope, outboundScope, type PolicyContext } from '../record/policy-scope.js'
import type { PoliciesModule, PolicyRow } from './configuration.js'

/** A log action, ready to be an event. */
export interface LogAction extends LogEntry {
  /** Unique in the module: the name of the policy, or its place if the name is missing or taken. */
  readonly policyKey: string
  readonly actionIndex: number
}

type Action = { readonly type: 'deny' } | { readonly type: 'log'; readonly log: LogAction }

export interface TrafficPolicy {
  readonly edgeId: string
  readonly direction: Direction
  /** For people: its name, else its place, as `inbound[2]`. */
  readonly label: string
  readonly expressions: readonly CompiledExpression<PolicyContext>[]
  readonly actions: readonly Action[]
}

export interface TrafficPolicies {
  readonly inbound: readonly TrafficPolicy[]
  readonly outbound: readonly TrafficPolicy[]
}

/**
 * The policies of an enabled module. They are compiled when they are first evaluated: a process that starts with ten
 * thousand edges has no traffic for most of them, and would be ready seconds later.
 */
export class LazyPolicies implements TrafficPolicies {
  readonly #edgeId: string
  readonly #module: PoliciesModule
  #compiled: TrafficPolicies | undefined

  constructor(edgeId: string, module: PoliciesModule) {
    this.#edgeId = edgeId
    this.#module = module
  }

  get inbound(): readonly TrafficPolicy[] {
    this.#compiled ??= compileTrafficPolicies(this.#edgeId, this.#module)
    return this.#compiled.inbound
  }

  get outbound(): readonly TrafficPolicy[] {
    this.#compiled ??= compileTrafficPolicies(this.#edgeId, this.#module)
    return this.#compiled.outbound
  }
}

function compileTrafficPolicies(edgeId: string, module: PoliciesModule): TrafficPolicies {
  const taken = new Set<string>()
  const compile = (direction: Direction, scope: Scope<PolicyContext>) =>
    module[direction].map((row, index) => {
      const place = `${direction}[${index}]`
      // A place has a mark that no name can have.
      const policyKey = row.name && !taken.has(row.name) ? row.name : `\u0000${place}`
      const label = row.name || place
      taken.add(policyKey)
      return {
        edgeId,
        direction,
        label,
        expressions: row.expressions.map((text) => compileOrFail(text, scope)),
        actions: compileActions(row, { policyKey, policyName: label, direction }),
      }
    })
  return { inbound: compile('inbound', inboundScope), outbound: compile('outbound', outboundScope) }
}

/** An expression that compiled when it was saved and no longer does fails for each record, and is counted there. */
function compileOrFail(text: string, scope: Scope<PolicyContext>): CompiledExpression<PolicyContext> {
  const compiled = compileExpression(text, scope)
  if (compiled.ok) return compiled.value
  const fail = () => {
    throw new ExpressionFailure(compiled.problem.msg)
  }
  return { text, evaluate: fail, isTrue: fail }
}

function compileActions(
  policy: PolicyRow,
  owner: Pick<LogAction, 'policyKey' | 'policyName' | 'direction'>,
): Action[] {
  return policy.actions.map((action, actionIndex) =>
    action.type === 'deny'
      ? { type: 'deny' }
      : { type: 'log', log: { ...owner, actionIndex, metadataJson: metadataJsonOf(action) } },
  )
}

function metadataJsonOf({ config }: PolicyRow['actions'][number]): string {
  const entry = Object.entries(config ?? {}).find(([key]) => key.toLowerCase() === 'metadata')
  return JSON.stringify(entry?.[1] ?? {})
}

/** An expression that failed for this record. */
export interface PolicyFailure {
  readonly policy: TrafficPolicy
  readonly expression: string
  readonly msg: string
}

/** The result of a run through policies. */
export interface PolicyRun {
  readonly denied: TrafficPolicy | undefined
  readonly logs: readonly LogAction[]
  readonly failures: readonly PolicyFailure[]
}

/** Records every policy and expression that is evaluated. */
export interface PolicyTrace {
  policy(policy: TrafficPolicy): void
  expression(text: string, value: unknown): void
  failure(text: string, msg: string): void
  applied(): void
}

/** Runs policies in order until one denies. */
export function runPolicies(
  policies: readonly TrafficPolicy[],
  context: PolicyContext,
  budget: StepBudget,
  trace?: PolicyTrace,
): PolicyRun {
  const logs: LogAction[] = []
  const failures: PolicyFailure[] = []
  for (let index = 0; index < policies.length; index += 1) {
    const policy = policies[index]!
    trace?.policy(policy)
    const miss = firstMiss(policy, context, budget, trace)
    if (miss !== undefined) {
      if (miss !== isFalse) failures.push(miss)
      continue
    }
    trace?.applied()
    for (const action of policy.actions) {
      if (action.type === 'deny') return { denied: policy, logs, failures }
      logs.push(action.log)
    }
  }
  return { denied: undefined, logs, failures }
}

const isFalse = Symbol('an expression is false')

/** Why the policy does not apply; undefined if it does. */
function firstMiss(
  policy: TrafficPolicy,
  context: PolicyContext,
  budget: StepBudget,
  trace: PolicyTrace | undefined,
): PolicyFailure | typeof isFalse | undefined {
  const { expressions } = policy
  for (let index = 0; index < expressions.length; index += 1) {
    const expression = expressions[index]!
    try {
      // Evaluated once either way: a second run would spend the record's budget twice.
      const value =
        trace === undefined ? expression.isTrue(context, budget) : expression.evaluate(context, budget)
      trace?.expression(expression.text, value)
      if (!value) return isFalse
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      trace?.failure(expression.text, error.message)
      return { policy, expression: expression.text, msg: messageOf(error) }
    }
  }
  return undefined
}
