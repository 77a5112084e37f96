/** Problems of expressions. */
import { type FaultPlace, hideSecrets, WeirError } from '../core/errors.js'

/** Why an expression was refused, for counters and tests. */
export type ProblemReason =
  | 'not_text'
  | 'too_large'
  | 'syntax'
  | 'unclosed_bracket'
  | 'missing_operand'
  | 'mixed_operators'
  | 'forbidden_name'
  | 'unknown_name'
  | 'unknown_function'
  | 'unknown_list'
  | 'wrong_arguments'
  | 'bad_literal'

/** Why a text is not an expression. */
export interface ExpressionProblem {
  readonly reason: ProblemReason
  /** One sentence that names the culprit, its position, and a guess at what was meant. */
  readonly msg: string
  /** The position in characters, from 1, if known. */
  readonly position?: number
}

/** The characters of the text that a problem is about. */
export interface MarkedProblem extends ExpressionProblem {
  readonly mark: Omit<FaultPlace, 'place' | 'msg'>
}

/** Thrown within the room, by the phase that finds the problem; the functions of `expression.ts` return it as a value. */
export class Refusal extends Error {
  readonly problem: ExpressionProblem

  /** `what` and `hint` are parts of one sentence, without a full stop; `offset` counts from 0. */
  constructor(reason: ProblemReason, what: string, offset?: number, hint?: string) {
    const place = offset === undefined ? '' : ` at character ${offset + 1}`
    const sentence = hint === undefined ? `${what}${place}` : `${what}${place}; ${hint}`
    const msg = hideSecrets(sentence.endsWith('?') ? sentence : `${sentence}.`)
    super(msg)
    this.problem = offset === undefined ? { reason, msg } : { reason, msg, position: offset + 1 }
  }
}

/** A name with its members, unless the last one is called; a text; a number; an operator; else one character. */
const marked =
  /[\p{L}_$][\p{L}\p{N}_$]*(?:\.[\p{L}_$][\p{L}\p{N}_$]*(?![\p{L}\p{N}_$]*\s*\())*|"[^"]*"?|'[^']*'?|[\d.]+|[=!<>]=|&&|\|\||\/\/|./suy

/** The problem with the characters to mark: none at the end of a text that ends too early, all of one that is too long. */
export function withMark(problem: ExpressionProblem, text: unknown): MarkedProblem {
  const written = typeof text === 'string' ? text : ''
  const { position, reason } = problem
  if (position === undefined) {
    const isWhole = reason === 'too_large'
    const offset = isWhole ? 0 : written.trimEnd().length
    return { ...problem, mark: markAt(written, offset, isWhole ? written.length : 0) }
  }
  marked.lastIndex = position - 1
  return { ...problem, mark: markAt(written, position - 1, marked.exec(written)?.[0].length ?? 0) }
}

function markAt(text: string, offset: number, length: number): MarkedProblem['mark'] {
  const lines = text.slice(0, offset).split('\n')
  return { offset, length, line: lines.length, column: lines.at(-1)!.length + 1 }
}

/** The error of a request with an expression that is wrong; `place`: the member or the parameter that has it. */
export const expressionFault = (place: string, { msg, mark }: MarkedProblem, sentence: string): WeirError =>
  new WeirError('ERR_INVALID_EXPRESSION', sentence, { places: [{ place, ...mark, msg }] })
