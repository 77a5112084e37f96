/** A request that the API refused or could not carry out. */
import type { ErrorCode, FaultPlace } from '../../ground/core/errors.js'

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

  /** The characters to mark in expressions that are wrong. */
  readonly places: readonly FaultPlace[]

  /** `what`: the request, for people; `text`: the body of the answer. */
  constructor(what: string, status: number, text: string) {
    const problem = problemIn(text)
    const msg = problem?.msg ?? `The answer with status ${status} did not come from the API.`
    super(`${what}: ${msg}`)
    this.name = 'ApiError'
    this.error_code = problem?.error_code
    this.status_code = status
    this.msg = msg
    this.places = placesIn(problem?.details ?? {})
    this.details = withoutPlaces(problem?.details ?? {}, this.places)
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

type Details = Problem['details']

const marks = ['offset', 'length', 'line', 'column'] as const

/** The marks of each place are members of their own, because details are texts. */
const placesIn = (details: Details): FaultPlace[] =>
  Object.keys(details).flatMap((name) => {
    const place = /^(.+)\.offset$/.exec(name)?.[1]
    const msg = place === undefined ? undefined : details[place]
    if (place === undefined || msg === undefined) return []
    const [offset, length, line, column] = marks.map((mark) => Number(details[`${place}.${mark}`]))
    return [{ place, offset: offset!, length: length!, line: line!, column: column!, msg }]
  })

function withoutPlaces(details: Details, places: readonly FaultPlace[]): Details {
  const named = new Set(places.flatMap(({ place }) => marks.map((mark) => `${place}.${mark}`)))
  return Object.fromEntries(Object.entries(details).filter(([name]) => !named.has(name)))
}
