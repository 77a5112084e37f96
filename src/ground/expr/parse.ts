/** Text ▸ jexl's tree. The only file that uses jexl. */
import { getGrammar } from 'jexl/dist/grammar.js'
import Lexer from 'jexl/dist/Lexer.js'
import Parser from 'jexl/dist/parser/Parser.js'
import { utf8Length } from '../core/bytes.js'
import { messageOf, shown } from '../core/errors.js'
import { exprBytesMax } from '../core/limits.js'
import { Refusal } from './problem.js'
import { methodsToTransforms, PlacedValue, placeTokens, refuseBadTokens, type Token } from './tokens.js'

/** The tree as jexl's parser builds it; names and literals are `PlacedValue`s. */
export type JexlNode =
  | { readonly type: 'Literal'; readonly value: PlacedValue }
  | IdentifierNode
  | { readonly type: 'UnaryExpression'; readonly operator: string; readonly right: JexlNode }
  | BinaryNode
  | ConditionalNode
  | { readonly type: 'ArrayLiteral'; readonly value: readonly JexlNode[] }
  | { readonly type: 'ObjectLiteral'; readonly value: Readonly<Record<string, JexlNode>> }
  | FilterNode
  | CallNode

export interface IdentifierNode {
  readonly type: 'Identifier'
  readonly value: PlacedValue
  /** The value that has the member; absent for a name. */
  readonly from?: JexlNode
  /** `.name`: read from the element a filter looks at. */
  readonly relative?: boolean
}

interface BinaryNode {
  readonly type: 'BinaryExpression'
  readonly operator: string
  readonly left: JexlNode
  readonly right: JexlNode
}

interface ConditionalNode {
  readonly type: 'ConditionalExpression'
  readonly test: JexlNode
  /** Null in `a ?: b`, which stands for `a ? a : b`. */
  readonly consequent: JexlNode | null
  readonly alternate: JexlNode
}

interface FilterNode {
  readonly type: 'FilterExpression'
  readonly subject: JexlNode
  readonly expr: JexlNode
  /** `list[.x == 1]` picks elements; `list[1]` reads a member. */
  readonly relative: boolean
}

export interface CallNode {
  readonly type: 'FunctionCall'
  readonly pool: 'functions' | 'transforms'
  readonly name: PlacedValue
  readonly args: readonly JexlNode[]
}

const grammar = getGrammar()
const lexer = new Lexer(grammar)

/** The tree of an expression; throws a `Refusal` for any other value. */
export function parseExpression(text: unknown): JexlNode {
  if (typeof text !== 'string')
    throw new Refusal('not_text', `${shown(text)} is not an expression but another type`)
  if (text.length > exprBytesMax || utf8Length(text) > exprBytesMax) {
    throw new Refusal('too_large', `The expression is longer than ${exprBytesMax} bytes`)
  }
  const tokens = readTokens(text)
  refuseBadTokens(tokens)
  return parseTokens(methodsToTransforms(tokens))
}

/** The tokens of an expression, or of a part of one; throws a `Refusal` for what has none. */
export const tokensOf = (text: string): readonly Token[] => readTokens(text)

function readTokens(text: string): Token[] {
  let tokens: ReturnType<typeof lexer.tokenize>
  try {
    tokens = lexer.tokenize(text)
  } catch (error) {
    const culprit = messageOf(error).replace('Invalid expression token: ', '')
    const offset = text.indexOf(culprit)
    throw new Refusal('syntax', `${shown(culprit, 40)} can't be read`, offset < 0 ? undefined : offset)
  }
  return placeTokens(text, tokens)
}

/** States of jexl's parser behind a call; in them it does not expect the `?` of a conditional, in the other it does. */
const behindCall: ReadonlySet<string> = new Set(['postArgs', 'postTransform'])
const behindOperand = 'expectBinOp'

function parseTokens(tokens: readonly Token[]): JexlNode {
  const parser = new Parser(grammar)
  for (const token of tokens) {
    if (token.type === 'question') allowConditional(parser)
    try {
      parser.addToken(
        carriesPlace(token) ? { ...token, value: new PlacedValue(token.value, token.offset) } : token,
      )
    } catch {
      throw new Refusal('syntax', `${shown(token.text, 40)} is not expected`, token.offset)
    }
  }
  try {
    return parser.complete() as JexlNode
  } catch {
    throw new Refusal('syntax', `The expression ends too early, behind ${shown(tokens.at(-1)!.text, 40)}`)
  }
}

const carriesPlace = (token: Token): boolean => token.type === 'identifier' || token.type === 'literal'

/** `f(x) ? a : b` means what `(f(x)) ? a : b` does: the whole expression so far is the condition. */
function allowConditional(parser: Parser): void {
  let innermost = parser
  while (innermost._subParser) innermost = innermost._subParser
  if (behindCall.has(innermost._state)) innermost._state = behindOperand
}
