/**
 * Values that files name and do not hold: `${env:NAME}` is an environment variable, `${file:PATH}` the text of a file, by its
 * path from the file that names it. `$${` is a plain `${`.
 */
import { dirname, resolve } from 'node:path'
import { readBounded } from '../../ground/core/bounded-file.js'
import { messageOf } from '../../ground/core/errors.js'
import { isObject, mapTexts } from '../../ground/core/json-object.js'

const form = /\$(?:\$\{|\{(env|file):([^{}]+)\})/g
/** Larger than any text of a resource. */
const fileBytesMax = 1024 * 1024
/** Begins a text in place of one that is not there; no client can send it. */
const missingMark = '\uE000'

/** Why a text is not there; undefined if it is. */
export const whyMissing = (value: unknown): string | undefined =>
  typeof value === 'string' && value.startsWith(missingMark) ? value.slice(missingMark.length) : undefined

/** A copy of a value with all placeholders in its texts replaced. */
export const replaced = <T>(value: T, file: string, env: NodeJS.ProcessEnv): T =>
  mapTexts(value, (text) => textOf(text, file, env))

function textOf(text: string, file: string, env: NodeJS.ProcessEnv): string {
  let missing: string | undefined
  const whole = text.replaceAll(form, (given, kind?: string, name = '') => {
    if (kind === undefined) return given.slice(1)
    try {
      return kind === 'env' ? variable(name, env) : textIn(resolve(dirname(file), name))
    } catch (error) {
      missing ??= `${given} is not there: ${messageOf(error)}`
      return ''
    }
  })
  return missing === undefined ? whole : missingMark + missing
}

const textIn = (path: string): string => readBounded(path, fileBytesMax).toString()

function variable(name: string, env: NodeJS.ProcessEnv): string {
  const value = env[name]
  if (value === undefined || value === '') throw new Error(`the environment has no ${name}`)
  return value
}

/** A text of the API as files have it. */
export const escaped = (text: string): string => text.replaceAll('${', () => '$${')

/** The variables of the environment that the texts of a value name. */
export function variablesIn(value: unknown): string[] {
  if (typeof value === 'string')
    return [...value.matchAll(form)].flatMap(([, kind, name]) => (kind === 'env' ? [name!] : []))
  if (Array.isArray(value)) return value.flatMap(variablesIn)
  return isObject(value) ? Object.values(value).flatMap(variablesIn) : []
}

/** All texts in a value that are missing, with their places. */
export function* missingIn(value: unknown, place: string): Generator<{ place: string; why: string }> {
  const why = whyMissing(value)
  if (why !== undefined) yield { place, why }
  if (Array.isArray(value))
    for (const [index, each] of value.entries()) yield* missingIn(each, `${place}[${index}]`)
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) yield* missingIn(member, `${place}.${name}`)
}
