import type { StepBudget } from './budget.js'

/**
 * A compiled part of an expression. `element` is the element that a filter tests: undefined outside of filters, and for
 * falsy elements (as in jexl).
 */
export type Run<C> = (context: C, budget: StepBudget, element?: unknown) => unknown
