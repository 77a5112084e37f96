/** An error in AWS's form: `code` is the exception's name, `message` goes to the caller. */
export class AwsError extends Error {
  readonly code: string
  readonly status: number

  constructor(code: string, message: string, status = 400) {
    super(message)
    this.name = 'AwsError'
    this.code = code
    this.status = status
  }
}

export const resourceNotFound = (message: string): AwsError =>
  new AwsError('ResourceNotFoundException', message)

/** The wording AWS's front ends use for input that breaks a constraint of the service's model. */
export const constraintBroken = (field: string, constraint: string, code = 'ValidationException'): AwsError =>
  new AwsError(
    code,
    `1 validation error detected: Value at '${field}' failed to satisfy constraint: Member must ${constraint}`,
  )
