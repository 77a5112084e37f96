/**
 * Which part of an expression made it true or false: of `a && b || c` in brackets, the operand that settled it. Parts are
 * texts as they were written, each an expression of its own.
 */
import { tokensOf } from './parse.js'
import type { Token } from './tokens.js'

/** Parts that are evaluated for one answer. */
const partsMax = 500

type Truth = boolean | undefined

/**
 * The smallest part whose truth alone settles that of the whole. `truthOf` a part is undefined if it has no result. The
 * whole, if all of its parts were needed.
 */
export function decisivePart(text: string, truthOf: (part: string) => Truth): string {
  let left = partsMax
  const narrowed = (whole: string): string => {
    const { operator, parts } = operandsOf(whole)
    for (const part of operator === undefined ? [] : parts) {
      left -= 1
      const truth = left < 0 ? undefined : truthOf(part)
      if (truth === undefined) return whole
      if (truth === (operator === '||')) return narrowed(withoutBrackets(part))
    }
    return whole
  }
  return narrowed(withoutBrackets(text))
}

/** How much deeper in brackets the next token is. */
const depthOf = ({ type = '' }: Token): number => (/^open/.test(type) ? 1 : /^close/.test(type) ? -1 : 0)

/** Brackets around all of it mean nothing. */
function withoutBrackets(text: string): string {
  const tokens = tokensOf(text)
  const [first, last] = [tokens[0], tokens.at(-1)]
  if (first?.type !== 'openParen' || last?.type !== 'closeParen') return text
  let depth = 0
  for (const token of tokens.slice(0, -1)) {
    depth += depthOf(token)
    if (depth === 0) return text
  }
  return withoutBrackets(text.slice(first.offset + 1, last.offset).trim())
}

interface Operands {
  /** Undefined if it is not a chain of `&&` or of `||`. */
  readonly operator: '&&' | '||' | undefined
  readonly parts: readonly string[]
}

function operandsOf(text: string): Operands {
  let operator: Operands['operator']
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (const token of tokensOf(text)) {
    depth += depthOf(token)
    if (depth > 0) continue
    // It binds less than `&&`: what is before it is a condition, and no operand.
    if (token.type === 'question') return { operator: undefined, parts: [] }
    if (token.text !== '&&' && token.text !== '||') continue
    operator = token.text
    parts.push(text.slice(start, token.offset).trim())
    start = token.offset + token.text.length
  }
  return { operator, parts: [...parts, text.slice(start).trim()] }
}
