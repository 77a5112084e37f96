/**
 * Building blocks of schemas, on TypeBox. `schema-check.ts` checks values against them.
 *
 * An error message is one sentence with the field, the value and what is allowed: `"hostports[0]" is "a:99999": the
 * port must be 1 to 65535.` Rules that JSON Schema can't express are attached with `ruled`.
 */
import Type, { type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from 'typebox'

export { type Static, type TObject, type TSchema, type TUnsafe, Type }

/** Adds a rule: if the value violates it, `broken` returns what is allowed, without field or value. */
export const ruled = <S extends TSchema>(schema: S, broken: (value: Static<S>) => string | undefined): S =>
  Type.Refine(
    schema,
    (value) => broken(value as Static<S>) === undefined,
    (value) => broken(value as Static<S>) ?? '',
  ) as unknown as S

/**
 * Keywords for the OpenAPI document only, not for validation: a `ruled` rule checks the same with a better message.
 */
export const documented = (keywords: object) => ({ [documentedKey]: keywords })

/** Marks a text that is stored sealed and never shown; also in the API's document. */
export const secretMark = 'x-secret'

/** The schema property that holds these keywords. */
export const documentedKey = 'x-documented'

/** Keyword of the OpenAPI document for a limit in UTF-8 bytes; JSON Schema has none. */
export const maxBytesKey = 'x-max-bytes'

/** Adds the exact limit to a description: JSON Schema can only count characters. */
const bounded = (description: string, atMost: string): string =>
  `${description} At most ${atMost}.`.trimStart()

/** Text of at most `bytesMax` bytes in UTF-8. */
export const boundedBytes = (bytesMax: number, description = '', options: { title?: string } = {}) =>
  ruled(
    // Text with too many characters also has too many bytes, so an error of `maxLength` reports bytes.
    Type.String({
      ...options,
      maxLength: bytesMax,
      [maxBytesKey]: bytesMax,
      description: bounded(description, `${bytesMax} bytes in UTF-8`),
    }),
    (text) => (Buffer.byteLength(text) > bytesMax ? tooManyBytes(text, bytesMax) : undefined),
  )

export const tooManyBytes = (text: string, bytesMax: number): string =>
  `is too long (${Buffer.byteLength(text)} bytes): at most ${bytesMax} bytes in UTF-8 are allowed`

/** Text of at most `charsMax` characters (code points). */
export const boundedChars = (charsMax: number, description = '') =>
  ruled(
    // A character takes at most two UTF-16 units: longer text is refused before its characters are counted.
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

/** An object with exactly these members allowed. */
export const objectOf = <P extends TProperties>(
  members: P,
  options: { title?: string; description?: string; examples?: unknown[] } = {},
) => Type.Object(members, { ...options, additionalProperties: false })

export const orNull = <S extends TSchema>(schema: S, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options)

/**
 * Values by keys that the client chooses. Not `Type.Record`: it selects keys by the pattern `^.*$`, which a key with a
 * line break does not match, so that its value would not be checked.
 */
export const mapOf = <S extends TSchema>(
  values: S,
  options: { maxProperties?: number; description?: string } = {},
) => Type.Unsafe<Record<string, Static<S>>>(Type.Object({}, { ...options, additionalProperties: values }))

/** The parts of a schema that say which values it allows, for code that walks through schemas. */
interface Shape {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: unknown
  readonly required?: readonly string[]
  readonly items?: TSchema
  readonly minItems?: number
  readonly anyOf?: readonly TSchema[]
}

/** The schema's shape, without null if it allows null. */
export function shapeOf(schema: TSchema): Shape {
  const shape = schema as Shape
  const choice = shape.anyOf?.find((each) => (each as Shape).type !== 'null')
  return choice === undefined ? shape : shapeOf(choice)
}

/** A body in one of several forms: schemas by media type. */
export const inTypes = (schemas: Readonly<Record<string, TSchema>>): TSchema =>
  ({
    content: Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }])),
  }) as TSchema
