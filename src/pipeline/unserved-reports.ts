/** Reports records that no edge serves: the first at once, those within the following minute together at its end. */
import { after, type Timer } from '../core/clock.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import { TopCounts } from '../core/top-counts.js'
import type { CountVector } from './counts.js'

/** Endpoints that are counted, and those that are listed. */
const unservedEndpointsMax = 100
const unservedEndpointsListed = 5

const reportEveryMs = 60_000

export class UnservedReports {
  readonly #occurrences: Occurrences
  #records = 0
  #endpoints = new TopCounts(unservedEndpointsMax)
  #minute: Timer | undefined

  constructor(occurrences: Occurrences) {
    this.#occurrences = occurrences
  }

  add({ unserved }: Pick<CountVector, 'unserved'>): void {
    for (const { endpoint, count } of unserved) {
      this.#records += count
      this.#endpoints.add(endpoint, count)
    }
    if (this.#minute === undefined) this.#report()
  }

  #report(): void {
    this.#minute = undefined
    if (this.#records === 0) return
    const most_frequent = this.#endpoints
      .top(unservedEndpointsListed)
      .map(({ text, count }) => ({ endpoint: text, records: count }))
    this.#occurrences.recordsUnserved({ records: this.#records, most_frequent })
    this.#records = 0
    this.#endpoints = new TopCounts(unservedEndpointsMax)
    this.#minute = after(reportEveryMs, () => this.#report())
  }

  close(): void {
    this.#minute?.stop()
    this.#report()
    this.#minute?.stop()
  }
}
