/**
 * Traffic policies of an edge or a route, in order. A policy applies if all its expressions are true; then its actions run
 * in order. `deny` ends the evaluation; `log` makes an event.
 */

import type { PolicyContext } from '../../delivery/record/policy-context.js'
import type { SeveralName } from '../../delivery/record/value-choices.js'
import { ExpressionFailure, type Operation, type StepBudget } from '../../ground/expr/run.js'
import type { Direction, LogEntry } from '../../words/event/define.js'
import { type PolicyKind, policyScopesOf } from '../../words/resource/fields/traffic-policy-check.js'
import {
  compileProgram,
  ignoreCase,
  type Program,
  type Seen,
  seenBy,
  severalNamesIn,
} from './policy-expressions.js'
import { isEnforced, type PoliciesModule, type PolicyRow } from './policy-source.js'

/** A log action, ready to be an event. */
export interface LogAction extends LogEntry {
  /** Unique among the policies of a record: the name of the policy, or its place if the name is missing or taken. */
  readonly policyKey: string
  readonly actionIndex: number
}

type Action = { readonly type: 'deny' } | { readonly type: 'log'; readonly log: LogAction }

export interface TrafficPolicy {
  /** The edge or route that has it. */
  readonly ownerId: string
  readonly direction: Direction
  /** For people: its name, else its place, as `inbound[2]`. */
  readonly label: string
  /** Tells it from the others of its owner: with its place if several have the same label, as `office (inbound[2])`. */
  readonly distinctLabel: string
  /** If not, it decides and logs nothing. */
  readonly enforced: boolean
  readonly expressions: readonly string[]
  readonly actions: readonly Action[]
}

/**
 * The policies of an enabled module that are enforced. They are compiled when they are first evaluated: a process that
 * starts with ten thousand edges has no traffic for most of them, and would be ready seconds later.
 */
export class TrafficPolicies {
  readonly #kind: PolicyKind
  readonly #ownerId: string
  readonly #module: PoliciesModule
  #inbound: Program | undefined
  #outbound: Program | undefined
  #ignoreCase: boolean | undefined
  #severalNames: readonly SeveralName<PolicyContext>[] | undefined
  #described: Readonly<Record<Direction, readonly TrafficPolicy[]>> | undefined
  /** All policies of the module, as if they were enforced; undefined if they are. */
  readonly shadow: TrafficPolicies | undefined
  readonly #hasAll: boolean

  /** The owner is an edge or a route. `hasAll`: those that are not enforced belong to it, too. */
  constructor(kind: PolicyKind, ownerId: string, module: PoliciesModule, hasAll = isAllEnforced(module)) {
    this.#kind = kind
    this.#ownerId = ownerId
    this.#module = module
    this.#hasAll = hasAll
    this.shadow = hasAll ? undefined : new TrafficPolicies(kind, ownerId, module, true)
  }

  program(direction: Direction): Program {
    if (direction === 'inbound') {
      this.#inbound ??= this.#compiled(direction)
      return this.#inbound
    }
    this.#outbound ??= this.#compiled(direction)
    return this.#outbound
  }

  /** The names that decide and of which a request may have several values. */
  get severalNames(): readonly SeveralName<PolicyContext>[] {
    this.#severalNames ??= severalNamesIn(this.#all('inbound'), policyScopesOf[this.#kind].inbound)
    return this.#severalNames
  }

  /** May a path in other letters be denied by them? */
  get ignoreCase(): boolean {
    this.#ignoreCase ??= ignoreCase(this.#all('inbound'), policyScopesOf[this.#kind].inbound)
    return this.#ignoreCase
  }

