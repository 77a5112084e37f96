/**
 * Sends steps in batches, each of which the API carries out as a whole or not at all: as few as can be. A batch is refused if
 * anyone changed the account since it was read.
 */
import { StartFault } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { mapTexts } from '../../ground/core/json-object.js'
import { ApiError, type Client } from '../../words/client/client.js'
import { type BatchPart, type BatchResults, batchPartsMax } from '../../words/shape/batch.js'
import type { Difference, Plan } from './difference.js'
import type { ManagedKind } from './managed-kinds.js'

/** Requests that go together. */
export interface Step {
  /** What it writes. */
  readonly kind: ManagedKind
  readonly name: string
  readonly requests: readonly BatchPart[]
  /** The difference of which nothing is left after it. */
  readonly done?: Difference | undefined
}

/** Members of the body of the API's requests have a bound, and so have their bytes: 1 MiB. */
const bodyBytesMax = 1_000_000

interface Options {
  /** Called with the token of each new key, before anything else is written. */
  readonly keep: (made: Pick<Step, 'kind' | 'name'>, id: string, token: string) => void
  readonly refusalOf: Plan['refusalOf']
  /** Called once nothing is left of a difference. */
  readonly done: (difference: Difference) => void
}

export class BatchWriter {
  readonly #client: Client
  readonly #options: Options
  /** What the API made, by the provisional ids. */
  readonly #ids = new Map<string, string>()
  /** Of the last change that is known. */
  #version: number
  #requestsMax = batchPartsMax

  constructor(client: Client, version: number, options: Options) {
    this.#client = client
    this.#version = version
    this.#options = options
  }

  /** Changes up to this version were made by the same run, or are known to it. */
  know(version: number): void {
    this.#version = version
  }

  /** A text, in place of which another one is sent from now on. */
  learn(text: string, meant: string): void {
    this.#ids.set(text, meant)
  }

  idOf(id: string): string {
    return this.#ids.get(id) ?? id
  }

  /** A copy with the ids of what was made. */
  withIds<T>(value: T): T {
    return mapTexts(value, (text) => this.idOf(text))
  }

  /** Throws what the API would say to all of them in one batch. A name that a step gives up counts as free. */
  async check(steps: readonly Step[]): Promise<void> {
    if (this.#mayFit(steps)) await this.#unlessTooLarge(this.#send(steps, { validateOnly: true }))
  }

  /** By one batch; false if it can't hold them, and nothing is written. */
  async writeWhole(steps: readonly Step[]): Promise<boolean> {
    if (!this.#mayFit(steps)) return false
    const isWritten = await this.#unlessTooLarge(this.#commit(steps).then(() => true))
    if (!isWritten) this.#requestsMax = Math.ceil(countOf(steps) / 2)
    return isWritten === true
  }

  /** By as few batches as can be. A step that no batch holds is refused with the reason of the API. */
  async write(steps: readonly Step[]): Promise<void> {
    if (steps.length === 0) return
    if (steps.length === 1) await this.#commit(steps)
    else if (!(await this.writeWhole(steps))) await this.#halves(steps)
  }

  async #commit(steps: readonly Step[]): Promise<void> {
    this.#take(steps, await this.#send(steps, { idempotencyKey: newId('apply_') }))
  }

  async #unlessTooLarge<T>(sent: Promise<T>): Promise<T | undefined> {
    try {
      return await sent
    } catch (error) {
      if (isTooLarge(error)) return undefined
      throw error
    }
  }

  async #halves(steps: readonly Step[]): Promise<void> {
    const middle = Math.ceil(steps.length / 2)
    await this.write(steps.slice(0, middle))
    await this.write(steps.slice(middle))
  }

  #mayFit(steps: readonly Step[]): boolean {
    return (
      countOf(steps) <= this.#requestsMax &&
      Buffer.byteLength(JSON.stringify(steps.map(({ requests }) => requests))) <= bodyBytesMax
    )
  }

  async #send(
    steps: readonly Step[],
    options: { validateOnly?: boolean; idempotencyKey?: string },
  ): Promise<BatchResults> {
    const requests = steps.flatMap((step) => step.requests.map((each) => this.#withIds(each)))
    try {
      return await this.#client.batch({ requests, expected_version: this.#version }, options)
    } catch (error) {
      throw named(error, steps, this.#options.refusalOf)
    }
  }

  #withIds({ path, ...request }: BatchPart): BatchPart {
    const { as, ...sent } = request
    const segments = path.split('/').map((segment) => this.idOf(segment))
    return { ...this.withIds(sent), ...(as !== undefined && { as }), path: segments.join('/') }
  }

  #take(steps: readonly Step[], { results, version }: BatchResults): void {
    this.#version = version
    const all = [...results]
    for (const step of steps) {
      for (const { as } of step.requests) {
        const { id, token } = all.shift()!
        if (as !== undefined && id !== null) this.#ids.set(as, id)
        if (typeof token === 'string' && id !== null) this.#options.keep(step, id, token)
      }
      if (step.done !== undefined) this.#options.done(step.done)
    }
  }
}

const countOf = (steps: readonly Pick<Step, 'requests'>[]): number =>
  steps.reduce((sum, { requests }) => sum + requests.length, 0)

const isTooLarge = (error: unknown): boolean =>
  error instanceof ApiError && error.error_code === 'ERR_BODY_TOO_LARGE'

const ofRequest = /^requests\[(\d+)\]/

/** The refusal, with what it is about in place of its place in the batch. */
function named(error: unknown, steps: readonly Step[], refusalOf: Plan['refusalOf']): unknown {
  if (!(error instanceof ApiError) || isTooLarge(error)) return error
  const [place = '', index] = ofRequest.exec(error.details['request'] ?? '') ?? []
  if (index === undefined) return error
  const [step] = steps.filter(
    ({ requests }, at) => countOf(steps.slice(0, at)) + requests.length > Number(index),
  )
  return refused(error, step!, refusalOf, `${place}: `)
}

/** `prefix`: of the message, with the place in the request. */
export function refused(
  error: unknown,
  of: Pick<Step, 'kind' | 'name'>,
  refusalOf: Plan['refusalOf'],
  prefix = '',
): unknown {
  if (!(error instanceof ApiError) || error.status_code >= 500) return error
  const said = error.msg.startsWith(prefix) ? error.msg.slice(prefix.length) : error.msg
  return new StartFault(`${of.kind.section} ${of.name}: ${refusalOf(of, said)}`)
}
