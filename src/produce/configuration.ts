/** The compiled configuration, rebuilt when it changes; changes in quick succession are compiled together. */
import { after, type Timer, yieldTurn } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { changeCoalesceMs } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { AnyTrafficEvent } from '../event/define.js'
import type { View } from '../view/view.js'
import { buildTrafficView, type TrafficView } from './traffic-view.js'

export class Configuration {
  readonly #view: View
  readonly #occurrences: Occurrences
  readonly #eventKinds: readonly AnyTrafficEvent[]
  #current: TrafficView | undefined
  #building: Promise<void> = Promise.resolve()
  #timer: Timer | undefined

  constructor(view: View, occurrences: Occurrences, eventKinds: readonly AnyTrafficEvent[]) {
    this.#view = view
    this.#eventKinds = eventKinds
    this.#occurrences = occurrences
    view.onChange(() => {
      this.#timer ??= after(changeCoalesceMs, () => {
        this.#timer = undefined
        this.#building = this.#building.then(() => this.#build())
      })
    })
  }

  /** Resolves when there is a configuration to evaluate against. */
  async open(): Promise<void> {
    await this.#view.usable
    await this.#build()
  }

  get current(): TrafficView {
    if (this.#current === undefined) throw new Error('The configuration is used before it is open.')
    return this.#current
  }

  async #build(): Promise<void> {
    try {
      this.#current = await buildTrafficView(this.#view.state, this.#current, yieldTurn, this.#eventKinds)
      this.#occurrences.configurationBuilt({ revision: this.#current.policySet.revision })
    } catch (error) {
      this.#occurrences.configurationUnbuilt({ reason: messageOf(error) })
    }
  }

  close(): void {
    this.#timer?.stop()
  }
}
