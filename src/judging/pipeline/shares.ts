/**
 * How much of the stream of deliveries each destination may hold: as much as is still free. One dead destination gets
 * half of the stream, a second one half of the rest, and so on: something is always left for the others, and no setting
 * is needed. (The rule is that of packet switches with a shared memory: Choudhury and Hahne, "Dynamic Queue Length
 * Thresholds", 1998.)
 *
 * JetStream counts the packs of a destination, not their bytes. A destination's bytes are estimated: its number of packs
 * times the mean size of the packs that this process stored for it lately, scaled so that the sum over all destinations is
 * the size of the stream.
 *
 * A burst can fill a small stream between two looks. So packs of this process are counted, and once a destination may have
 * used half of the room that it had at the last look, the shares are **outgrown**: the pipeline looks again before it
 * processes more. A pack whose publish has begun may not be in the stream yet when the pipeline looks: until it is stored,
 * it counts as held.
 */

import { onePartition, type Partition, type PartitionSet } from '../../delivery/wire/partitions.js'
import { waitingPacks } from '../../delivery/wire/waiting-packs.js'
import { monotonicMs } from '../../ground/core/clock.js'
import type { Nats } from '../../ground/nats/nats.js'

/** Below this part of the stream, no destination can be near its share: nothing is counted. */
const countedFrom = 1 / 8
/** The rest stays free for packs that are stored between two looks. */
const usableShare = 0.8
/** A destination below this part of its share gets the records that it missed. */
const catchUpBelow = 1 / 4
/** A destination may always hold this much: some packs are on their way to a healthy one at any time. */
const alwaysBytesMax = 4 * 1024 * 1024
const alwaysShare = 1 / 64
/** The part of the stream that may be stored for any destination between two looks. */
const betweenLooksShare = 1 / 64
/** The weight of the newest pack in the mean. */
const newestWeight = 1 / 16
const meansKeptMax = 10_000
/** Without packs of this process, the stream is looked at this often: other processes store some, too. */
const lookEveryMaxMs = 10_000

interface StreamFill {
  readonly bytes: number
  readonly messages: number
  readonly bytesMax: number
}

/** - `full`: it has used its share. `high`: less, but it gets nothing that it missed. `low`: it has room. */
type Level = 'low' | 'high' | 'full'

interface Share {
  readonly level: Level
  /** Bytes that may be stored for it before the next look. */
  readonly untilLook: number
  /** Bytes that a replay may store for it until the next look. */
  readonly room: number
}

/** The share of a destination that holds this much. */
export function shareOf(
  heldBytes: number,
  { bytes, bytesMax }: Pick<StreamFill, 'bytes' | 'bytesMax'>,
): Share {
  const always = Math.min(alwaysBytesMax, bytesMax * alwaysShare)
  const limit = Math.max(always, bytesMax * usableShare - bytes)
  const room = Math.max(0, limit * catchUpBelow - heldBytes)
  const untilLook = Math.max(bytesMax * betweenLooksShare, (limit - heldBytes) / 2)
  return { level: heldBytes > limit ? 'full' : room > 0 ? 'low' : 'high', untilLook, room }
}

/** Estimated bytes per destination, from the number of its packs; `meanOf` is undefined for an unknown one. */
export function bytesHeld(
  packs: ReadonlyMap<string, number>,
  { bytes, messages }: Pick<StreamFill, 'bytes' | 'messages'>,
  meanOf: (destination: string) => number | undefined,
): Map<string, number> {
  const meanOfAll = bytes / Math.max(1, messages)
  const weights = [...packs].map(([id, count]) => [id, count * (meanOf(id) ?? meanOfAll)] as const)
  const sum = weights.reduce((total, [, weight]) => total + weight, 0)
  return new Map(weights.map(([id, weight]) => [id, sum === 0 ? 0 : (weight / sum) * bytes]))
}

const sumOf = (bytes: ReadonlyMap<string, number>): number =>
  [...bytes.values()].reduce((sum, value) => sum + value, 0)

/** The new sum. */
function add(sums: Map<string, number>, id: string, bytes: number): number {
  const sum = (sums.get(id) ?? 0) + bytes
  sums.set(id, sum)
  return sum
}

function addTo(sums: Map<string, number>, added: ReadonlyMap<string, number>): void {
  for (const [id, bytes] of added) add(sums, id, bytes)
}

type StreamReader = Pick<Nats, 'streamInfo' | 'subjectCounts'>

/** As one process sees them. A destination has a share of the stream of its own partition. */
export class Shares {
  readonly #nats: StreamReader
  readonly #partitions: PartitionSet
  /** By the number of the partition. */
  readonly #shares: PartitionShares[] = []

  constructor(nats: StreamReader, partitions: PartitionSet = onePartition) {
    this.#nats = nats
    this.#partitions = partitions
  }

  *#all(): Generator<PartitionShares> {
    for (const partition of this.#partitions.all) yield this.#of(partition)
  }

