/** Reads members as jexl does, but only own ones. */
import { ExpressionFailure, type Run, type StepBudget } from './run.js'
import { forbiddenNames } from './tokens.js'
import { isObject, kindOf, primitiveOf } from './values.js'

const builtIns = [Object, String, Number, Boolean, Array]
const inheritedKeys: ReadonlySet<string> = new Set(
  builtIns.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
)

/** Whether a JSON value can inherit a member of this name. All others are read without checking ownership. */
export const isSometimesInherited = (key: string): boolean => inheritedKeys.has(key) || /^\d+$/.test(key)

type Members = Readonly<Record<PropertyKey, unknown>>

function ownMember(value: unknown, key: PropertyKey): unknown {
  return Object.hasOwn(value as object, key) ? (value as Members)[key] : undefined
}

/** The item of a list that a member is read from: the first, as in jexl, which fails for an empty list. */
function firstOf(list: readonly unknown[], key: string): unknown {
  return firstItem(list[0], key)
}

/** The first item of a list, from which `key` is to be read. */
export function firstItem(item: unknown, key: string): unknown {
  if (item === undefined || item === null) {
    throw new ExpressionFailure(`${key} can't be read: the list has no first item with a value.`)
  }
  return item
}

/** A member that the value itself does not have: a list has the members of its first item. */
export const memberOfFirst = (value: unknown, key: string): unknown =>
  Array.isArray(value) ? (firstOf(value, key) as Members)[key] : undefined

/** Reads `.key` from the value of `subject`; no value has no members. */
export function memberReader<C>(key: string, subject: Run<C>): Run<C> {
  if (isSometimesInherited(key)) {
    return (context, budget, element) => {
      const value = subject(context, budget, element)
      if (value === undefined || value === null) return undefined
      return ownMember(Array.isArray(value) ? firstOf(value, key) : value, key)
    }
  }
  return (context, budget, element) => {
    const value = subject(context, budget, element)
    if (value === undefined || value === null) return undefined
    const member = (value as Members)[key]
    return member === undefined ? memberOfFirst(value, key) : member
  }
}

/**
 * Reads `.a.b` from an element of a list: the first key from the element itself, even if that is a list. `outer` is
 * evaluated instead if there is no element.
 */
export function elementReader<C>([first, ...rest]: readonly string[], outer: Run<C>): Run<C> {
  const key = first!
  const own: Run<C> = isSometimesInherited(key)
    ? (_context, _budget, element) => ownMember(element, key)
    : (_context, _budget, element) => (element as Members)[key]
  const read = rest.reduce((subject, member) => memberReader(member, subject), own)
  return (context, budget, element) =>
    element === undefined ? outer(context, budget, element) : read(context, budget, element)
}

/** Reads `subject[key]` for a key that is known beforehand; undefined if `indexed` has to look at each value. */
export function indexReader<C>(key: unknown, subject: Run<C>): Run<C> | undefined {
  if (typeof key !== 'string' || isSometimesInherited(key) || forbiddenNames.has(key)) return undefined
  return (context, budget, element) => {
    const value = subject(context, budget, element)
    return value === undefined || value === null ? unreadable(key) : (value as Members)[key]
  }
}

/** `subject[key]` without a subject, for a key of `indexReader`. */
export function unreadable(key: string): never {
  throw new ExpressionFailure(`${key} can't be read from no value.`)
}

/** `subject[key]`: true and false keep or drop the subject, everything else is the name of a member. */
export function indexed(subject: unknown, key: unknown, budget: StepBudget): unknown {
  if (typeof key === 'boolean') return key ? subject : undefined
  const name = isObject(key) ? primitiveOf(key, budget) : key
  if (subject === undefined || subject === null) {
    throw new ExpressionFailure(`A member can't be read from no value; its name is ${kindOf(key)}.`)
  }
  return forbiddenNames.has(name) ? undefined : ownMember(subject, name as PropertyKey)
}
