/**
 * Schemas as TypeBox builds them, and what is wrong with a value as one sentence.
 *
 * A sentence reads `"hostports[0]" is "a:99999": the port must be 1 to 65535.`: it names the field, the value and
 * what is allowed. Rules that JSON Schema can't say are attached with `ruled`.
 */
import Type, { type Static, type TProperties, type TSchema, type TUnsafe } from 'typebox'

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
export const maxBytesKey = 'x-max-bytes'

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

export const tooManyBytes = (text: string, bytesMax: number): string =>
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