  #of(partition: Partition): PartitionShares {
    this.#shares[partition.number] ??= new PartitionShares(this.#nats, partition)
    return this.#shares[partition.number]!
  }

  #ofDestination(id: string): PartitionShares {
    return this.#of(this.#partitions.homeOf(id))
  }

  /** A stream is so full that a destination may have used its share. */
  get isCounting(): boolean {
    return this.#shares.some(({ isCounting }) => isCounting)
  }

  /** A destination may have used its share since the last look. */
  get isOutgrown(): boolean {
    return this.#shares.some(({ isOutgrown }) => isOutgrown)
  }

  /** The next message must wait for a look. */
  outgrow(): void {
    this.#of(this.#partitions.all[0]!).isOutgrown = true
  }

  /** A look may show something new: in an idle deployment it does not. */
  get isDue(): boolean {
    for (const shares of this.#all()) if (shares.isDue) return true
    return false
  }

  async look(): Promise<void> {
    await Promise.all([...this.#all()].map((shares) => shares.look()))
  }

  /** Destinations that have used their share. What they have in other partitions is drained, and nothing is added to it. */
  *full(): Generator<string> {
    for (const shares of this.#all())
      for (const id of shares.full()) if (this.#ofDestination(id) === shares) yield id
  }

  levelOf(destination: string): Level {
    return this.#ofDestination(destination).levelOf(destination)
  }

  /** May a replay store more for it? False until the first look. */
  hasRoom(destination: string): boolean {
    return this.#ofDestination(destination).hasRoom(destination)
  }

  /** A pack begins to be stored. The caller must call what this returns once the pack is stored or given up. */
  packBegun(destination: string, bytes: number): () => void {
    return this.#ofDestination(destination).packBegun(destination, bytes)
  }
}

/** The shares of one stream of deliveries. */
class PartitionShares {
  readonly #nats: StreamReader
  readonly #partition: Partition
  readonly #means = new Map<string, number>()
  #fill: StreamFill = { bytes: 0, messages: 0, bytesMax: 0 }
  /** Undefined if the stream is too empty to count. */
  #held: ReadonlyMap<string, number> | undefined
  /** Bytes whose storing began since the last look. */
  #stored = new Map<string, number>()
  /** Bytes of packs on their way: being stored, and perhaps not in the stream yet. */
  readonly #underWay = new Map<string, number>()
  /** Bytes of packs that were on their way when the last look began, or began since. */
  #unseen = new Map<string, number>()
  /** Packs were stored since the last look began. */
  #isOutdated = false
  #freshUntilMs = 0
  /** A destination may have used its share since the last look. */
  isOutgrown = false

  constructor(nats: StreamReader, partition: Partition) {
    this.#nats = nats
    this.#partition = partition
  }

  get isCounting(): boolean {
    return this.#held !== undefined
  }

  get isDue(): boolean {
    return this.isCounting || this.#isOutdated || monotonicMs() >= this.#freshUntilMs
  }

  async look(): Promise<void> {
    this.#isOutdated = false
    this.isOutgrown = false
    this.#freshUntilMs = 0
    // A pack that arrives while we wait may be missing in the answer, so those are counted that are on their way now,
    // and those that begin until the answer is here. One that is in the answer as well counts twice until the next look.
    this.#unseen = new Map(this.#underWay)
    const info = await this.#nats.streamInfo(this.#partition.deliveriesStream)
    if (info === undefined) return
    const { bytes, messages } = info.state
    const fill = { bytes, messages, bytesMax: info.config.max_bytes }
    const isCounted = bytes + sumOf(this.#unseen) >= fill.bytesMax * countedFrom
    const held = isCounted ? await this.#count(fill) : undefined
    if (held !== undefined) addTo(held, this.#unseen)
    this.#fill = { ...fill, bytes: bytes + sumOf(this.#unseen) }
    this.#held = held
    this.#stored = new Map()
    this.#freshUntilMs = monotonicMs() + lookEveryMaxMs
  }

  async #count(fill: StreamFill): Promise<Map<string, number>> {
    const held = new Map<string, number>()
    for (const { destination, packs } of await waitingPacks(this.#nats, this.#partition))
      add(held, destination, packs)
    return bytesHeld(held, fill, (id) => this.#means.get(id))
  }

  *full(): Generator<string> {
    for (const [id, bytes] of this.#held ?? []) if (shareOf(bytes, this.#fill).level === 'full') yield id
  }

  levelOf(destination: string): Level {
    return this.#shareOf(destination).level
  }

  hasRoom(destination: string): boolean {
    return this.#shareOf(destination).room > (this.#stored.get(destination) ?? 0)
  }

  #shareOf(destination: string): Share {
    // Uncounted, a destination holds at most what the stream holds.
    const held = this.#held === undefined ? this.#fill.bytes : (this.#held.get(destination) ?? 0)
    return shareOf(held, this.#fill)
  }

  packBegun(destination: string, bytes: number): () => void {
    this.#isOutdated = true
    const mean = this.#means.get(destination) ?? bytes
    if (this.#means.size >= meansKeptMax) this.#means.clear()
    this.#means.set(destination, mean + (bytes - mean) * newestWeight)
    const stored = add(this.#stored, destination, bytes)
    add(this.#unseen, destination, bytes)
    add(this.#underWay, destination, bytes)
    // Before the first look, the size of the stream is not known.
    if (this.#fill.bytesMax > 0 && stored > this.#shareOf(destination).untilLook) this.isOutgrown = true
    return () => {
      if (add(this.#underWay, destination, -bytes) === 0) this.#underWay.delete(destination)
    }
  }
}