  /** The trace of one of its expressions, for explanations. */
  seen(direction: Direction, text: string, context: PolicyContext, isTrue: boolean | undefined): Seen {
    return seenBy(text, policyScopesOf[this.#kind][direction], context, isTrue)
  }

  #compiled(direction: Direction): Program {
    return compileProgram(this.#all(direction), policyScopesOf[this.#kind][direction])
  }

  #all(direction: Direction): readonly PolicyRow[] {
    const all = this.#module[direction]
    return this.#hasAll ? all : all.filter(isEnforced)
  }

  /** Number of words of the compiled programs. */
  get words(): number {
    return (this.#inbound?.length ?? 0) + (this.#outbound?.length ?? 0)
  }

  /** Reads a word of each cache line of the compiled programs; returns the number of lines. */
  fetch(): number {
    return linesOf(this.#inbound) + linesOf(this.#outbound)
  }

  /** The policies as objects, always the same, also in the shadow; needed once a policy applies or fails. */
  list(direction: Direction): readonly TrafficPolicy[] {
    this.#described ??= this.#describe()
    return this.#described[direction]
  }

  #describe(): Readonly<Record<Direction, readonly TrafficPolicy[]>> {
    const { shadow } = this
    if (shadow === undefined) return describePolicies(this.#kind, this.#ownerId, this.#module)
    return {
      inbound: shadow.list('inbound').filter(isEnforced),
      outbound: shadow.list('outbound').filter(isEnforced),
    }
  }
}

const isAllEnforced = ({ inbound, outbound }: PoliciesModule): boolean =>
  inbound.every(isEnforced) && outbound.every(isEnforced)

const wordsPerLine = 8

function linesOf(program: Program | undefined): number {
  if (program === undefined) return 0
  let lines = 0
  for (let at = 0; at < program.length; at += wordsPerLine) if (program[at] !== undefined) lines += 1
  return lines
}

/**
 * Reads the compiled policies of many edges at once: first where they are, then all of their words. The caller uses the
 * result; otherwise V8 would leave out the reads (Node 20).
 */
export function fetchPolicies(edges: readonly (TrafficPolicies | undefined)[]): number {
  let sum = 0
  for (let index = 0; index < edges.length; index += 1) sum += edges[index]?.words ?? 0
  for (let index = 0; index < edges.length; index += 1) sum += edges[index]?.fetch() ?? 0
  return sum
}

/** The name of a policy for people: its name, else its place. */
export const labelOf = (
  { name }: { readonly name?: string | undefined },
  direction: Direction,
  index: number,
): string => name || placeOf(direction, index)

const placeOf = (direction: Direction, index: number): string => `${direction}[${index}]`

/** In front of the keys of a route's policies: those of its edge run for the same record, and may have the same names. */
const routeMark = '\u0000route '

function describePolicies(
  kind: PolicyKind,
  ownerId: string,
  module: PoliciesModule,
): Record<Direction, TrafficPolicy[]> {
  const keyPrefix = kind === 'https_edge_route' ? routeMark : ''
  const taken = new Set<string>()
  const labels = (['inbound', 'outbound'] as const).flatMap((direction) =>
    module[direction].map((row, index) => labelOf(row, direction, index)),
  )
  const isShared = (label: string): boolean => labels.indexOf(label) !== labels.lastIndexOf(label)
  const describe = (direction: Direction) =>
    module[direction].map((row, index) => {
      const place = placeOf(direction, index)
      // A place has a mark that no name can have.
      const policyKey = row.name && !taken.has(row.name) ? row.name : `\u0000${place}`
      const label = labelOf(row, direction, index)
      taken.add(policyKey)
      return {
        ownerId,
        direction,
        label,
        distinctLabel: isShared(label) ? `${label} (${place})` : label,
        enforced: isEnforced(row),
        expressions: row.expressions,
        actions: compileActions(row, { policyKey: keyPrefix + policyKey, policyName: label, direction }),
      }
    })
  return { inbound: describe('inbound'), outbound: describe('outbound') }
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
  /** `seen`: what the expression looked at. */
  expression(text: string, value: unknown, seen: () => Seen): void
  failure(text: string, msg: string, seen: () => Seen): void
  applied(): void
}

/** Runs policies in order until one denies. */
export function runPolicies(
  policies: TrafficPolicies,
  direction: Direction,
  context: PolicyContext,
  budget: StepBudget,
  trace?: PolicyTrace,
): PolicyRun {
  const program = policies.program(direction)
  const logs: LogAction[] = []
  const failures: PolicyFailure[] = []
  for (let index = 0, at = 0; at < program.length; index += 1) {
    const end = program[at] as number
    trace?.policy(policies.list(direction)[index]!)
    let tried = 0
    let value: unknown = true
    try {
      for (at += 1; value && at < end; at = program[at] as number) {
        const operation = program[at + 1] as Operation<PolicyContext>
        value = operation(context, budget, program, at + 1)
        if (trace !== undefined) {
          const text = policies.list(direction)[index]!.expressions[tried]!
          const isTrue = Boolean(value)
          trace.expression(text, value, () => policies.seen(direction, text, context, isTrue))
        }
        tried += 1
      }
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      const policy = policies.list(direction)[index]!
      const expression = policy.expressions[tried]!
      trace?.failure(expression, error.message, () =>
        policies.seen(direction, expression, context, undefined),
      )
      failures.push({ policy, expression, msg: error.message })
      value = false
    }
    at = end
    if (!value) continue
    trace?.applied()
    const policy = policies.list(direction)[index]!
    for (const action of policy.actions) {
      if (action.type === 'deny') return { denied: policy, logs, failures }
      logs.push(action.log)
    }
  }
  return { denied: undefined, logs, failures }
}
