/**
 * The field reference: every field of records and events, every name and function of expressions. It is put together
 * from the declarations; the API serves it, and the tables of the documents are made from it.
 */

import { missingNote } from '../../delivery/record/geo-entry.js'
import { policyNames } from '../../delivery/record/policy-names.js'
import { type FieldText, type RecordField, recordFields } from '../../delivery/record/record-fields.js'
import { type RecordType, recordTypes } from '../../delivery/record/traffic-record.js'
import { expressionFunctions } from '../../ground/expr/functions.js'
import { inList } from '../../ground/expr/scope.js'
import { trafficEvents } from './catalog.js'
import type { AnyTrafficEvent } from './define.js'

/** Names without a value in a deployment say so. */
const noteOf = (name: string, missing: ReadonlySet<string>): { readonly missing?: string } =>
  missing.has(name) ? { missing: missingNote } : {}

const unitOf = ({ unit }: FieldText): Pick<FieldText, 'unit'> => (unit === undefined ? {} : { unit })

const recordEntries = (type: RecordType) =>
  Object.entries<RecordField>(recordFields[type]).map(([name, field]) => ({
    name,
    type: field.type,
    ...unitOf(field),
    required: field.required ?? false,
    about: field.about,
  }))

const eventEntry = (
  { name: kind, about, madeFrom, fields }: AnyTrafficEvent,
  missing: ReadonlySet<string>,
) => ({
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
    ...noteOf(name, missing),
  })),
})

export type FieldReference = ReturnType<typeof fieldReference>

/** `missing`: names that never have a value in the deployment that shows the reference. */
export const fieldReference = (
  kinds: readonly AnyTrafficEvent[] = trafficEvents,
  missing: ReadonlySet<string> = new Set(),
) => ({
  records: recordTypes.map((type) => ({ type, fields: recordEntries(type) })),
  events: kinds.map((kind) => eventEntry(kind, missing)),
  expressions: {
    names: policyNames.map((entry) => ({ ...entry, ...noteOf(entry.name, missing) })),
    functions: [...expressionFunctions.values(), inList].map(
      ({ name, parameters, returns, about, example }) => ({
        name,
        parameters,
        /** The meaning of its value. */
        returns: returns ?? ('boolean' as const),
        /** As a completion shows it. */
        signature: `${name}(${parameters.join(', ')})`,
        about,
        example,
      }),
    ),
  },
})
