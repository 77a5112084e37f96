/**
 * The difference between AWS's clock and this machine's. AWS refuses requests that were signed more than 5 minutes off
 * (docs.aws.amazon.com, "Signature Version 4 for API requests"); STS, as its refusals say ("- 15 min."), more than 15.
 * The SDK reads AWS's time from each answer and keeps the difference in its client, so a refused request succeeds when
 * it is repeated with the same client. The difference is kept here as well, for as long as the process lives: clients
 * are thrown away with their credentials, and each assumption of a role has a new one.
 */
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'

/** The part of a client of the SDK that has the difference. */
export interface ClockedClient {
  readonly config: { systemClockOffset: number }
}

/** A smaller difference is none: the answer was under way, and AWS's date has whole seconds. */
export const differenceMinMs = 60_000

/** Names that AWS's services have for the refusal; others share theirs with wrong signatures. */
const clockCodes = new Set(['RequestTimeTooSkewed', 'RequestExpired', 'RequestInTheFuture'])
const clockMessage = /signature expired|not yet current|too skewed|difference between the request time/i

/** Was the request refused because of the time at which it was signed? */
export const isClockRefusal = (code: string, message: string): boolean =>
  clockCodes.has(code) || clockMessage.test(message)

export class AwsClock {
  readonly #changed: (offsetMs: number) => void
  #offsetMs = 0

  /** `changed`: called with each new difference; 0 if there is none any more. */
  constructor(changed: (offsetMs: number) => void = () => {}) {
    this.#changed = changed
  }

  /** The difference to add to this machine's time to get AWS's. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** The time of this machine's clock when AWS's shows this time. */
  onThisMachine(date: Date): Date {
    return new Date(date.getTime() - this.#offsetMs)
  }

  /** Sends a request, and once more if AWS refused it because of its time and said what time it is. */
  async send<T>(client: ClockedClient, request: () => Promise<T>): Promise<T> {
    const usedMs = this.#offsetMs
    client.config.systemClockOffset = usedMs
    try {
      return await request()
    } catch (error) {
      const { name, message } = error instanceof Error ? error : { name: '', message: '' }
      this.#learnFrom(client)
      if (!isClockRefusal(name, message) || this.#offsetMs === usedMs) throw error
      return await request()
    } finally {
      this.#learnFrom(client)
    }
  }

  #learnFrom({ config }: ClockedClient): void {
    const seenMs = config.systemClockOffset
    if (Math.abs(seenMs - this.#offsetMs) < differenceMinMs) return
    this.#offsetMs = Math.abs(seenMs) < differenceMinMs ? 0 : seenMs
    this.#changed(this.#offsetMs)
  }
}

/** A difference in words, `600 s behind that of AWS`. */
export const differenceText = (offsetMs: number): string =>
  `${Math.round(Math.abs(offsetMs) / 1000)} s ${offsetMs > 0 ? 'behind' : 'ahead of'} that of AWS`

/** The clock of a process; each new difference is logged, and the difference measured. */
export function openAwsClock(occurrences: Pick<Occurrences, 'awsClockOffset' | 'awsClockDiffers'>): AwsClock {
  const inSeconds = (offsetMs: number): number => Math.round(offsetMs / 1000)
  const clock = new AwsClock((offsetMs) => {
    if (offsetMs !== 0) occurrences.awsClockDiffers({ offset_seconds: inSeconds(offsetMs) })
  })
  occurrences.awsClockOffset(() => (clock.offsetMs === 0 ? [] : [[{}, inSeconds(clock.offsetMs)]]))
  return clock
}
