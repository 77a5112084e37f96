import type { StepBudget } from './budget.js'

/**
 * A compiled part of an expression. `element` is the element that a filter tests: undefined outside of filters, and for
 * falsy elements (as in jexl).
 */
export type Run<C> = (context: C, budget: StepBudget, element?: unknown) => unknown

/**
 * The function of all expressions of one shape. An expression is an `Instruction`; it begins at `at` in `instructions`.
 */
export type Operation<C> = (
  context: C,
  budget: StepBudget,
  instructions: readonly unknown[],
  at: number,
) => unknown

/**
 * An expression as data: its operation and, behind that, its literals. Instructions of many expressions can stand in one
 * array, so that evaluating them reads a few neighbouring cache lines.
 */
export type Instruction<C> = readonly [Operation<C>, ...unknown[]]
