/**
 * Values that files name and do not hold: `${env:NAME}` is an environment variable, `${file:PATH}` the text of a file, by its
 * path from the file that names it. `$${` is a plain `${`.
 */
import { dirname, resolve } from 'node:path'
import { messageOf, shown } from '../../ground/core/errors.js'
import { readBounded } from '../../ground/core/files/bounded-file.js'
import { isObject, mapTexts } from '../../ground/core/json-object.js'
import { namesAddress } from './drawn-addresses.js'

const form = /\$(?:\$\{|\{(env|file):([^{}]+)\})/g
/** Larger than any text of a resource. */
const fileBytesMax = 1024 * 1024
/** Begins a text in place of one that is not there; no client can send it. */
const missingMark = '\uE000'

/** Why a text is not there; undefined if it is. */
export const whyMissing = (value: unknown): string | undefined =>
  typeof value === 'string' && value.startsWith(missingMark) ? value.slice(missingMark.length) : undefined

type Noted = (value: string, placeholder: string) => void

/** A copy of a value with all placeholders in its texts replaced. `noted` gets what they stand for. */
export const replaced = <T>(value: T, file: string, env: NodeJS.ProcessEnv, noted: Noted): T =>
  mapTexts(value, (text) => textOf(text, file, env, noted))

function textOf(text: string, file: string, env: NodeJS.ProcessEnv, noted: Noted): string {
  let missing: string | undefined
  const whole = text.replaceAll(form, (given, kind?: string, name = '') => {
    if (kind === undefined) return given.slice(1)
    try {
      const value =
        kind === 'env'
          ? variable(name, env)
          : readBounded(resolve(dirname(file), name), fileBytesMax).toString()
      noted(value, given)
      return value
    } catch (error) {
      missing ??= `${given} is not there: ${messageOf(error)}`
      return ''
    }
  })
  return missing === undefined ? whole : missingMark + missing
}

function variable(name: string, env: NodeJS.ProcessEnv): string {
  const value = env[name]
  if (value === undefined || value === '') throw new Error(`the environment has no ${name}`)
  return value
}

/** A text with a `${` that begins no placeholder: most likely one with a typing error. `addr` names an address of an edge. */
const strayIn = (text: string, place: string): string | undefined => {
  if (namesAddress(text) && isHostport.test(place)) return undefined
  // A space stands for each placeholder, so that what is around it does not become one.
  return /\$\{[^}]*\}?/.exec(text.replaceAll(form, ' '))?.[0]
}

const isHostport = /\.hostports\[\d+\]$/

/** What is wrong with the placeholders in a value as it is written, with the places. */
export function* strayPlaceholders(value: unknown, place: string): Generator<{ place: string; msg: string }> {
  if (typeof value === 'string') {
    const stray = strayIn(value, place)
    if (stray !== undefined)
      yield {
        place,
        msg: `"${place}" has ${shown(stray)}, which is no placeholder: write \${env:NAME} or \${file:PATH}, or $\${ for a plain \${.`,
      }
  }
  if (Array.isArray(value))
    for (const [index, each] of value.entries()) yield* strayPlaceholders(each, `${place}[${index}]`)
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) yield* strayPlaceholders(member, `${place}.${name}`)
}

/** A text of the API as files have it. */
export const escaped = (text: string): string => text.replaceAll('${', () => '$${')

/** Does a value, as it is written, depend on what is not in the file? */
export const hasPlaceholders = (value: unknown): boolean =>
  [...(JSON.stringify(value) ?? '').matchAll(form)].some(([, kind]) => kind !== undefined)

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
