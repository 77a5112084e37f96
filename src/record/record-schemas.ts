/** JSON Schemas of records, for senders. They say the same as `check.ts`; unknown members are allowed. */
import { recordIdCharsMax } from '../core/limits.js'
import { mapOf, orNull, type TSchema, Type } from '../core/schema.js'
import { type RecordField, type RecordFieldType, recordFields } from './record-fields.js'
import { type RecordType, recordTypes } from './traffic-record.js'

/** How schemas call the unit of a number. */
export const unitKey = 'x-unit'

const integer = (minimum: number, maximum: number): TSchema => Type.Integer({ minimum, maximum })

const valueSchemas: Readonly<Record<RecordFieldType, TSchema>> = {
  text: Type.String(),
  id: Type.String({ minLength: 1 }),
  address: Type.String({ anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] }),
  timestamp: Type.String({ format: 'date-time' }),
  port: integer(0, 65_535),
  count: integer(0, Number.MAX_SAFE_INTEGER),
  int64: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  int32: integer(0, 2 ** 31 - 1),
  bool: Type.Boolean(),
  headers: mapOf(Type.Array(Type.String())),
}

interface Members {
  [name: string]: RecordField | Members
}

const isField = (member: RecordField | Members): member is RecordField => typeof member['about'] === 'string'

function fieldSchema({ type, about, unit, required }: RecordField): TSchema {
  const options = { description: about, ...(unit === undefined ? {} : { [unitKey]: unit }) }
  return required ? { ...valueSchemas[type], ...options } : Type.Optional(orNull(valueSchemas[type], options))
}

const objectSchema = (members: Members): TSchema => {
  const isNeeded = Object.values(members).some((member) => isField(member) && member.required)
  const schema = Type.Object(
    Object.fromEntries(
      Object.entries(members).map(([name, member]) => [
        name,
        isField(member) ? fieldSchema(member) : objectSchema(member),
      ]),
    ),
  )
  return isNeeded ? schema : Type.Optional(orNull(schema))
}

function membersOf(type: RecordType): Members {
  const root: Members = {}
  for (const [name, field] of Object.entries<RecordField>(recordFields[type])) {
    const path = name.split('.')
    const leaf = path.pop()!
    let members = root
    for (const group of path) {
      members[group] ??= {}
      members = members[group] as Members
    }
    members[leaf] = field
  }
  return root
}

function recordSchema(type: RecordType): TSchema {
  const { record_id, ...members } = membersOf(type)
  const { properties, required } = objectSchema({ record_id, ...members } as Members) as TSchema & {
    properties: Record<string, TSchema>
    required: string[]
  }
  const { record_id: idSchema, ...others } = properties
  return {
    type: 'object',
    title: type,
    required: ['type', ...required],
    properties: {
      record_id: { ...idSchema, minLength: 1, maxLength: recordIdCharsMax },
      type: { const: type },
      ...others,
    },
  } as TSchema
}

export const recordSchemas: readonly { readonly type: RecordType; readonly schema: TSchema }[] =
  recordTypes.map((type) => ({ type, schema: recordSchema(type) }))
