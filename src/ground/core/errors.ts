/**
 * The table of error codes that a client of the API, an ingress node or an operator can see.
 *
 * In the pipeline an operating error is a value (`Result`); at the boundaries of the program it is thrown as a
 * `WeirError`. Anything else that is thrown is a defect.
 */
const table = {
  ERR_INVALID_REQUEST: 400,
  ERR_INVALID_JSON: 400,
  ERR_VERSION: 400,
  ERR_INVALID_EXPRESSION: 400,
  ERR_CONFLICT: 400,
  ERR_LOCKOUT: 400,
  ERR_POLICY_TEST: 400,
  ERR_DESTINATION_REFUSED: 400,
  ERR_LOG_OFF: 400,
  ERR_UNAUTHENTICATED: 401,
  ERR_FORBIDDEN: 403,
  ERR_NOT_FOUND: 404,
  ERR_METHOD: 405,
  ERR_REQUEST_TIMEOUT: 408,
  ERR_DRAFT_OUTDATED: 409,
  ERR_NAME_RESERVED: 409,
  ERR_BODY_TOO_LARGE: 413,
  ERR_CONTENT_TYPE: 415,
  ERR_RATE_LIMIT: 429,
  ERR_HEADERS_TOO_LARGE: 431,
  ERR_INTERNAL: 500,
  ERR_UNAVAILABLE: 503,
  ERR_TIME_LIMIT: 504,
} as const

export type ErrorCode = keyof typeof table

export const errorCodes = Object.keys(table) as ErrorCode[]

export const statusOf = (code: ErrorCode): number => table[code]

interface Extras {
  readonly details?: Record<string, string>
  /** Where in texts of the request the faults are; part of `details` in the answer. */
  readonly places?: readonly FaultPlace[]
  /** Sent as `Retry-After`, in seconds. */
  readonly retryAfterSeconds?: number
  readonly cause?: unknown
}

/** The place of a fault in a text of a request, so that an editor can mark its characters. */
export interface FaultPlace {
  /** The member or the query parameter that has the text, such as `inbound[0].expressions[1]`. */
  readonly place: string
  /** Counted from 0 in UTF-16 units, as editors and JavaScript do. */
  readonly offset: number
  /** 0 if something is missing there. */
  readonly length: number
  /** From 1, as is the column. */
  readonly line: number
  readonly column: number
  readonly msg: string
}

/** An error with a code of the table; `message` is one actionable sentence without secrets. */
export class WeirError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: Record<string, string>
  readonly places: readonly FaultPlace[]
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, extras: Extras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'WeirError'
    this.code = code
    this.status = table[code]
    this.details = extras.details ?? {}
    this.places = extras.places ?? []
    this.retryAfterSeconds = extras.retryAfterSeconds
  }
}

/**
 * A start that fails for a reason a person can fix, such as a setting. The message is one complete sentence, shown
 * without a stack: nothing was opened or created yet that needs attention.
 */
export class StartFault extends Error {}

export const badRequest = (message: string, details?: Record<string, string>): WeirError =>
  new WeirError('ERR_INVALID_REQUEST', message, details === undefined ? {} : { details })

export const conflict = (message: string): WeirError => new WeirError('ERR_CONFLICT', message)

export const notFound = (message: string): WeirError => new WeirError('ERR_NOT_FOUND', message)

/** Too much of this kind is being done at the same time: nothing is wrong with the request or with Weir. */
export class TooManyAtOnce extends WeirError {
  constructor(message: string, retryAfterSeconds: number) {
    super('ERR_UNAVAILABLE', message, { retryAfterSeconds })
  }
}

/** Reading the logs took longer than one request may: nothing is wrong with the request or with Weir. */
export class TimeLimitPassed extends WeirError {
  constructor(message: string, retryAfterSeconds: number) {
    super('ERR_TIME_LIMIT', message, { retryAfterSeconds })
  }
}

/** The client has disconnected: what it asked for is not needed any more. */
export class ClientGone extends Error {
  constructor() {
    super('The client has disconnected.')
  }
}

/** The store or NATS is unavailable: the request is valid and may be sent again. */
export const unavailable = (
  message: string,
  cause?: unknown,
  details: Record<string, string> = {},
): WeirError => new WeirError('ERR_UNAVAILABLE', message, { retryAfterSeconds: 2, cause, details })

/** An error as a value: one sentence that names the cause. */
export interface Problem {
  readonly msg: string
  /** Where reading a line stopped, counted from 1. */
  readonly column?: number
}

export type Result<T, P = Problem> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: P }

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value })

export const fail = <P>(problem: P): { readonly ok: false; readonly problem: P } => ({ ok: false, problem })

/** A failed result with only a message. */
export const problem = (msg: string): { readonly ok: false; readonly problem: Problem } => fail({ msg })

/** The value, or `fallback` if there is none. */
export const valueOr = <T>(result: Result<T>, fallback: T): T => (result.ok ? result.value : fallback)

