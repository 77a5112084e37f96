/** Refusals of JetStream: https://github.com/nats-io/nats-server/blob/main/server/errors.json. */

interface ApiError {
  readonly code: number
  readonly err_code: number
  readonly description: string
}

export class Refusal extends Error {
  readonly error: ApiError

  constructor(code: number, err_code: number, description: string) {
    super(description)
    this.error = { code, err_code, description }
  }
}

export const streamNotFound = (): Refusal => new Refusal(404, 10059, 'stream not found')
export const consumerNotFound = (): Refusal => new Refusal(404, 10014, 'consumer not found')
export const noMessageFound = (): Refusal => new Refusal(404, 10037, 'no message found')
export const sequenceNotFound = (sequence: number): Refusal =>
  new Refusal(400, 10043, `sequence ${sequence} not found`)
export const deletionFailed = (reason: string): Refusal => new Refusal(500, 10057, reason)
export const wrongLastSequence = (last: number): Refusal =>
  new Refusal(400, 10071, `wrong last sequence: ${last}`)
export const otherStream = (): Refusal => new Refusal(400, 10060, 'expected stream does not match')
export const storeFailed = (reason: string): Refusal => new Refusal(503, 10077, reason)
export const tooLarge = (): Refusal => new Refusal(400, 10054, 'message size exceeds maximum allowed')
export const nameInUse = (): Refusal =>
  new Refusal(400, 10058, 'stream name already in use with a different configuration')
export const subjectsOverlap = (): Refusal =>
  new Refusal(400, 10065, 'subjects overlap with an existing stream')
export const startOfWorkQueue = (): Refusal =>
  new Refusal(400, 10101, 'consumer must be deliver all on workqueue stream')
export const filterOfWorkQueue = (): Refusal =>
  new Refusal(400, 10100, 'filtered consumer not unique on workqueue stream')
export const consumerExists = (): Refusal => new Refusal(400, 10148, 'consumer already exists')
