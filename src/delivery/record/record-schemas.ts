/** JSON Schemas of records, for senders. Unknown members are allowed. */

import { mapOf, orNull, type TSchema, Type } from '../../ground/core/schema.js'
import { type DottedTree, treeOfDotted } from '../../ground/core/text/dotted.js'
import { type RecordField, type RecordFieldType, type RecordType, recordFields } from './record-fields.js'
import { recordTypes } from './traffic-record.js'

/** How schemas call the unit of a number. */
export const unitKey = 'x-unit'

const integer = (minimum: number, maximum: number): TSchema => Type.Integer({ minimum, maximum })

const valueSchemas: Readonly<Record<RecordFieldType, TSchema>> = {
  text: Type.String(),
  id: Type.String({ minLength: 1 }),
  // The last one is IPv6 with a zone.
  address: Type.String({
    anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }, { pattern: '^[0-9A-Fa-f:.]+%.+$' }],
  }),
  timestamp: Type.String({ format: 'date-time' }),
  port: integer(0, 65_535),
  count: integer(0, Number.MAX_SAFE_INTEGER),
  int64: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  int32: integer(-(2 ** 31), 2 ** 31 - 1),
  bool: Type.Boolean(),
  headers: mapOf(Type.Array(Type.String())),
}

function fieldSchema({ type, about, unit, required, charsMax }: RecordField): TSchema {
  const options = {
    description: about,
    ...(charsMax === undefined ? {} : { maxLength: charsMax }),
    ...(unit === undefined ? {} : { [unitKey]: unit }),
  }
  return required ? { ...valueSchemas[type], ...options } : Type.Optional(orNull(valueSchemas[type], options))
}

interface ObjectSchema extends TSchema {
  readonly properties: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
}

const membersSchema = (members: DottedTree<RecordField>): ObjectSchema =>
  Type.Object(
    Object.fromEntries(
      [...members].map(([name, member]) => [
        name,
        member instanceof Map ? groupSchema(member) : fieldSchema(member),
      ]),
    ),
  )

/** A group may be missing unless one of its own fields is required. */
function groupSchema(members: DottedTree<RecordField>): TSchema {
  const isNeeded = [...members.values()].some((member) => !(member instanceof Map) && member.required)
  const schema = membersSchema(members)
  return isNeeded ? schema : Type.Optional(orNull(schema))
}

function recordSchema(type: RecordType): TSchema {
  const members = treeOfDotted(Object.entries<RecordField>(recordFields[type]))
  const { properties, required = [] } = membersSchema(members)
  const { record_id, ...others } = properties
  return {
    type: 'object',
    title: type,
    required: ['type', ...required],
    properties: {
      record_id,
      type: { const: type },
      ...others,
    },
  } as TSchema
}

export const recordSchemas: readonly { readonly type: RecordType; readonly schema: TSchema }[] =
  recordTypes.map((type) => ({ type, schema: recordSchema(type) }))
