/**
 * The expressions of traffic policies: compiled, and what they name, as far as decisions depend on how requests may be read.
 */

import type { PolicyContext } from '../../delivery/record/policy-context.js'
import { severalValuesOf } from '../../delivery/record/policy-scope.js'
import type { SeveralName } from '../../delivery/record/value-choices.js'
import { decisivePart } from '../../ground/expr/decisive.js'
import {
  compileClosures,
  compileToInstruction,
  namesIn,
  textsComparedWith,
} from '../../ground/expr/expression.js'
import type { UsedName } from '../../ground/expr/names.js'
import { ExpressionFailure, type Instruction, type Operation, StepBudget } from '../../ground/expr/run.js'
import type { Scope } from '../../ground/expr/scope.js'
import type { PolicyRow } from './policy-source.js'

/**
 * The expressions of policies, for each policy:
 *
 *     its end ▸ for each of its expressions: the expression's end ▸ its instruction
 *
 * With thousands of edges, the policies of a record's edge are in no cache. As objects they would be spread over some fifty
 * places in memory; this is one.
 */
export type Program = readonly unknown[]

const noProgram: Program = []

export function compileProgram(policies: readonly PolicyRow[], scope: Scope<PolicyContext>): Program {
  const program: unknown[] = []
  for (const { expressions } of policies) {
    const start = program.push(undefined) - 1
    for (const text of expressions) {
      const place = program.push(undefined) - 1
      program.push(...instructionOf(text, scope))
      program[place] = program.length
    }
    program[start] = program.length
  }
  // One empty program for all edges: it is in a cache. A copy has no spare room to grow.
  return program.length === 0 ? noProgram : program.slice()
}

/** An expression that compiled when it was saved and no longer does fails for each record, and is counted there. */
function instructionOf(text: string, scope: Scope<PolicyContext>): Instruction<PolicyContext> {
  const compiled = compileToInstruction(text, scope)
  if (!compiled.ok) return [failWith, compiled.problem.msg]
  return pathUse(text, scope) === 'as written' ? [readAsWritten, ...compiled.value] : compiled.value
}

/** Its letters count to the expression behind it. */
const readAsWritten: Operation<PolicyContext> = (context, budget, program, at) => {
  context.readsAsWritten = true
  try {
    return (program[at + 1] as Operation<PolicyContext>)(context, budget, program, at + 1)
  } finally {
    context.readsAsWritten = false
  }
}

const failWith: Operation<PolicyContext> = (_context, _budget, program, at) => {
  throw new ExpressionFailure(program[at + 1] as string)
}

// --- names ---

const texts = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g

const literalsIn = (expression: string): readonly string[] => expression.match(texts) ?? []

/** In patterns, and of bytes: `\\S`, `%2F`. */
const escapes = /\\+[A-Za-z]|%[\dA-Fa-f]{2}/g

const hasCapitals = (text: string): boolean => {
  const plain = text.replace(escapes, '')
  return plain !== plain.toLowerCase()
}

/**
 * How an expression looks at the path of a request; undefined if it does not. One that compares it with a text that has
 * capital letters is about a server to which these count: `!http.request.url.path.startsWith('/API/')` would else deny all
 * of them. The other expressions of an edge are not concerned, because a path that is refused in small letters must not pass
 * by what another policy says.
 */
function pathUse(
  expression: string,
  scope: Scope<PolicyContext>,
): 'as written' | 'in any letters' | undefined {
  if (!expression.includes('path')) return undefined
  const texts = textsComparedWith('http.request.url.path', expression, scope)
  return texts && (texts.some(hasCapitals) ? 'as written' : 'in any letters')
}

const denies = ({ actions }: PolicyRow): boolean => actions.some(({ type }) => type === 'deny')

/** May a path in other letters be denied by them? */
export const ignoreCase = (policies: readonly PolicyRow[], scope: Scope<PolicyContext>): boolean =>
  policies
    .filter(denies)
    .some(({ expressions }) => expressions.some((text) => pathUse(text, scope) === 'in any letters'))

/** Before an expression is parsed again: most have none of these names. */
const mayBeSeveral = /headers|cookies|parameters|query|user_agent|method/

const none: readonly SeveralName<PolicyContext>[] = []

/** The names of which a request may have several values, in policies that deny. */
export function severalNamesIn(
  policies: readonly PolicyRow[],
  scope: Scope<PolicyContext>,
): readonly SeveralName<PolicyContext>[] {
  const expressions = policies
    .filter(denies)
    .flatMap((policy) => policy.expressions)
    .filter((text) => mayBeSeveral.test(text))
  if (expressions.length === 0) return none
  const used = new Map<string, UsedName<PolicyContext>>()
  const literals = new Map<string, string[]>()
  for (const text of expressions)
    for (const name of namesIn(text, scope)) {
      used.set(name.name, name)
      literals.set(name.name, [...(literals.get(name.name) ?? []), ...literalsIn(text)])
    }
  return [...used.values()].flatMap(({ name, of, key = '', read }) => {
    const valuesOf = severalValuesOf(of)
    return valuesOf === undefined ? [] : [{ name, read, ...valuesOf(key, literals.get(name)!) }]
  })
}

// --- what an expression saw ---

/** The names that an expression read of a record, and the part that settled whether it is true. */
export interface Seen {
  /** Null if it takes the whole expression, or if it has no result. */
  readonly decisive: string | null
  readonly names: readonly { readonly name: string; readonly value: unknown }[]
}

/** For explanations: evaluates parts of it again. `isTrue`: the whole; undefined if it has no result. */
export function seenBy(
  text: string,
  scope: Scope<PolicyContext>,
  context: PolicyContext,
  isTrue: boolean | undefined,
): Seen {
  context.readsAsWritten = pathUse(text, scope) === 'as written'
  try {
    const names = namesIn(text, scope).map(({ name, read }) => ({ name, value: read(context) }))
    if (isTrue === undefined) return { decisive: null, names }
    const decisive = decisivePart(text, (part) => truthIn(part, scope, context))
    return { decisive: decisive === text ? null : decisive, names }
  } finally {
    context.readsAsWritten = false
  }
}

function truthIn(part: string, scope: Scope<PolicyContext>, context: PolicyContext): boolean | undefined {
  const compiled = compileClosures(part, scope)
  if (!compiled.ok) return undefined
  try {
    return compiled.value.isTrue(context, new StepBudget())
  } catch (error) {
    if (error instanceof ExpressionFailure) return undefined
    throw error
  }
}
