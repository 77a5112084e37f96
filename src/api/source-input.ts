/** Parses a single source of an event subscription. */
import { badRequest, shown } from '../core/errors.js'
import type { Static } from '../core/schema.js'
import { compileCheck } from '../core/schema-check.js'
import {
  completeSource,
  type Source,
  sourceChangesSchema,
  sourceSchema,
  wrongSourceUri,
} from '../resource/event-subscription.js'
import { withoutNothing } from './empty-values.js'
import { checkNames } from './input.js'

const checkSource = compileCheck(sourceSchema)
const title = 'event source'

type Values = Readonly<Record<string, unknown>>

export function parseSource(body: Values): Source {
  checkNames(body, Object.keys(sourceSchema.properties), title)
  if ((body['type'] ?? null) === null) throw badRequest(`"type" is required for an ${title}.`)
  const source = withoutNothing(sourceSchema, body)
  const wrong = checkSource(source, '')
  if (wrong !== undefined) throw badRequest(wrong)
  const misplaced = wrongSourceUri(source as Static<typeof sourceSchema>)
  if (misplaced !== undefined) throw badRequest(`"uri" is ${shown(body['uri'])}: ${misplaced}.`)
  return completeSource(source as Source)
}

/** Applies changes: fields that are not named stay; null and empty text clear a field. */
export function changedSource(present: Source, changes: Values): Source {
  checkNames(changes, Object.keys(sourceChangesSchema.properties), title)
  return parseSource({ ...present, ...changes })
}
