/**
 * The field reference: every field of records and events, every name and function of expressions. It is put together
 * from the declarations; the API serves it, and the tables of the documents are made from it.
 */
import { expressionFunctions } from '../expr/functions.js'
import { policyNames } from '../record/policy-scope.js'
import { type FieldText, type RecordField, recordFields } from '../record/record-fields.js'
import { type RecordType, recordTypes } from '../record/traffic-record.js'
import { trafficEvents } from './catalog.js'
import type { AnyTrafficEvent } from './define.js'

const unitOf = ({ unit }: FieldText): Pick<FieldText, 'unit'> => (unit === undefined ? {} : { unit })

const recordEntries = (type: RecordType) =>
  Object.entries<RecordField>(recordFields[type]).map(([name, field]) => ({
    name,
    type: field.type,
    ...unitOf(field),
    required: field.required ?? false,
    about: field.about,
  }))

const eventEntry = ({ name: kind, about, madeFrom, fields }: AnyTrafficEvent) => ({
  kind,
  about,
  made_from: madeFrom,
  fields: [...fields].map(([name, field]) => ({
    name,
    type: field.type,
    ...unitOf(field),
    /** Sent if a source selects no fields. */
    default: !field.optIn,
    filterable: field.filterable,
    about: field.about,
  })),
})

export type FieldReference = ReturnType<typeof fieldReference>

export const fieldReference = (kinds: readonly AnyTrafficEvent[] = trafficEvents) => ({
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
