/** The kinds of targets and their members, read from the API's own document: a kind that is added there is offered here. */
import { apiSchemas, type Schema } from '../../data/api-document.js'

export interface Member {
  readonly name: string
  readonly form: 'text' | 'lines' | 'number' | 'switch' | 'choice' | 'map' | 'list' | 'one of' | 'object'
  readonly isRequired: boolean
  /** Stored encrypted and never shown. */
  readonly isSecret: boolean
  readonly about: string
  readonly example: string
  readonly choices: readonly string[]
  /** Of an object. */
  readonly members: readonly Member[]
}

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
      isSecret: schema['x-secret'] === true || about.includes('never shown'),
      about: rangeText(about, schema),
      example: String(schema.examples?.[0] ?? ''),
      choices: schema.enum ?? [],
      members,
    }
  }
  return membersOf(schemas['DestinationTargetInput'] ?? {})
}

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

/** The least that a target of the kind needs, to be filled in. */
export function emptyTarget({ members }: Member): Record<string, unknown> {
  return Object.fromEntries(
    members.filter(({ isRequired }) => isRequired).map((member) => [member.name, emptyOf(member)]),
  )
}

/** A member that is chosen, but not filled in. */
export function emptyOf(member: Member): unknown {
  switch (member.form) {
    case 'object':
      return emptyTarget(member)
    case 'one of':
      return { [member.members[0]!.name]: emptyTarget(member.members[0]!) }
    case 'list':
      return []
    case 'map':
      return {}
    case 'choice':
      return member.choices[0]
    case 'switch':
      return false
    default:
      return ''
  }
}

/** A target to begin with in the JSON form: examples in place of values. */
export function exampleTarget(kind: Member): Record<string, unknown> {
  const exampleOf = (member: Member): unknown => {
    if (member.form === 'object') return exampleTarget(member)
    if (member.form === 'one of') return { [member.members[0]!.name]: exampleTarget(member.members[0]!) }
    return member.example === '' ? emptyOf(member) : member.example
  }
  return Object.fromEntries(
    kind.members.filter(({ isRequired }) => isRequired).map((member) => [member.name, exampleOf(member)]),
  )
}
