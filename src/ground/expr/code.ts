/** A part of an expression while it is compiled. */
import { internalized } from '../core/internalized.js'
import type { Draft, Script, Writer } from './draft.js'
import { ExpressionFailure, type Run, StepBudget } from './run.js'

export interface Code<C> {
  readonly run: Run<C>
  /** The same as JavaScript; absent if that calls `run`. */
  readonly write?: Writer | undefined
  /** For a list: writes its first item, without the list. Fails if that is no value: `key` can't be read from it. */
  readonly writeFirst?: (draft: Draft, key: Script) => Script
  /** The number of its parts: the steps that one element of a filter costs. */
  readonly weight: number
  /** Its value, if it is constant. */
  readonly known?: { readonly value: unknown }
}

export const written = <C>({ write, run }: Code<C>, draft: Draft): Script =>
  write?.(draft) ?? draft.callOf(run)

export function constant<C>(literal: unknown): Code<C> {
  const value = typeof literal === 'string' ? internalized(literal) : literal
  return { run: () => value, write: (draft) => draft.value(value), weight: 1, known: { value } }
}

export const weightOf = <C>(parts: readonly Code<C>[]): number =>
  parts.reduce((sum, part) => sum + part.weight, 1)

/** Enough to fold any literals that fit into 16 KiB. */
const foldingStepsMax = 10_000

/** A part that depends on `parts` alone: constant if all of them are, unless its evaluation fails. */
export function folded<C>(run: Run<C>, parts: readonly Code<C>[], write?: Writer): Code<C> {
  const weight = weightOf(parts)
  if (parts.some((part) => part.known === undefined)) return { run, write, weight }
  try {
    // All parts are constant, so none of them reads the context.
    return constant(run(undefined as C, new StepBudget(foldingStepsMax), undefined))
  } catch (error) {
    if (error instanceof ExpressionFailure) return { run, write, weight }
    throw error
  }
}
