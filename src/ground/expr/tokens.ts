/**
 * Checks and corrections between jexl's lexer and its parser. The parser takes a level of recursion and a walk over the
 * contents for each bracket (10,000 of them cost 12 s and 1.7 GB). It accepts unclosed brackets, missing operands, and
 * `&&` and `||` at the same precedence.
 */
import { shown } from '../core/errors.js'
import { Refusal } from './problem.js'

export const exprTokensMax = 4096
/** Nesting of brackets and `? :`; jexl's parser takes a level of recursion and a walk for each. */
export const exprNestingMax = 32

export interface Token {
  /** jexl's name for the part of speech; undefined for words its table inherits, such as `toString`. */
  readonly type: string | undefined
  readonly value: unknown
  readonly raw: string
  /** As written, without the white space behind it. */
  readonly text: string
  /** Its position in the expression, from 0. */
  readonly offset: number
}

/**
 * The value of a name or literal together with its place, carried through jexl's parser, which copies values and
 * never looks into them. As the key of an object it turns into text by itself.
 */
export class PlacedValue {
  readonly value: unknown
  readonly offset: number

  constructor(value: unknown, offset: number) {
    this.value = value
    this.offset = offset
  }

  toString(): string {
    return String(this.value)
  }
}

/** The tokens with their places in the text. */
export function placeTokens(text: string, tokens: readonly Omit<Token, 'text' | 'offset'>[]): Token[] {
  if (tokens.length > exprTokensMax) {
    throw new Refusal('too_large', `The expression has ${tokens.length} tokens, more than ${exprTokensMax}`)
  }
  let index = 0
  return tokens.map((token) => {
    const written = token.raw.trimEnd()
    while (/\s/.test(text.charAt(index))) index++
    const offset = index
    if (text.startsWith(written, index)) {
      index += written.length
    } else {
      // The lexer joins a minus and its number: `- 5` in the text is `-5` here, and so is `--5`.
      while (/[-\s]/.test(text.charAt(index))) index++
      index += written.length - 1
    }
    return { ...token, text: written, offset }
  })
}

/** Members of these names lead from data to functions. */
export const forbiddenNames: ReadonlySet<unknown> = new Set(['constructor', '__proto__', 'prototype'])

const openers: Readonly<Record<string, string>> = {
  openParen: 'closeParen',
  openBracket: 'closeBracket',
  openCurl: 'closeCurl',
}
const closers = new Set<string | undefined>(Object.values(openers))
const operandEnds = new Set<string | undefined>(['literal', 'identifier', ...closers])
const operandFollows = new Set<string | undefined>([
  'binaryOp',
  'unaryOp',
  'comma',
  'colon',
  'question',
  'openParen',
  'openBracket',
  undefined,
])
const noOperandStarts = new Set<string | undefined>([
  'binaryOp',
  'pipe',
  'comma',
  'colon',
  'question',
  ...closers,
])

/** Refuses tokens that the parser would misread. */
export function refuseBadTokens(tokens: readonly Token[]): void {
  if (tokens.length === 0) throw new Refusal('missing_operand', 'The expression is empty')
  for (const token of tokens) {
    if (token.type === undefined || (token.type === 'identifier' && forbiddenNames.has(token.value))) {
      throw new Refusal('forbidden_name', `${token.text} can't be used as a name`, token.offset)
    }
    // jexl takes a lone quote for an empty text.
    if (token.text === "'" || token.text === '"') {
      throw new Refusal('unclosed_bracket', `The quote ${token.text} is never closed`, token.offset)
    }
  }
  refuseBadBrackets(tokens)
  for (let index = 0; index <= tokens.length; index++) refuseMissingOperand(tokens, index)
}

/** A bracket that is open, or the expression as a whole. */
interface Level {
  readonly opener: Token | undefined
  /** Conditionals begun on this level: each nests what is behind it. */
  conditionals: number
  /** The operator that `&&` and `||` must not be mixed with, until a comma or a conditional ends its reach. */
  logical: string | undefined
}

