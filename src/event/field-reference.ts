/**
 * The field reference: every field of records and events, every name and function of expressions. It is put together
 * from the declarations; the API serves it, and the tables of the documents are made from it.
 */
import { expressionFunctions } from '../expr/functions.js'
import { type PolicyName, policyNames } from '../record/policy-scope.js'
import { type FieldText, type RecordField, recordFields } from '../record/record-fields.js'
import { type RecordType, recordTypes } from '../record/traffic-record.js'
import { trafficEvents } from './catalog.js'
import type { AnyTrafficEvent, FieldType, Origin } from './define.js'

interface RecordFieldEntry extends FieldText {
  readonly name: string
  readonly type: string
  readonly required: boolean
}

interface EventFieldEntry extends FieldText {
  readonly name: string
  readonly type: FieldType
  /** Sent if a source selects no fields. */
  readonly default: boolean
  readonly filterable: boolean
}

interface EventEntry {
  readonly kind: string
  readonly about: string
  readonly made_from: Origin
  readonly fields: readonly EventFieldEntry[]
}

interface FunctionEntry {
  readonly name: string
  readonly parameters: readonly string[]
  readonly about: string
  readonly example: string
}

export interface FieldReference {
  readonly records: readonly { readonly type: RecordType; readonly fields: readonly RecordFieldEntry[] }[]
  readonly events: readonly EventEntry[]
  readonly expressions: {
    readonly names: readonly PolicyName[]
    readonly functions: readonly FunctionEntry[]
  }
}

const unitOf = ({ unit }: FieldText) => (unit === undefined ? {} : { unit })

const recordEntries = (type: RecordType): RecordFieldEntry[] =>
  Object.entries<RecordField>(recordFields[type]).map(([name, field]) => ({
    name,
    type: field.type,
    ...unitOf(field),
    required: field.required ?? false,
    about: field.about,
  }))

const eventEntry = ({ name: kind, about, madeFrom, fields }: AnyTrafficEvent): EventEntry => ({
  kind,
  about,
  made_from: madeFrom,
  fields: [...fields].map(([name, field]) => ({
    name,
    type: field.type,
    ...unitOf(field),
    default: true,
    filterable: field.filterable,
    about: field.about,
  })),
})

export const fieldReference = (kinds: readonly AnyTrafficEvent[] = trafficEvents): FieldReference => ({
  records: recordTypes.map((type) => ({ type, fields: recordEntries(type) })),
  events: kinds.map(eventEntry),
  expressions: {
    names: policyNames,
    functions: [...expressionFunctions.values()].map(({ name, parameters, about, example }) => ({
      name,
      parameters,
      about,
      example,
    })),
  },
})
