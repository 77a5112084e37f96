/** Problems of expressions. */
import { hideSecrets } from '../core/errors.js'

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