/** The problem of a result, if it has one. */
export const complaintOf = (result: Result<unknown>): string | undefined =>
  result.ok ? undefined : result.problem.msg

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Does a field's name, or a path to or into the field, indicate that its value must never be shown? */
export const isSecretName = (name: string): boolean =>
  /(secret(_headers)?|token|password|passphrase|authorization|(secret_?access|private|api)_?key(_?pem)?)($|[.[])/i.test(
    name,
  )

/**
 * Does a path name or lead through a member next to a secret, into which one may get by mistake? In the target of a
 * destination and the rights of a key, and in headers, which may be anything.
 */
const isNearSecret = (path: string): boolean =>
  /(^|\.)(target|auth|creds|role|role_arn|rights|headers)($|[.[])/.test(path)

/** An ARN is no secret, and its error is found by its text. */
const mayBeSecret = (value: unknown): boolean => typeof value === 'string' && !/^(arn:\S*)?$/.test(value)

/** PEM text of a private key is hidden completely, because it may be split into pieces. */
const isPrivateKey = (text: string): boolean => text.includes('PRIVATE KEY')

/** Secrets that may be pasted into any field, recognized by their format. */
const secretForms = [
  // Weir's own tokens.
  /weir_[\w-]{20,}/g,
  // AWS secret access keys: 40 base64 characters with both cases and digits, unlike hex digests.
  /(?<![\w+/])(?=[\w+/]{0,39}[a-z])(?=[\w+/]{0,39}[A-Z])(?=[\w+/]{0,39}\d)[A-Za-z0-9+/]{40}(?![\w+/=])/g,
  // User and password in a URL.
  /(?<=:\/\/)\S{1,200}(?=@)/g,
]

/** Replaces everything that looks like a secret. */
export const hideSecrets = (text: string): string =>
  isPrivateKey(text) ? '…' : secretForms.reduce((left, form) => left.replaceAll(form, '…'), text)

/** The longest secret; a text is searched this far beyond the part that is shown. */
const secretCharsMax = 200

const withoutSecrets = (name: string, value: unknown): unknown =>
  isSecretName(name) || (typeof value === 'string' && isPrivateKey(value)) ? '…' : value

/**
 * `value` for an error message: JSON without secrets, truncated, so that messages about hostile input stay readable.
 */
export function shown(value: unknown, charsMax = 80): string {
  const text = jsonUpTo(charsMax, '', value)
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`
}

/**
 * JSON that stops soon after `charsMax` characters. Every level of nesting takes at least one character, so the
 * recursion is bounded too, however deep the value is. `JSON.stringify` would exhaust the stack.
 */
function jsonUpTo(charsMax: number, name: string, value: unknown): string {
  const visible = withoutSecrets(name, value)
  if (typeof visible === 'string')
    return JSON.stringify(hideSecrets(visible.slice(0, charsMax + secretCharsMax)).slice(0, charsMax + 1))
  if (typeof visible !== 'object' || visible === null) return scalarText(visible)
  const isList = Array.isArray(visible)
  let text = isList ? '[' : '{'
  for (const [key, member] of membersOf(visible)) {
    if (text.length > 1) text += ','
    if (!isList) text += `${JSON.stringify(key.slice(0, charsMax + 1))}:`
    if (text.length > charsMax) return text
    text += jsonUpTo(charsMax - text.length, key, member)
  }
  return text + (isList ? ']' : '}')
}

/** Members that JSON would show, lazily: a long list is not read to its end. */
function* membersOf(value: object): Generator<[string, unknown]> {
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key]
    if (member !== undefined) yield [key, member]
  }
}

const scalarText = (value: unknown): string =>
  typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value))

/**
 * The beginning of a sentence about a value: `"hostports[0]" is "a:99999"`. Members of objects and lists are left out,
 * because a misplaced value may contain anything, including a secret. So are texts next to a secret.
 */
export const valueAt = (path: string, value: unknown): string =>
  isSecretName(path) || (isNearSecret(path) && mayBeSecret(value))
    ? `"${path}" has a value that is not shown here`
    : `"${path}" is ${scalarShown(value)}`

/** A value as in `shown`, but without the contents of objects and lists. */
export function scalarShown(value: unknown): string {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return shown(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** The sentence about a member that is invalid or missing. */
export const wrong = (name: string, value: unknown, allowed: string): string =>
  value === undefined
    ? `"${name}" is missing; it must be ${allowed}.`
    : isSecretName(name) || isNearSecret(name)
      ? `${valueAt(name, value)}; it must be ${allowed}.`
      : `"${name}" is ${shown(value)}; it must be ${allowed}.`

/** A member with a name chosen by the sender, as part of the path in a message. */
export const memberName = (key: string): string => (/^[\w.-]{1,64}$/.test(key) ? key : shown(key))

/** The answer over NATS to a valid request that failed internally: only the log has the reason. */
export const internalErrorJson = (operationId: string): string =>
  JSON.stringify({
    error_code: 'ERR_INTERNAL' satisfies ErrorCode,
    msg: `Internal error. Search the log for the operation id ${operationId}.`,
  })
