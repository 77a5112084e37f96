/**
 * Checks of values against schemas, and what is wrong with the entries of lists, at any depth: in modules, policies,
 * sources.
 */
import { EntryFaults } from '../../../ground/core/entry-faults.js'
import { badRequest, type WeirError } from '../../../ground/core/errors.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { shapeOf, type TSchema } from '../../../ground/core/schema.js'
import { type Check, compileCheck } from '../../../ground/core/schema-check.js'

const checks = new WeakMap<object, Check>()

/** The check of values against a schema; compiled once per schema. */
export const checkOf = (schema: TSchema): Check => getOrMake(checks, schema, () => compileCheck(schema))

/** The error about a value that its schema refuses. `first`: the message if no entry of a list is the fault. */
export function schemaRefusal(first: string, schema: TSchema, value: unknown, name: string): WeirError {
  const faults = new EntryFaults()
  addFaults(faults, schema, value, name)
  return faults.error ?? badRequest(first)
}

/** Adds the faults of entries; says whether there are any. */
function addFaults(faults: EntryFaults, schema: TSchema, value: unknown, name: string): boolean {
  const { items, properties } = shapeOf(schema)
  let found = false
  if (Array.isArray(value) && items !== undefined) {
    for (const [index, entry] of value.entries()) {
      if (faults.isFull) break
      found = addEntryFault(faults, items, entry, `${name}[${index}]`) || found
    }
  } else if (properties !== undefined && typeof value === 'object' && value !== null) {
    for (const [member, memberSchema] of Object.entries(properties)) {
      if (!Object.hasOwn(value, member)) continue
      const place = name === '' ? member : `${name}.${member}`
      found = addFaults(faults, memberSchema, (value as Record<string, unknown>)[member], place) || found
    }
  }
  return found
}

/** An entry is wrong itself, or has lists with wrong entries. */
function addEntryFault(faults: EntryFaults, schema: TSchema, entry: unknown, name: string): boolean {
  const wrong = checkOf(schema)(entry, name)
  if (wrong === undefined) return false
  if (!addFaults(faults, schema, entry, name)) faults.add(name, badRequest(wrong))
  return true
}
