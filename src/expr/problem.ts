/** What is wrong with an expression. */
import { hideSecrets } from '../core/errors.js'

/** Why an expression was refused, for those who count or test by it. */
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

/** Why a text is no expression. */
export interface ExpressionProblem {
  readonly reason: ProblemReason
  /** One sentence that names the culprit, where it stands, and what was meant if that can be guessed. */
  readonly msg: string
  /** The character at which it stands, from 1, where one can be told. */
  readonly position?: number
}

/** Thrown within the room, by the phase that finds the problem; `compileExpression` returns it as a value. */
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
