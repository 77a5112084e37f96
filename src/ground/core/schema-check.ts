/**
 * Checks a value against its schema and describes the first fault in one sentence. Separate from `schema.ts`, because
 * loading the compiler takes a quarter of a second that roles without checks should not pay.
 */
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { memberName, scalarShown, shown, valueAt } from './errors.js'
import { insteadOf } from './nearest.js'
import { maxBytesKey, tooManyBytes } from './schema.js'

/** Describes what is wrong with `value`, called `name` in the sentence; undefined if it is valid. */
export type Check = (value: unknown, name: string) => string | undefined

interface SchemaError {
  readonly keyword: string
  /** Path of the violated schema: `#/properties/urls/items`. */
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

export function compileCheck(schema: TSchema): Check {
  const compiled = Compile(schema)
  return (value, name) => {
    if (compiled.Check(value)) return undefined
    const [, errors] = compiled.Errors(value)
    return sentence(chosen(errors as SchemaError[]), schema, value, name)
  }
}

/**
 * The most helpful error. All unions are "this or null", so errors about `null` or about the union as a whole say less
 * than the error of the other member.
 */
function chosen(errors: readonly SchemaError[]): SchemaError {
  const isTelling = ({ keyword, params }: SchemaError): boolean =>
    keyword !== 'boolean' && keyword !== 'anyOf' && !('type' in params && params.type === 'null')
  return errors.find(isTelling) ?? errors[0]!
}

function sentence(error: SchemaError, schema: TSchema, root: unknown, name: string): string {
  const { path, value } = locate(error.instancePath, root, name)
  const { properties = {}, [maxBytesKey]: maxBytes } = brokenSchema(error, schema)
  const params = error.params as Record<string, unknown>
  const is = path === '' ? `The value is ${scalarShown(value)}` : valueAt(path, value)
  switch (error.keyword) {
    case 'type':
      return `${is}, but must be ${article(String(params['type']))}.`
    case 'required':
      return lacking(path, missing(list(params['requiredProperties']), value))
    case 'additionalProperties': {
      const [unknown = ''] = list(params['additionalProperties'])
      const has = path === '' ? `${shown(unknown)} is unknown` : `"${path}" has no field ${shown(unknown)}`
      return `${has}: ${insteadOf(unknown, Object.keys(properties))}.`
    }
    case 'enum':
      return `${is}, but must be one of ${quoted(list(params['allowedValues']))}.`
    case 'const':
      return `${is}, but must be ${shown(params['allowedValue'])}.`
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `${is}, but must be ${params['comparison']} ${params['limit']}.`
    case 'minLength':
      return `${is}, but must have at least ${params['limit']} characters.`
    case 'maxLength':
      if (maxBytes !== undefined) return `"${path}" ${tooManyBytes(String(value), maxBytes)}.`
      return `"${path}" is too long (${String(value).length} characters): at most ${params['limit']} are allowed.`
    case 'minItems':
      return `"${path}" has ${lengthOf(value)} entries, but must have at least ${params['limit']}.`
    case 'maxItems':
      return `"${path}" has ${lengthOf(value)} entries: at most ${params['limit']} are allowed.`
    case 'maxProperties':
      return `"${path}" has too many entries: at most ${params['limit']} are allowed.`
    default:
      // A rule of another module may show the value itself.
      if (error.message.startsWith('is ')) return `"${path}" ${error.message}.`
      return typeof value === 'object'
        ? `"${path}" is refused: ${error.message}.`
        : `${is}: ${error.message}.`
  }
}

/** `path` is empty for the whole value. */
function lacking(path: string, names: readonly string[]): string {
  if (path !== '') return `"${path}" lacks ${quoted(names)}.`
  return `${quoted(names)} ${names.length === 1 ? 'is' : 'are'} required.`
}

function brokenSchema({ schemaPath }: SchemaError, schema: TSchema): SchemaParts {
  let part: unknown = schema
  for (const key of schemaPath.split('/').slice(1)) part = (part as Record<string, unknown>)[key]
  return part as SchemaParts
}

/** Schema parts shown in sentences, in addition to the error's parameters. */
interface SchemaParts {
  readonly properties?: object
  readonly [maxBytesKey]?: number
}

const list = (value: unknown): string[] => (Array.isArray(value) ? value : [])

const missing = (required: readonly string[], value: unknown): string[] =>
  required.filter((key) => !Object.hasOwn(Object(value), key))

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

const quoted = (values: readonly string[]): string => values.map((value) => shown(value)).join(', ')

const articles: Record<string, string> = {
  string: 'a string',
  object: 'an object',
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  null: 'null',
}

const article = (type: string): string => articles[type] ?? type

/** `/b/0/k` under the name `a` is `a.b[0].k`. */
function locate(pointer: string, root: unknown, name: string): { path: string; value: unknown } {
  let path = name
  let value = root
  for (const escaped of pointer.split('/').slice(1)) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    const name = memberName(key)
    path += Array.isArray(value) ? `[${key}]` : path === '' ? name : `.${name}`
    value = (value as Record<string, unknown> | undefined)?.[key]
  }
  return { path, value }
}
