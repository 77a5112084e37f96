/** Filters of lists: expressions over a resource as it is shown; nested members have dotted names. */
import type { Result } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import { type Static, shapeOf, type TSchema } from '../../ground/core/schema.js'
import { type CompiledExpression, compileClosures } from '../../ground/expr/expression.js'
import { expressionFault, type MarkedProblem } from '../../ground/expr/problem.js'
import { ExpressionFailure, StepBudget } from '../../ground/expr/run.js'
import { defineScope, type NameType, type Scope, type ScopeName } from '../../ground/expr/scope.js'
import type { AnyResource } from '../../words/resource/kind/define.js'
import { resourceSchema } from '../../words/resource/shown-schema.js'

/** Evaluation steps of a list filter per entry: half a millisecond. */
const listFilterStepsMax = 10_000

type Shown = Readonly<Record<string, unknown>>

type Filter = (shown: Shown) => boolean

/** Throws a `WeirError` for a text that is not a valid expression over the resource. */
export const compileFilter = (resource: AnyResource, text: string): Filter =>
  compileIn(scopeOf(resource), text)

/** Like `compileFilter`, for entries of a list that are not resources. */
export const compileSchemaFilter = <S extends TSchema>(
  schema: S,
  text: string,
  parameter = 'filter',
): ((shown: Static<S>) => boolean) =>
  compileIn(scopeOfSchema(schema), text, parameter) as (shown: unknown) => boolean

const compileIn = (scope: Scope<Shown>, text: string, parameter = 'filter'): Filter =>
  filterOf(compileClosures(text, scope), parameter)

/** Evaluates within bounds; an entry for which it fails is not listed. Throws a `WeirError` if it did not compile. */
export function filterOf<C>(
  compiled: Result<CompiledExpression<C>, MarkedProblem>,
  parameter: string,
): (shown: C) => boolean {
  if (!compiled.ok) {
    const sentence = `The query parameter "${parameter}" is not a valid expression: ${compiled.problem.msg}`
    throw expressionFault(parameter, compiled.problem, sentence)
  }
  const budget = new StepBudget(listFilterStepsMax)
  return (shown) => {
    budget.reset()
    try {
      return compiled.value.isTrue(shown, budget)
    } catch (error) {
      if (error instanceof ExpressionFailure) return false
      throw error
    }
  }
}

const scopes = new WeakMap<AnyResource, Scope<Shown>>()

const scopeOf = (resource: AnyResource): Scope<Shown> =>
  getOrMake(scopes, resource, () => scopeOfSchema(resourceSchema(resource)))

const scopeOfSchema = (schema: TSchema): Scope<Shown> =>
  defineScope({ names: Object.fromEntries(namesOfSchema(schema)) })

/** The dotted names of all members. */
export const namesOfSchema = (schema: TSchema): [string, ScopeName<Shown>][] => [...membersOf(schema, [])]

function* membersOf(schema: TSchema, path: readonly string[]): Generator<[string, ScopeName<Shown>]> {
  for (const [member, memberSchema] of Object.entries(shapeOf(schema).properties ?? {})) {
    yield* namesOf(memberSchema, [...path, member])
  }
}

/** The name of a value, and of its members if it is an object with known members. */
function* namesOf(schema: TSchema, path: readonly string[]): Generator<[string, ScopeName<Shown>]> {
  const type = typeOf(schema)
  yield [path.join('.'), { type, read: reader(path) }]
  if (type === 'object') yield* membersOf(schema, path)
}

function typeOf(schema: TSchema): NameType {
  const { type, enum: values, properties, additionalProperties } = shapeOf(schema)
  if (type === 'string' || values?.every((value) => typeof value === 'string')) return 'string'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'boolean'
  return properties !== undefined && additionalProperties === false ? 'object' : 'any'
}

const reader =
  (path: readonly string[]): ScopeName<Shown>['read'] =>
  (shown) =>
    path.reduce<unknown>((value, member) => (value as Shown | null | undefined)?.[member], shown)
