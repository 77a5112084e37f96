/**
 * Has a row in the configuration the form that its kind declares? Only types are looked at: rows of earlier versions lack
 * fields, and limits may be others today. A row of another form would make its readers fail, each in a way of its own.
 */
import { isObject } from '../../ground/core/json-object.js'
import type { TSchema } from '../../ground/core/schema.js'
import { lastSecond } from '../resource/fields/timestamp-field.js'
import type { Field, Fields } from '../resource/kind/define.js'
import { resources } from '../resource/registry.js'

type Form = (value: unknown) => boolean

const isText: Form = (value) => typeof value === 'string'
const isNumber: Form = (value) => Number.isFinite(value)
/** Readers show it in four digits of a year. */
const isTime: Form = (value) =>
  isNumber(value) && (value as number) >= 0 && (value as number) < (lastSecond + 1) * 1000
const isListOf =
  (isEach: Form): Form =>
  (value) =>
    Array.isArray(value) && value.every(isEach)
/** An unset value is null, or missing if the row is older than the field. */
const unsetOr =
  (isForm: Form): Form =>
  (value) =>
    value === undefined || value === null || isForm(value)

/** The parts of a schema that say which types a value has. */
interface Types {
  readonly type?: string
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
}

/** The form of JSON: other keywords of the schema are for what clients send. */
function jsonForm(schema: TSchema): Form {
  const { type, anyOf, items, properties = {} } = schema as Types
  if (anyOf !== undefined) {
    const forms = anyOf.map(jsonForm)
    return (value) => forms.some((isForm) => isForm(value))
  }
  switch (type) {
    case 'string':
      return isText
    case 'boolean':
      return (value) => typeof value === 'boolean'
    case 'integer':
    case 'number':
      return isNumber
    case 'null':
      return (value) => value === null
    case 'array':
      return isListOf(items === undefined ? () => true : jsonForm(items))
    case 'object': {
      const members = Object.entries(properties).map(
        ([name, each]) => [name, unsetOr(jsonForm(each))] as const,
      )
      return (value) => isObject(value) && members.every(([name, isForm]) => isForm(value[name]))
    }
    default:
      return () => true
  }
}

function valueForm({ column, schema, fields = {} }: Field<TSchema, null | never>): Form {
  switch (column) {
    case 'text':
      return isText
    case 'texts':
      return isListOf(isText)
    case 'flag':
      return (value) => typeof value === 'boolean'
    case 'integer':
      return isNumber
    case 'time':
      return isTime
    case 'module': {
      const isForm = fieldsForm(fields)
      return (value) => isObject(value) && isForm(value)
    }
    case 'json':
      return jsonForm(schema)
    case 'none':
      return () => true
  }
}

function fieldsForm(fields: Fields): (values: Readonly<Record<string, unknown>>) => boolean {
  const forms = Object.entries(fields).map(([name, field]) => {
    const isForm = valueForm(field)
    // Sealed values are stored elsewhere.
    const isNeeded = field.required && field.setBy !== 'weir' && field.sealed !== true
    return [name, isNeeded ? isForm : unsetOr(isForm)] as const
  })
  return (values) => forms.every(([name, isForm]) => isForm(values[name]))
}

const formsByKind = new Map(resources.map(({ kind, fields }) => [kind, fieldsForm(fields)]))

/** Is it a row of this kind? Of a kind that this version does not know, only the head is looked at. */
export function isRowOf(kind: string, row: unknown): row is Readonly<Record<string, unknown>> {
  if (!isObject(row)) return false
  const isHead =
    isText(row['id']) && isText(row['account_id']) && isNumber(row['version']) && isTime(row['created_at'])
  return isHead && (formsByKind.get(kind)?.(row) ?? true)
}
