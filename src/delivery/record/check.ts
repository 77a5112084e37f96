/**
 * The check of every record, by the declared fields: a compiled schema would cost more than the rest of the parse. A
 * **complaint** is a sentence that names the member, its value and what is allowed.
 */

import { isPeerAddress } from '../../ground/core/address/ip.js'
import { memberName, wrong } from '../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { type DottedTree, treeOfDotted } from '../../ground/core/text/dotted.js'
import { hasUtcYear, isTimestamp } from '../../ground/core/text/timestamp.js'
import { fieldsChecked, type RecordField, type RecordFieldType, type RecordType } from './record-fields.js'
import { recordTypeOf, recordTypes } from './traffic-record.js'

type Complaint = string | undefined
type Check = (value: unknown, name: string) => Complaint

const portMax = 65_535
const int32Max = 2 ** 31 - 1

const text: Check = (value, name) => (typeof value === 'string' ? undefined : wrong(name, value, 'a string'))

const flag: Check = (value, name) =>
  typeof value === 'boolean' ? undefined : wrong(name, value, 'true or false')

const port: Check = (value, name) =>
  isInteger(value, 0, portMax) ? undefined : wrong(name, value, `an integer from 0 to ${portMax}`)

const count: Check = (value, name) =>
  isInteger(value, 0, Number.MAX_SAFE_INTEGER) ? undefined : wrong(name, value, 'an integer from 0 to 2^53-1')

/** May be negative: compression can make a response larger. */
const integer: Check = (value, name) =>
  Number.isSafeInteger(value) ? undefined : wrong(name, value, 'an integer from -(2^53-1) to 2^53-1')

/** May be negative: proxies report an aborted request like this. */
const status: Check = (value, name) =>
  isInteger(value, -int32Max - 1, int32Max)
    ? undefined
    : wrong(name, value, 'an integer from -2^31 to 2^31-1')

const timestamp: Check = (value, name) =>
  typeof value === 'string' && isTimestamp(value) && hasUtcYear(value)
    ? undefined
    : wrong(name, value, 'an RFC 3339 time in the years 0000 to 9999 (UTC)')

/** An empty id is refused: treating it as absent could hide a mistake of the sender. */
const id: Check = (value, name) =>
  typeof value === 'string' && value !== '' ? undefined : wrong(name, value, 'an id')

const isInteger = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max

const headers: Check = (value, name) => {
  if (!isObject(value)) return wrong(name, value, 'a map of lists of strings')
  for (const [header, values] of Object.entries(value)) {
    const listed = Array.isArray(values) && values.every((entry) => typeof entry === 'string')
    if (!listed) return wrong(`${name}.${memberName(header)}`, values, 'a list of strings')
  }
  return undefined
}

const address: Check = (value, name) =>
  isPeerAddress(value) ? undefined : wrong(name, value, 'an IPv4 or IPv6 address')

const idOfAtMost =
  (charsMax: number): Check =>
  (value, name) =>
    typeof value === 'string' && value.length >= 1 && isAtMost(value, charsMax)
      ? undefined
      : wrong(name, value, `a string of 1 to ${charsMax} characters`)

const isAtMost = (value: string, charsMax: number): boolean =>
  value.length <= charsMax || (value.length <= charsMax * 2 && [...value].length <= charsMax)

const checks: Readonly<Record<RecordFieldType, Check>> = {
  text,
  id,
  address,
  timestamp,
  port,
  count,
  int64: integer,
  int32: status,
  bool: flag,
  headers,
}

const checkOf = ({ type, charsMax }: RecordField): Check =>
  type === 'id' && charsMax !== undefined ? idOfAtMost(charsMax) : checks[type]

/** The pattern of a known shape (`record-pattern.ts`) accepts only valid values of other fields. */
const isUnsure = ({ type, charsMax }: RecordField): boolean => type === 'address' || charsMax !== undefined

/** A member of an object: a field with its check, or a group of members. */
interface Member {
  readonly key: string
  /** Its dotted name. */
  readonly name: string
  readonly required: boolean
  readonly check: Check | undefined
  readonly members: readonly Member[]
}

function membersOf(tree: DottedTree<RecordField>, above = ''): Member[] {
  return [...tree].map(([key, field]) => {
    const name = `${above}${key}`
    if (!(field instanceof Map))
      return { key, name, required: field.required === true, check: checkOf(field), members: [] }
    const members = membersOf(field, `${name}.`)
    return { key, name, required: members.some(({ required }) => required), check: undefined, members }
  })
}

interface MembersToCheck {
  readonly all: readonly Member[]
  /** Those that are left to check if a pattern has read the record. */
  readonly unsure: readonly Member[]
}

function toCheck(type: RecordType): MembersToCheck {
  const fields = fieldsChecked(type)
  const unsure = fields.filter(([, field]) => isUnsure(field))
  return { all: membersOf(treeOfDotted(fields)), unsure: membersOf(treeOfDotted(unsure)) }
}

const membersToCheck: Readonly<Record<RecordType, MembersToCheck>> = {
  tcp_connection: toCheck('tcp_connection'),
  http_request: toCheck('http_request'),
}

export interface RecordRules {
  /** Default: true. */
  readonly recordIdRequired?: boolean
  /** It was read by the pattern of a known shape: most of it is known to be valid. */
  readonly readByPattern?: boolean
}

const published: RecordRules = {}

const knownTypes = recordTypes.map((type) => `"${type}"`).join(' or ')

/** The first problem of a record; undefined if it is valid. Unknown members are ignored. */
export function complaintAboutRecord(record: unknown, rules: RecordRules = published): Complaint {
  if (!isObject(record)) return wrong('record', record, 'an object')
  const type = recordTypeOf(record['type'])
  if (type === undefined) return wrong('type', record['type'], knownTypes)
  const { all, unsure } = membersToCheck[type]
  return complaintAbout(record, rules.readByPattern ? unsure : all, rules)
}

function complaintAbout(values: JsonObject, members: readonly Member[], rules: RecordRules): Complaint {
  for (let index = 0; index < members.length; index += 1) {
    const member = members[index]!
    const value = values[member.key]
    if ((value === undefined || value === null) && !isMissed(member, rules)) continue
    const complaint =
      member.check === undefined
        ? complaintAboutGroup(value, member, rules)
        : member.check(value, member.name)
    if (complaint !== undefined) return complaint
  }
  return undefined
}

const isMissed = ({ required, key }: Member, { recordIdRequired }: RecordRules): boolean =>
  required && (recordIdRequired !== false || key !== 'record_id')

const complaintAboutGroup = (value: unknown, { name, members }: Member, rules: RecordRules): Complaint =>
  isObject(value) ? complaintAbout(value, members, rules) : wrong(name, value, 'an object')
