/** Messages of pipelines and deliverers about the consumers of destinations, to both. */
import { jsonOf } from '../../ground/core/bytes.js'
import type { Nats } from '../../ground/nats/nats.js'
import { ownConsumersSubject } from './names.js'
import { type Partition, partitionNumbered } from './partitions.js'

/** A message on `ownConsumersSubject`: packs of a destination come to a consumer of its own in this partition. */
export interface OwnConsumerNotice {
  readonly destination: string
  readonly partition: Partition
}

/** Pipelines forget a notice after this time; it is said again until then if it still holds. */
export const noticeHoldsMs = 120_000

/** Listens until the result is closed. */
export function hearNotices(
  nats: Pick<Nats, 'subscribe'>,
  heard: (notice: OwnConsumerNotice) => void,
  unheard: (error: Error) => void,
): { close(): unknown } {
  const receive = (data: Uint8Array): void => {
    const notice = parseNotice(data)
    if (notice !== undefined) heard(notice)
  }
  return nats.subscribe(ownConsumersSubject, receive, unheard)
}

export const formatNotice = ({ destination, partition }: OwnConsumerNotice): string =>
  JSON.stringify({ destination, partition: partition.number })

/** Undefined if it is none: what is missed is found in the streams. */
export function parseNotice(data: Uint8Array): OwnConsumerNotice | undefined {
  try {
    const { destination, partition } = jsonOf<Record<string, unknown>>(data)
    const place = partitionNumbered(partition as number)
    return typeof destination !== 'string' || place === undefined
      ? undefined
      : { destination, partition: place }
  } catch {
    return undefined
  }
}

/** With fewer destinations than this share of the most, each has a consumer of its own again. */
const ownAgainShare = 0.9

/**
 * Do idle destinations share consumers? Past `ownConsumersMax` destinations they do, until there are clearly fewer: a change
 * costs each of them a consumer. In between it stays as it is.
 */
export class Sharing {
  readonly #ownConsumersMax: number
  readonly #isOnBetween: boolean
  #isOn: boolean | undefined

  /**
   * `isOnBetween`: for a process that starts in between and does not know how it was. Pipelines then store packs for shared
   * consumers, and deliverers read all: so they fit the others, whichever way these have chosen.
   */
  constructor(ownConsumersMax: number, isOnBetween: boolean) {
    this.#ownConsumersMax = ownConsumersMax
    this.#isOnBetween = isOnBetween
  }

  isOn(destinations: number): boolean {
    // The configuration was not read yet.
    if (destinations === 0) return this.#isOn ?? false
    if (destinations > this.#ownConsumersMax) this.#isOn = true
    else if (destinations < this.#ownConsumersMax * ownAgainShare) this.#isOn = false
    else this.#isOn ??= this.#isOnBetween
    return this.#isOn
  }
}
