/**
 * `weir secret-key`: the key that seals secrets is replaced while everything runs. Secrets are sealed again in the background of
 * the API's process; what is left is asked for.
 */
import { badRequest, messageOf } from '../ground/core/errors.js'
import type { Sessions } from '../management/access/sessions.js'
import type { AdminCommand } from '../management/process/running-service.js'
import { addSecretKey, keepFirstSecretKey } from '../management/process/secret-key.js'
import type { Settings } from '../management/process/settings.js'
import type { Resealed } from '../management/store/reseal.js'
import type { StoreParts } from './store-parts.js'

interface Parts extends Pick<StoreParts, 'store' | 'sealer'> {
  readonly sessions: Pick<Sessions, 'reseal'>
  readonly data: Settings['data']
}

/** The answer to each of the commands. */
interface Progress {
  /** `done`: nothing is sealed with an earlier key; `idle`: something is, and this process does nothing about it. */
  readonly state: 'running' | 'done' | 'idle' | 'failed'
  readonly keys: number
  /** Values that are sealed with an earlier key, and those that no key opens; null while they are being sealed again. */
  readonly earlier: number | null
  readonly unreadable: number | null
  readonly resealed: number
  readonly msg: string
}

/** Every pass finds less, unless many secrets are changed at the time. */
const passesMax = 20

export class SecretKeyCommands {
  readonly #parts: Parts
  #run: Promise<void> | undefined
  #found: Resealed = { old: 0, unreadable: 0 }
  #failure: string | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async answer({ command, json = '' }: AdminCommand): Promise<string> {
    const answers: Readonly<Record<string, () => Promise<Progress>>> = {
      'secret-key rotate': () => this.#rotate(),
      'secret-key status': () => this.#progress(),
      'secret-key drop': () => this.#drop(),
    }
    const answer = Object.hasOwn(answers, command) ? answers[command] : undefined
    if (answer === undefined) throw badRequest(`There is no command "${command}".`)
    const progress = await answer()
    return json === '' ? `${progress.msg}\n` : `${JSON.stringify(progress)}\n`
  }

  /** Begins with a new key, unless an earlier one is still there: then that rotation is finished. */
  async #rotate(): Promise<Progress> {
    const { sealer, data } = this.#parts
    if (this.#run === undefined) {
      if (sealer.keyCount === 1) {
        if (data.secretKey !== undefined)
          throw badRequest(
            'WEIR_SECRET_KEY has one key. Add a new one behind it (separated by a comma), restart each role that has it, put the new one first, restart them again, and repeat this command.',
          )
        addSecretKey(data)
        sealer.reload()
      }
      this.#failure = undefined
      this.#found = { old: 0, unreadable: 0 }
      this.#run = this.#reseal()
        .catch((error: unknown) => {
          this.#failure = messageOf(error)
        })
        .finally(() => {
          this.#run = undefined
        })
    }
    return this.#progress()
  }

  async #reseal(): Promise<void> {
    for (let pass = 1; pass <= passesMax; pass += 1) {
      const found = await this.#pass(false)
      if (found.old > 0) continue
      await this.#parts.store.resealing.nameKey()
      return
    }
    throw new Error(
      'Secrets are still sealed with an earlier key, because many change: run the command again.',
    )
  }

  async #pass(isDry: boolean): Promise<Resealed> {
    const { store, sessions } = this.#parts
    const found = { old: 0, unreadable: 0 }
    const counted = this.#found
    await store.resealing.pass(found, isDry)
    found.old += await sessions.reseal(isDry)
    if (!isDry) this.#found = { old: counted.old + found.old, unreadable: found.unreadable }
    return found
  }

  async #progress(): Promise<Progress> {
    const { keyCount: keys } = this.#parts.sealer
    const { old: resealed } = this.#found
    if (this.#run !== undefined) {
      const msg = `Secrets are being sealed again: ${resealed} so far.`
      return { state: 'running', keys, earlier: null, unreadable: null, resealed, msg }
    }
    const { old: earlier, unreadable } = await this.#pass(true)
    const rest = { keys, earlier, resealed, unreadable }
    const lost = unreadable === 0 ? '' : ` Values that no key opens: ${unreadable}.`
    if (this.#failure !== undefined)
      return { ...rest, state: 'failed', msg: `${this.#failure} ${left(earlier)}${lost}` }
    if (earlier > 0)
      return { ...rest, state: 'idle', msg: `${left(earlier)} Run: weir secret-key rotate.${lost}` }
    return { ...rest, state: 'done', msg: `All secrets are sealed with the first key. ${this.#next}${lost}` }
  }

  get #next(): string {
    const { sealer, data } = this.#parts
    if (sealer.keyCount === 1) return 'There is no other key.'
    return data.secretKey === undefined
      ? 'The earlier key can be dropped: weir secret-key drop. Wait ten minutes with it: ClickHouse does not sync at once what it has written again.'
      : 'The others can be removed from WEIR_SECRET_KEY.'
  }

  async #drop(): Promise<Progress> {
    const { sealer, data } = this.#parts
    if (data.secretKey !== undefined)
      throw badRequest(
        'The keys are in WEIR_SECRET_KEY: leave only the first one there, and restart each role.',
      )
    await this.#run
    const progress = await this.#progress()
    if (progress.state !== 'done') throw badRequest(`No key was dropped. ${progress.msg}`)
    if (sealer.keyCount === 1) return progress
    keepFirstSecretKey(data)
    sealer.reload()
    return this.#progress()
  }
}

const left = (count: number): string => `Values that are sealed with an earlier key: ${count}.`
