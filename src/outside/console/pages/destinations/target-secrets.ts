/** Secrets in the draft of a target: they are never put into the browser's storage, nor shown where changes are. */
import { hideSecrets, isSecretName } from '../../../../ground/core/errors.js'
import { isObject } from '../../../../ground/core/json-object.js'
import type { Member, Value } from './target-members.js'

interface StorableTarget {
  readonly target: Value
  /** Places of the body whose values are left out. */
  readonly leftOut: readonly string[]
}

/**
 * Only what is known to be no secret. A member that its kind does not know may be a secret with a misspelled name, and a
 * value of another form than its member's, or with the form of a secret, may be one in a wrong place.
 */
export function storableTarget(kind: Member, target: Value, place: string): StorableTarget {
  const leftOut: string[] = []
  const leaveOut: LeaveOut = (at, isEntry) => {
    leftOut.push(at)
    return isEntry ? '' : undefined
  }
  const kept = storable(kind, target, place, leaveOut)
  return { target: isObject(kept) ? kept : {}, leftOut: [...new Set(leftOut)] }
}

/** Makes the value in place of one that may be a secret. `isEntry`: of a map, whose names stay. */
type LeaveOut = (place: string, isEntry: boolean) => unknown

/** Nothing was typed; null stands for what is stored at the API. */
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''

function storable(member: Member | undefined, value: unknown, place: string, leaveOut: LeaveOut): unknown {
  if (isEmpty(value)) return value
  if (member !== undefined && isObject(value)) {
    if (member.form === 'map') return storableMap(member, value, place, leaveOut)
    if (member.form === 'object' || member.form === 'one of')
      return mapped(value, (name, each) =>
        storable(
          member.members.find((known) => known.name === name),
          each,
          `${place}.${name}`,
          leaveOut,
        ),
      )
  }
  const isPlain =
    member !== undefined &&
    !member.isSecret &&
    (member.form === 'list'
      ? Array.isArray(value) && value.every((each) => isPlainValue(each, place))
      : !['object', 'one of', 'map'].includes(member.form) && isPlainValue(value, place))
  if (isPlain) return value
  return leaveOut(place, false)
}

/** Names stay, so that one sees whose values are to be typed again. */
const storableMap = (member: Member, value: Value, place: string, leaveOut: LeaveOut): Value =>
  mapped(value, (name, each) => {
    if (isEmpty(each) || (!member.isSecret && isPlainValue(each, `${place}.${name}`))) return each
    return leaveOut(place, true)
  })

/** The members; undefined ones are left out. */
const mapped = (value: Value, next: (name: string, value: unknown) => unknown): Value =>
  Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, next(name, each)] as const)
      .filter(([, each]) => each !== undefined),
  )

/** A URL whose password is being typed: `https://user:pass`, without an @ yet. */
const halfTypedUser = /:\/\/[^/\s[\]]*:\d*[^\d/\s]/

const isPlainValue = (value: unknown, place: string): boolean =>
  typeof value === 'string'
    ? !isSecretName(place) && hideSecrets(value) === value && !halfTypedUser.test(value)
    : typeof value === 'number' || typeof value === 'boolean'

/** The target with a word in place of all that `storableTarget` leaves out: what may be a secret is not shown either. */
export const maskedTarget = (kind: Member, target: Value): Value =>
  storable(kind, target, '', () => typedMark) as Value

const typedMark = '(typed)'
