/** The kinds of targets and their members, read from the API's own document: a kind that is added there is offered here. */
import { apiSchemas, type Schema } from '../../data/asking/api-document.js'
import type { Member } from './target-members.js'

/** Texts that may be so long have lines. */
const lineMax = 8_192

/** Every kind of target as a member of `target`. */
export async function targetKinds(): Promise<readonly Member[]> {
  const schemas = await apiSchemas()
  const resolved = (schema: Schema): Schema => {
    const set = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
    if (set.$ref === undefined) return set
    return schemas[set.$ref.split('/').at(-1) ?? ''] ?? {}
  }
  const valuesOf = ({ additionalProperties }: Schema): Schema =>
    typeof additionalProperties === 'object' ? resolved(additionalProperties) : {}
  const membersOf = ({ properties = {}, required = [] }: Schema): readonly Member[] =>
    Object.entries(properties).map(([name, schema]) =>
      memberOf(name, resolved(schema), required.includes(name)),
    )
  const memberOf = (name: string, schema: Schema, isRequired: boolean): Member => {
    const members = membersOf(schema)
    const about = schema.description ?? ''
    return {
      name,
      form: formOf(schema, members, about),
      isRequired,
      isSecret: isSecret(schema) || about.includes('never shown') || isSecret(valuesOf(schema)),
      about: rangeText(about, schema),
      example: String(schema.examples?.[0] ?? ''),
      choices: schema.enum ?? [],
      members,
    }
  }
  return membersOf(schemas['DestinationTargetInput'] ?? {})
}

const isSecret = (schema: Schema): boolean => schema['x-secret'] === true

function formOf(schema: Schema, members: readonly Member[], about: string): Member['form'] {
  if (schema.enum !== undefined) return 'choice'
  if (schema.type === 'boolean') return 'switch'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'array') return 'list'
  if (schema.type !== 'object') return (schema.maxLength ?? 0) > lineMax ? 'lines' : 'text'
  if (typeof schema.additionalProperties === 'object') return 'map'
  const isOneOf =
    members.length > 1 && members.every(({ form, isRequired }) => form === 'object' && !isRequired)
  return isOneOf || /exactly one of/i.test(about) ? 'one of' : 'object'
}

const rangeText = (about: string, { minimum, maximum }: Schema): string =>
  minimum === undefined || maximum === undefined ? about : `${about} From ${minimum} to ${maximum}.`.trim()
