/** The active faults, and which of them affect a request or a record. */
import { AwsError } from './aws-error.js'
import type { ActiveFault, FaultEffect, FaultSpec, ServiceName } from './wire.js'

/** The request in question. */
export interface Target {
  readonly service: ServiceName
  readonly operation: string
  readonly resource: string
}

interface Rule {
  readonly id: number
  readonly spec: FaultSpec
  hits: number
  recordsSeen: number
}

/** The error by which each service throttles a whole request. */
const throttles: Record<ServiceName, readonly [code: string, message: string, status: number]> = {
  kinesis: ['ProvisionedThroughputExceededException', 'Rate exceeded.', 400],
  firehose: ['ServiceUnavailableException', 'Slow down.', 503],
  logs: ['ThrottlingException', 'Rate exceeded', 400],
  sqs: ['RequestThrottled', 'The request was denied due to request throttling.', 403],
  events: ['ThrottlingException', 'Rate exceeded', 400],
  sts: ['Throttling', 'Rate exceeded', 400],
}

export const throttled = (service: ServiceName): AwsError => new AwsError(...throttles[service])

/** The error of each service for invalid input. */
const invalidInput: Record<ServiceName, string> = {
  kinesis: 'ValidationException',
  firehose: 'InvalidArgumentException',
  logs: 'InvalidParameterException',
  sqs: 'InvalidParameterValue',
  events: 'ValidationException',
  sts: 'ValidationError',
}

export class FaultBook {
  #rules: Rule[] = []
  #lastId = 0
  readonly #random: () => number

  /** The same seed and the same sequence of requests give the same faults. */
  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  add(spec: FaultSpec): number {
    this.#lastId += 1
    this.#rules.push({ id: this.#lastId, spec, hits: 0, recordsSeen: 0 })
    return this.#lastId
  }

  clear(id?: number): void {
    this.#rules = id === undefined ? [] : this.#rules.filter((rule) => rule.id !== id)
  }

  list(): ActiveFault[] {
    return this.#rules.map((rule) => ({ ...rule.spec, id: rule.id, hits: rule.hits }))
  }

  /** The faults of a request before its operation runs; those of records are looked up one by one. */
  forRequest(target: Target) {
    let latencyMs = 0
    let error: AwsError | undefined
    let connection: 'hang' | 'drop' | undefined
    let afterCommit: 'hang' | 'drop' | undefined
    for (const rule of this.#matching(target)) {
      const { effect } = rule.spec
      if (effect.type === 'fail_records' || effect.type === 'poison' || !this.#strikes(rule)) continue
      if (effect.type === 'latency') latencyMs += effect.ms
      else if (effect.type === 'hang' || effect.type === 'drop') connection ??= effect.type
      else if (effect.type === 'commit_then_hang') afterCommit ??= 'hang'
      else if (effect.type === 'commit_then_drop') afterCommit ??= 'drop'
      else error ??= errorOf(effect, target)
    }
    return { latencyMs, error, connection, afterCommit }
  }

  forRecord(
    target: Target,
    shard: number,
    text: () => string,
  ): { code: string; message: string } | undefined {
    for (const rule of this.#matching(target)) {
      const { effect } = rule.spec
      if (effect.type !== 'fail_records') continue
      if (effect.shard !== undefined && effect.shard !== shard) continue
      if (effect.containing !== undefined && !text().includes(effect.containing)) continue
      rule.recordsSeen += 1
      if (effect.every !== undefined && rule.recordsSeen % effect.every !== 0) continue
      if (!this.#strikes(rule)) continue
      const [code, message] = throttles[target.service]
      return effect.code === undefined
        ? { code, message }
        : { code: effect.code, message: 'Internal Service Failure' }
    }
    return undefined
  }

  /** Throws for a request with a record that a `poison` fault names. */
  checkPoison(target: Target, texts: () => Iterable<string>): void {
    for (const rule of this.#matching(target)) {
      const { effect } = rule.spec
      if (effect.type !== 'poison') continue
      for (const text of texts()) {
        if (!text.includes(effect.containing) || !this.#strikes(rule)) continue
        throw new AwsError(invalidInput[target.service], 'A record of the request is not valid.')
      }
    }
  }

  #matching({ service, operation, resource }: Target): Rule[] {
    return this.#rules.filter(
      ({ spec, hits }) =>
        (spec.service ?? service) === service &&
        (spec.operation ?? operation) === operation &&
        (spec.resource ?? resource) === resource &&
        hits < (spec.count ?? Number.POSITIVE_INFINITY),
    )
  }

  #strikes(rule: Rule): boolean {
    const { probability = 1 } = rule.spec
    if (probability < 1 && this.#random() >= probability) return false
    rule.hits += 1
    return true
  }
}

function errorOf(
  effect: Extract<FaultEffect, { type: 'throttle' | 'error' | 'expired_token' | 'access_denied' }>,
  { service, operation, resource }: Target,
): AwsError {
  const refused = (code: string, message: string): AwsError =>
    service === 'sts' ? new AwsError(code, message, 403) : new AwsError(`${code}Exception`, message)
  switch (effect.type) {
    case 'throttle':
      return throttled(service)
    case 'error':
      return new AwsError(effect.code, effect.message ?? 'Injected by a fault.', effect.status ?? 400)
    case 'expired_token':
      return refused('ExpiredToken', 'The security token included in the request is expired')
    case 'access_denied':
      return refused(
        'AccessDenied',
        `User is not authorized to perform: ${service}:${operation} on resource: ${resource}`,
      )
  }
}

/** Mulberry32: small, and the same on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
