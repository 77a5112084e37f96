/** How values of the language become text and numbers: as in JavaScript and so in jexl, but within bounds. */
import { utf8Length } from '../core/bytes.js'
import { ExpressionFailure, type StepBudget } from './run.js'

/** UTF-8 bytes of a text that a function or operator returns. */
export const exprStringBytesMax = 64 * 1024

/** Characters copied or compared in the time of one step. */
export const charsPerStep = 256

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * The kind of a value, in words, without the value itself: it may be a secret of a client (a header, a cookie) or made of
 * one, and a sentence about a failure is kept in logs and events. Explanations show values, and cut those of secrets.
 */
export function kindOf(value: unknown): string {
  if (typeof value === 'string') return `a text of ${value.length} characters`
  if (typeof value === 'number') return 'a number'
  return isObject(value) ? 'a list or an object' : String(value)
}

/** Pays for a walk over a text: its comparison with another, its conversion to a number. */
export function payText(text: string, budget: StepBudget): void {
  if (text.length >= charsPerStep) budget.take(Math.floor(text.length / charsPerStep))
}

/** Pays for a new text; fails if it is too long. */
export function bounded(text: string, budget: StepBudget): string {
  // A UTF-16 unit is at most three bytes: short texts need no count.
  if (text.length * 3 > exprStringBytesMax && utf8Length(text) > exprStringBytesMax) {
    throw new ExpressionFailure(`A text would be longer than ${exprStringBytesMax} bytes.`)
  }
  budget.take(1 + Math.floor(text.length / charsPerStep))
  return text
}

/**
 * Converts an object as the operators of JavaScript would: a list becomes the texts of its items, with commas. Other values
 * are returned unchanged; a text takes steps, because the caller will walk over it.
 */
export function primitiveOf(value: unknown, budget: StepBudget): unknown {
  if (typeof value === 'string') payText(value, budget)
  if (!isObject(value)) return value
  if (Array.isArray(value)) return joined(value, budget)
  // Data may hold a member of this name, which JavaScript would try to call.
  if (Object.hasOwn(value, 'toString')) {
    throw new ExpressionFailure("An object with a member toString can't be converted to text.")
  }
  return '[object Object]'
}

function joined(list: readonly unknown[], budget: StepBudget): string {
  budget.take(1 + list.length)
  let text = ''
  for (let index = 0; index < list.length; index++) {
    const item = list[index]
    const itemText = item === undefined || item === null ? '' : String(primitiveOf(item, budget))
    text = index === 0 ? itemText : `${text},${itemText}`
    if (text.length > exprStringBytesMax) break
  }
  return bounded(text, budget)
}

/** Text for a function that works on text: undefined without a value; fails for objects. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  if (isObject(value)) throw new ExpressionFailure("A list or an object can't be used as text.")
  return String(value)
}

/** Characters compared in the time of one step when a text is searched for another, at worst. */
const comparisonsPerStep = 1024

/** Pays for a search, whose worst case is the product of both lengths. */
export function paySearch(text: string, sought: string, budget: StepBudget): void {
  budget.take(1 + Math.floor((text.length * sought.length) / comparisonsPerStep))
}

/** Items looked at in the time of one step. */
const itemsPerStep = 16

/** Whether the value is among the items (`===`). */
export function isAmong(list: readonly unknown[], value: unknown, budget: StepBudget): boolean {
  budget.take(1 + Math.floor(list.length / itemsPerStep))
  for (let index = 0; index < list.length; index++) if (list[index] === value) return true
  return false
}
