/** The kinds of targets and their members, read from the API's own document: a kind that is added there is offered here. */

import type { TargetWords } from '../../../../words/shape/delivery/target-words.js'
import { apiSchemas, type Schema } from '../../data/asking/api-document.js'
import type { Member, TargetKind } from './target-members.js'

/** Texts that may be so long have lines. */
const lineMax = 8_192

/** Every kind of target as a member of `target`. */
export async function targetKinds(): Promise<readonly TargetKind[]> {
  const schemas = await apiSchemas()
  const resolved = (schema: Schema): Schema => {
    const set = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
    if (set.$ref === undefined) return set
    return schemas[set.$ref.split('/').at(-1) ?? ''] ?? {}
  }
  const { properties = {} } = schemas['DestinationTargetInput'] ?? {}
  return Object.entries(properties).map(([name, schema]) => {
    const found = resolved(schema)
    const { words = {}, forms = [] } = found['x-setup'] ?? {}
    return { ...memberOf(name, found, { resolved, words, path: '', isRequired: false }), tiles: forms }
  })
}

interface Reading {
  readonly resolved: (schema: Schema) => Schema
  readonly words: TargetWords
  /** The path of the member, such as `auth.bearer`; empty: the target itself. */
  readonly path: string
  readonly isRequired: boolean
}

function memberOf(name: string, schema: Schema, reading: Reading): Member {
  const { words, path, isRequired, resolved } = reading
  const { label = name, help, choices = {}, unset = 'default', isRare = false } = words[path] ?? {}
  const { properties = {}, required = [], additionalProperties } = schema
  const pathOf = (each: string): string => (path === '' ? each : `${path}.${each}`)
  const order = Object.keys(words)
  const members = Object.entries(properties)
    .toSorted(([one], [other]) => order.indexOf(pathOf(one)) - order.indexOf(pathOf(other)))
    .map(([each, inner]) =>
      memberOf(each, resolved(inner), {
        ...reading,
        path: pathOf(each),
        isRequired: required.includes(each),
      }),
    )
  const about = schema.description ?? ''
  const values = typeof additionalProperties === 'object' ? resolved(additionalProperties) : {}
  return {
    name,
    label,
    form: formOf(schema, members, about),
    isRequired,
    isSecret: isSecret(schema) || about.includes('never shown') || isSecret(values),
    about: rangeText(help ?? about, schema),
    example: String(schema.examples?.[0] ?? ''),
    choices: schema.enum ?? [],
    choiceWords: choices,
    unset,
    isRare,
    members,
  }
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
