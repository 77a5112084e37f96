/**
 * Writes parts of expressions as JavaScript. Each does what its closure does in `compile.ts`, `members.ts` or
 * `operators.ts` does; values of the usual type take a path without calls.
 */
import { type Code, written } from './code.js'
import type { Draft, Script, Writer } from './draft.js'
import { isSometimesInherited } from './members.js'
import type { BinaryOperator } from './tree.js'

/** Longer names are no part of a shape. */
const commonKeyCharsMax = 64

const keyIn = (draft: Draft, key: string): Script =>
  key.length <= commonKeyCharsMax ? draft.common(key) : draft.value(key)

export function memberWriter<C>(key: string, subject: Code<C>): Writer | undefined {
  if (isSometimesInherited(key)) return undefined
  return (draft) => {
    const name = keyIn(draft, key)
    if (subject.writeFirst !== undefined) return `${subject.writeFirst(draft, name)}[${name}]`
    const [value, member] = [draft.variable(), draft.variable()]
    const assigned = `${value} = ${written(subject, draft)}`
    const read = `(${member} = ${value}[${name}]) === undefined ? memberOfFirst(${value}, ${name}) : ${member}`
    return `((${assigned}) === undefined || ${value} === null ? undefined : ${read})`
  }
}

/** For a key that `indexReader` takes. */
export const indexWriter =
  <C>(key: string, subject: Code<C>): Writer =>
  (draft) => {
    const [value, name] = [draft.variable(), keyIn(draft, key)]
    const isMissing = `(${value} = ${written(subject, draft)}) === undefined || ${value} === null`
    return `(${isMissing} ? unreadable(${name}) : ${value}[${name}])`
  }

export function elementWriter<C>([key, ...rest]: readonly string[], outer: Code<C>): Writer | undefined {
  if (rest.length > 0 || isSometimesInherited(key!)) return undefined
  return (draft) => `(element === undefined ? ${written(outer, draft)} : element[${keyIn(draft, key!)}])`
}

/** The first element for which the test is true. The others are tested, too: a test takes steps, and may fail. */
export const firstPicked =
  <C>(subject: Code<C>, test: Code<C>) =>
  (draft: Draft, key: Script): Script =>
    draft.loop(`const value = ${written(subject, draft)}
let first
let isFound = false
if (value !== undefined) {
  const list = Array.isArray(value) ? value : [value]
  for (let index = 0; index < list.length; index++) {
    const element = list[index] || undefined
    budget.take(${draft.value(test.weight)})
    if (${written(test, draft)} && !isFound) {
      first = list[index]
      isFound = true
    }
  }
}
return firstItem(first, ${key})`)

/** A binary operator with a constant right side for which `operationOn` has a closure, too. */
export function operatorWriter<C>(
  operator: BinaryOperator,
  left: Code<C>,
  known: unknown,
): Writer | undefined {
  switch (operator) {
    case '==':
      return equalityWriter(left, known)
    case '!=': {
      const isEqual = equalityWriter(left, known)
      return (draft) => `!${isEqual(draft)}`
    }
    case '<':
    case '<=':
    case '>':
    case '>=':
      return orderWriter(operator, left, known)
    case 'in':
      return amongWriter(left, known as readonly unknown[])
    default:
      return undefined
  }
}

const equalityWriter =
  <C>(left: Code<C>, known: unknown): Writer =>
  (draft) => {
    const value = draft.variable()
    const read = `(${value} = ${written(left, draft)})`
    if (known === undefined || known === null) return `(${read} === undefined || ${value} === null)`
    const constant = draft.value(known)
    const isEqual = `${value} === ${constant}`
    // Most texts differ in length: then the other text is not even looked at.
    const same =
      typeof known === 'string' ? `${value}.length === ${draft.value(known.length)} && ${isEqual}` : isEqual
    const converted = `${value} !== undefined && looselyEqual(${value}, ${constant}, budget)`
    return `(typeof ${read} === '${typeof known}' ? ${same} : ${converted})`
  }

const orderWriter =
  <C>(operator: '<' | '<=' | '>' | '>=', left: Code<C>, known: unknown): Writer =>
  (draft) => {
    const value = draft.variable()
    const number = `typeof (${value} = ${written(left, draft)}) === 'number' ? ${value} : primitiveOf(${value}, budget)`
    return `((${number}) ${operator} ${draft.value(known)})`
  }

/** Comparing a value with as many texts takes as long as a lookup. */
const comparedMax = 3

function amongWriter<C>(left: Code<C>, list: readonly unknown[]): Writer {
  // NaN equals nothing, but a Set would find it.
  const items = new Set(list.filter((item) => !Number.isNaN(item)))
  const areTexts = [...items].every((item) => typeof item === 'string')
  if (!areTexts || items.size === 0) return (draft) => `${draft.value(items)}.has(${written(left, draft)})`
  return (draft) => {
    const value = draft.variable()
    const isText = `typeof (${value} = ${written(left, draft)}) === 'string'`
    const mayBe = sieved('string', value, sieveOf(items), draft)
    const isAmong =
      items.size > comparedMax
        ? `${draft.value(items)}.has(${value})`
        : `(${[...items].map((item) => `${value} === ${draft.value(item)}`).join(' || ')})`
    return `(${isText} && ${mayBe} && ${isAmong})`
  }
}

/** One of 32 bits for each value, by the length of a text or the last bits of a number. */
export const sieveOf = (values: Iterable<unknown>): number =>
  [...values].reduce<number>(
    (sieve, value) => sieve | (1 << (typeof value === 'string' ? value.length : (value as number))),
    0,
  )

/** Whether a value may be one of those in the sieve: a lookup takes five times as long. */
export const sieved = (type: 'string' | 'number', value: Script, sieve: number, draft: Draft): Script =>
  `((${draft.value(sieve)} >>> ${type === 'string' ? `${value}.length` : value}) & 1) === 1`
