/** A request that the API refused or could not carry out. */
import type { ErrorCode } from '../core/errors.js'

/** The body of an error. */
interface Problem {
  readonly error_code: ErrorCode
  readonly msg: string
  readonly details: Readonly<Record<string, string>>
}

export class ApiError extends Error {
  /** Undefined if the answer came from something else, such as a proxy. */
  readonly error_code: ErrorCode | undefined
  readonly status_code: number
  /** One sentence that names the field, the value and what is allowed. */
  readonly msg: string
  /** Identifies the request in the API's log. */
  readonly operation_id: string | undefined

  /** More about the error: of a list with many wrong entries, a sentence for each by its place, such as `rules[17].cidr`. */
  readonly details: Readonly<Record<string, string>>

  /** `what`: the request, for people; `text`: the body of the answer. */
  constructor(what: string, status: number, text: string) {
    const problem = problemIn(text)
    const msg = problem?.msg ?? `The answer with status ${status} did not come from the API.`
    super(`${what}: ${msg}`)
    this.name = 'ApiError'
    this.error_code = problem?.error_code
    this.status_code = status
    this.msg = msg
    this.details = problem?.details ?? {}
    this.operation_id = problem?.details['operation_id']
  }
}

function problemIn(text: string): Problem | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && 'error_code' in body && 'msg' in body
      ? ({ details: {}, ...body } as unknown as Problem)
      : undefined
  } catch {
    return undefined
  }
}
