/** Parses a request body as JSON: bounded depth, no repeated keys, no loss, and errors that name the cause. */
import { type JSONPath, type ParseError, printParseErrorCode, visit } from 'jsonc-parser'
import { badRequest, shown, WeirError } from '../../../ground/core/errors.js'
import { jsonNestingMax, requestValuesMax } from '../../../ground/core/limits.js'
import { outlineOf } from '../../../ground/core/text/json-nesting.js'

const loneSurrogate = /\p{Surrogate}/u
/** Characters that no text of a body may contain: half of a surrogate pair, and NUL. */
const refusedCharacter = /[\p{Surrogate}\0]/u

export const invalid = (message: string): WeirError => new WeirError('ERR_INVALID_JSON', message)

/**
 * The value, or undefined for an empty body. Throws a `WeirError`. A large body is parsed in pieces:
 * `exchange/body/large-body.ts`. `valuesMax`: objects, lists, members and elements that it may have. They take memory and
 * time, not their bytes.
 */
export function parseJsonBody(body: Buffer, valuesMax = requestValuesMax): unknown {
  if (body.length === 0) return undefined
  const text = decoded(body)
  if (text.trim() === '') return undefined
  const { isTooDeep, keys, values } = outlineOf(text)
  if (isTooDeep) throw tooDeep()
  if (values > valuesMax) throw tooManyValues(valuesMax)
  return parseLossless(text, keys)
}

/**
 * Without a byte order mark at the beginning, which parsers may ignore: https://www.rfc-editor.org/rfc/rfc8259#section-8.1
 */
export function decoded(bytes: Uint8Array, options: { ignoreBOM?: boolean } = {}): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ...options }).decode(bytes)
  } catch {
    throw invalid('The body is not valid UTF-8.')
  }
}

export const tooDeep = (): WeirError => invalid(`The body is nested more than ${jsonNestingMax} levels deep.`)

export const tooManyValues = (valuesMax: number): WeirError =>
  new WeirError(
    'ERR_BODY_TOO_LARGE',
    `The body has too many members and elements: at most ${valuesMax} are allowed, apart from those of long lists.`,
  )

/**
 * Parses a text, and checks that nothing was lost. `keys`: keys of all objects in it, repeated ones included. `placeOf`:
 * the place in the body of a character of the text.
 */
export function parseLossless(
  text: string,
  keys: number,
  placeOf: (offset: number) => number = (offset) => offset,
): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid(explainSyntax(text, placeOf))
  }
  if (!isSound(value, keys)) checkValues(text, placeOf)
  return value
}

/**
 * Fast check that parsing lost nothing: same number of keys, no lone surrogates, no unsafe integers; and that there is no
 * NUL. If it fails, a slower walk through the text finds the cause.
 */
function isSound(value: unknown, keysWritten: number): boolean {
  let keys = 0
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string' && refusedCharacter.test(next)) return false
    if (typeof next === 'number' && Math.abs(next) > Number.MAX_SAFE_INTEGER) return false
    if (typeof next !== 'object' || next === null) continue
    for (const member of Object.values(next)) waiting.push(member)
    if (Array.isArray(next)) continue
    for (const key of Object.keys(next)) if (refusedCharacter.test(key)) return false
    keys += Object.keys(next).length
  }
  return keys === keysWritten
}

function explainSyntax(text: string, placeOf: (offset: number) => number): string {
  let found: { code: number; offset: number } | undefined
  visit(
    text,
    {
      onError: (code: ParseError['error'], offset: number) => {
        if (found === undefined) found = { code, offset }
      },
    },
    { disallowComments: true },
  )
  if (found === undefined) return 'The body is not valid JSON.'
  return `The body is not valid JSON: ${printParseErrorCode(found.code)} at character ${placeOf(found.offset) + 1}.`
}

/**
 * JSON.parse silently changes some values: of repeated keys it keeps the last; escapes such as "\\ud800" become lone
 * surrogates, which UTF-8 can't encode; integers that no double represents become other ones. What is stored would
 * differ from what was sent. NUL would be kept, but programs behind Weir end a text there, or fail.
 */
function checkValues(text: string, placeOf: (offset: number) => number): void {
  const open: Set<string>[] = []
  const checkNul = (found: string, path: JSONPath, offset: number): void => {
    if (found.includes('\0')) throw containsNul(path, placeOf(offset))
  }
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set())
    },
    onObjectEnd: () => {
      open.pop()
    },
    onObjectProperty: (key, offset, _length, _line, _character, path) => {
      checkCharacters(key)
      checkNul(key, [...path(), key], offset)
      const keys = open[open.length - 1]
      if (keys?.has(key)) throw invalid(`The body has the key ${shown(key)} twice in one object.`)
      keys?.add(key)
    },
    onLiteralValue: (value: unknown, offset, length, _line, _character, path) => {
      if (typeof value === 'string') {
        checkCharacters(value)
        checkNul(value, path(), offset)
      }
      if (typeof value === 'number') checkNumber(value, text.slice(offset, offset + length))
    },
  })
}

function checkCharacters(text: string): void {
  if (loneSurrogate.test(text)) {
    throw invalid(
      `The body has the text ${shown(text)}, which contains a lone surrogate (half of a character).`,
    )
  }
}

/**
 * Names the member, or its entry, such as "hostports[1]"; a large body is parsed in pieces, which don't know where they are.
 */
function containsNul(path: JSONPath, place: number): WeirError {
  const name = path.findLastIndex((segment) => typeof segment === 'string')
  const entries = path.slice(name + 1).map((index) => `[${index}]`)
  const owner = name < 0 ? 'An entry of a list' : shown(`${path[name]}${entries.join('')}`)
  return badRequest(
    `${owner} contains NUL (U+0000), at character ${place + 1} of the body: no text may contain it.`,
  )
}

function checkNumber(value: number, written: string): void {
  const isExact = Number.isFinite(value) && (!integer.test(written) || isWrittenAgain(value, written))
  if (isExact) return
  const start = written.length > numberCharsShownMax ? `${written.slice(0, numberCharsShownMax)}…` : written
  throw invalid(`The body has the number ${start}, which can't be stored exactly: send it as text.`)
}

const integer = /^-?\d+$/

/** Beyond what is safe, some integers that a double holds are written with other digits: they would be shown so. */
function isWrittenAgain(value: number, written: string): boolean {
  const shown = String(value)
  return BigInt(written) === (integer.test(shown) ? BigInt(shown) : BigInt(value))
}

const numberCharsShownMax = 40