function refuseBadBrackets(tokens: readonly Token[]): void {
  const levels: Level[] = [{ opener: undefined, conditionals: 0, logical: undefined }]
  let nesting = 0
  for (const token of tokens) {
    const level = levels.at(-1)!
    if (token.type! in openers) {
      levels.push({ opener: token, conditionals: 0, logical: undefined })
      nesting++
    } else if (closers.has(token.type)) {
      if (level.opener === undefined || openers[level.opener.type!] !== token.type) {
        throw new Refusal('unclosed_bracket', `${token.text} closes no bracket`, token.offset)
      }
      levels.pop()
      nesting -= 1 + level.conditionals
    } else if (token.type === 'comma') {
      nesting -= level.conditionals
      level.conditionals = 0
      level.logical = undefined
    } else if (token.type === 'question') {
      level.conditionals++
      level.logical = undefined
      nesting++
    } else if (token.type === 'colon') {
      level.logical = undefined
    } else if (token.type === 'binaryOp') {
      refuseMixedOperators(level, token)
    }
    if (nesting > exprNestingMax) {
      throw new Refusal(
        'too_large',
        `The expression is nested more than ${exprNestingMax} deep`,
        token.offset,
      )
    }
  }
  const open = levels.at(-1)!.opener
  if (open !== undefined) throw new Refusal('unclosed_bracket', `${open.text} is never closed`, open.offset)
}

/** jexl gives both the same precedence, other languages do not: what was meant is unclear. */
function refuseMixedOperators(level: Level, token: Token): void {
  if (token.text !== '&&' && token.text !== '||') return
  if (level.logical !== undefined && level.logical !== token.text) {
    const what = `${token.text} and ${level.logical} are mixed`
    throw new Refusal('mixed_operators', what, token.offset, 'write parentheses around one of them')
  }
  level.logical = token.text
}

/** Refuses the token at `index` (or the end) where an operand should begin and does not. */
function refuseMissingOperand(tokens: readonly Token[], index: number): void {
  const before = tokens[index - 1]
  const token = tokens[index]
  if (before?.type === 'openCurl' || !operandFollows.has(before?.type)) return
  if (token !== undefined && !noOperandStarts.has(token.type)) return
  if (before?.type === 'question' && token?.type === 'colon') return
  const opensAfterOperand = operandEnds.has(tokens[index - 2]?.type)
  if (before?.type === 'openParen' && token?.type === 'closeParen' && opensAfterOperand) return
  if (before?.type === 'openBracket' && token?.type === 'closeBracket' && !opensAfterOperand) return
  if (token === undefined)
    throw new Refusal('missing_operand', `A value is missing behind the last ${before?.text}`)
  const hint = token.text === '-' ? 'a negative number in a list needs parentheses, as in (-1)' : undefined
  throw new Refusal('missing_operand', `A value is missing before ${token.text}`, token.offset, hint)
}

/**
 * `a.b.name(x)` becomes `a.b|name(x)`: jexl would call `name(x)` and ignore `a.b`. Calls of anything but a name,
 * which it would misread in the same way, are refused.
 */
export function methodsToTransforms(tokens: readonly Token[]): Token[] {
  return tokens.map((token, index) => {
    const [before, next, afterNext] = [tokens[index - 1], tokens[index + 1], tokens[index + 2]]
    if (token.type === 'openParen' && before?.type === 'closeBracket') {
      throw new Refusal('syntax', 'Only functions can be called', token.offset)
    }
    if (token.type !== 'dot' || next?.type !== 'identifier' || afterNext?.type !== 'openParen') return token
    if (!operandEnds.has(before?.type)) {
      throw new Refusal('syntax', `${shown(next.text)} has nothing before the dot to work on`, token.offset)
    }
    return { ...token, type: 'pipe', value: '|' }
  })
}
