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

  constructor(reason: ProblemReason, msg: string, offset?: number) {
    super(msg)
    this.problem =
      offset === undefined ? { reason, msg } : { reason, msg: placed(msg, offset + 1), position: offset + 1 }
  }
}

/** The sentence with the position in it, in front of its full stop or question. */
function placed(msg: string, position: number): string {
  const end = msg.search(/[;.?](?![^;.?]*[^;.?\s])|;/)
  return end < 0
    ? `${msg} (character ${position})`
    : `${msg.slice(0, end)} (character ${position})${msg.slice(end)}`
}
