/** A request body as JSON: bounded in depth, without repeated keys, and clear about what is wrong with it. */
import { type ParseError, printParseErrorCode, visit } from 'jsonc-parser'
import { shown, WeirError } from '../core/errors.js'
import { outlineOf } from '../core/json-nesting.js'
import { jsonNestingMax } from '../core/limits.js'
import { Slices } from '../core/slices.js'

const halfCharacter = /\p{Surrogate}/u

const invalid = (message: string): WeirError => new WeirError('ERR_INVALID_JSON', message)

/** The value, or undefined for an empty body. Large ones are looked at in slices. Rejects with a `WeirError`. */
export async function parseJsonBody(body: Buffer): Promise<unknown> {
  if (body.length === 0) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw invalid('The body is not valid UTF-8.')
  }
  if (text.trim() === '') return undefined
  const slices = new Slices()
  const { isTooDeep, keys } = outlineOf(text)
  if (isTooDeep) throw invalid(`The body is nested more than ${jsonNestingMax} levels deep.`)
  if (slices.isDue()) await slices.pause()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid(explainSyntax(text))
  }
  if (!(await isAsWritten(value, keys, slices))) checkValues(text)
  return value
}

/**
 * Has the value all keys of the text, and nothing in it that may be another one than was sent? That is quickly told,
 * and mostly so; what is wrong, if anything, a walk through the text finds.
 */
async function isAsWritten(value: unknown, keysWritten: number, slices: Slices): Promise<boolean> {
  let keys = 0
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string' && halfCharacter.test(next)) return false
    if (typeof next === 'number' && Math.abs(next) > Number.MAX_SAFE_INTEGER) return false
    if (typeof next !== 'object' || next === null) continue
    if (slices.isDue()) await slices.pause()
    for (const member of Object.values(next)) waiting.push(member)
    if (Array.isArray(next)) continue
    for (const key of Object.keys(next)) if (halfCharacter.test(key)) return false
    keys += Object.keys(next).length
  }
  return keys === keysWritten
}

function explainSyntax(text: string): string {
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
  return `The body is not valid JSON: ${printParseErrorCode(found.code)} at character ${found.offset + 1}.`
}

/**
 * JSON.parse keeps the last of repeated keys: a client that sends two values means neither. It makes half characters
 * of escapes such as "\\ud800", which no UTF-8 can hold, and other numbers of those that no double holds: what is
 * stored would not be what was sent.
 */
function checkValues(text: string): void {
  const open: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set())
    },
    onObjectEnd: () => {
      open.pop()
    },
    onObjectProperty: (key: string) => {
      checkCharacters(key)
      const keys = open[open.length - 1]
      if (keys?.has(key)) throw invalid(`The body has the key ${shown(key)} twice in one object.`)
      keys?.add(key)
    },
    onLiteralValue: (value: unknown, offset: number, length: number) => {
      if (typeof value === 'string') checkCharacters(value)
      if (typeof value === 'number') checkNumber(value, text.slice(offset, offset + length))
    },
  })
}

function checkCharacters(text: string): void {
  if (halfCharacter.test(text)) {
    throw invalid(`The body has the text ${shown(text)}, which holds half of a character (a lone surrogate).`)
  }
}

function checkNumber(value: number, written: string): void {
  const isKept = Number.isFinite(value) && (!/^-?\d+$/.test(written) || BigInt(written) === BigInt(value))
  if (isKept) return
  const start = written.length > numberCharsShownMax ? `${written.slice(0, numberCharsShownMax)}…` : written
  throw invalid(`The body has the number ${start}, which would not be kept exactly: send it as text.`)
}

const numberCharsShownMax = 40
