/**
 * Schemas as TypeBox builds them, and what is wrong with a value as one sentence.
 *
 * A sentence reads `"hostports[0]" is "a:99999": the port must be 1 to 65535.`: it names the field, the value and
 * what is allowed. Rules that JSON Schema can't say are attached with `ruled`.
 */
import Type, { type Static, type TProperties, type TSchema, type TUnsafe } from 'typebox'
import { Compile } from 'typebox/compile'
import { memberName, scalarShown, shown, valueAt } from './errors.js'
import { insteadOf } from './nearest.js'

export { type Static, type TSchema, type TUnsafe, Type }

/** Adds a rule: `broken` says what is allowed where the value breaks it, without naming field or value. */
export const ruled = <S extends TSchema>(schema: S, broken: (value: Static<S>) => string | undefined): S =>
  Type.Refine(
    schema,
    (value) => broken(value as Static<S>) === undefined,
    (value) => broken(value as Static<S>) ?? '',
  ) as unknown as S

/**
 * Keywords that the API's document shows and no validator sees: a rule of `ruled` says the same, and finds what is
 * wrong in better words.
 */
export const documented = (keywords: object) => ({ [documentedKey]: keywords })

/** Where a schema keeps them. */
export const documentedKey = 'x-documented'

/** How the API's document calls a bound in UTF-8, which JSON Schema has no keyword for. */
const maxBytesKey = 'x-max-bytes'

/** A description with what JSON Schema can't say of a bound: it counts characters. */
const bounded = (description: string, atMost: string): string =>
  `${description} At most ${atMost}.`.trimStart()

/** Text of at most `bytesMax` bytes in UTF-8. */
export const boundedBytes = (bytesMax: number, description = '', options: { title?: string } = {}) =>
  ruled(
    // Text of more characters has more bytes, too: the bytes are told where `maxLength` is broken.
    Type.String({
      ...options,
      maxLength: bytesMax,
      [maxBytesKey]: bytesMax,
      description: bounded(description, `${bytesMax} bytes in UTF-8`),
    }),
    (text) => (Buffer.byteLength(text) > bytesMax ? tooManyBytes(text, bytesMax) : undefined),
  )

const tooManyBytes = (text: string, bytesMax: number): string =>
  `is too long (${Buffer.byteLength(text)} bytes): at most ${bytesMax} bytes in UTF-8 are allowed`

/** Text of at most `charsMax` characters (code points). */
export const boundedChars = (charsMax: number, description = '') =>
  ruled(
    // A character takes at most two UTF-16 units: longer text is refused before it is walked.
    Type.String({
      description: bounded(description, `${charsMax} characters`),
      ...documented({ maxLength: charsMax }),
    }),
    (text) =>
      text.length > charsMax * 2 || (text.length > charsMax && [...text].length > charsMax)
        ? `at most ${charsMax} characters are allowed`
        : undefined,
  )

export const oneOf = <const T extends readonly string[]>(values: T, description = '') =>
  Type.Enum<[...T]>([...values] as unknown as [...T], description === '' ? {} : { description })

/** An object of these members and no others. */
export const objectOf = <P extends TProperties>(
  members: P,
  options: { title?: string; description?: string; examples?: unknown[] } = {},
) => Type.Object(members, { ...options, additionalProperties: false })

export const orNull = <S extends TSchema>(schema: S, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options)

/**
 * Values by keys of the client's own. Not `Type.Record`: that names the keys it means by the pattern `^.*$`, which a key
 * with a line break does not match, so that its value would not be looked at.
 */
export const mapOf = <S extends TSchema>(
  values: S,
  options: { maxProperties?: number; description?: string } = {},
) => Type.Unsafe<Record<string, Static<S>>>(Type.Object({}, { ...options, additionalProperties: values }))

/** What is wrong with `value`, which is called `name`; undefined where nothing is. */
export type Check = (value: unknown, name: string) => string | undefined

interface SchemaError {
  readonly keyword: string
  /** Of the schema that is broken: `#/properties/urls/items`. */
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

export function compileCheck(schema: TSchema): Check {
  const compiled = Compile(schema)
  return (value, name) => {
    if (compiled.Check(value)) return undefined
    const errors = [...compiled.Errors(value)] as SchemaError[]
    return sentence(chosen(errors), schema, value, name)
  }
}

/**
 * The error a person should see first. Unions are "this or null" throughout: that a value is not null, and that it
 * is none of both, says less than what is wrong with it.
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
      // A rule of another room may show the value itself.
      if (error.message.startsWith('is ')) return `"${path}" ${error.message}.`
      return typeof value === 'object'
        ? `"${path}" is refused: ${error.message}.`
        : `${is}: ${error.message}.`
  }
}

/** `path` is empty for the whole that was sent. */
function lacking(path: string, names: readonly string[]): string {
  if (path !== '') return `"${path}" lacks ${quoted(names)}.`
  return `${quoted(names)} ${names.length === 1 ? 'is' : 'are'} required.`
}

function brokenSchema({ schemaPath }: SchemaError, schema: TSchema): SchemaParts {
  let part: unknown = schema
  for (const key of schemaPath.split('/').slice(1)) part = (part as Record<string, unknown>)[key]
  return part as SchemaParts
}

/** What sentences tell of a schema beside the error's own parameters. */
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
