/**
 * Finds packs that **vanished**: the books say that they wait, but they are not in the stream of deliveries any more.
 * Someone purged it or deleted messages, or it was recreated or restored to an earlier state. They are entered in the
 * ledger, which counts their events as dropped, so that no backlog stays for ever.
 *
 * Nothing that is still to be delivered may be counted:
 *
 * - A pack is in the books once it was stored, so it is never one on its way to the stream. Records that wait for a
 *   destination that is behind, or for a replay, made no pack yet.
 * - A deliverer enters a pack in the ledger before it acknowledges it, and only then does it leave the stream. So if it
 *   was delivered, expired or moved to the dead letters, the ledger says so before this process can miss it, and the
 *   books ignore our entry. It does not matter how late our books are, how many APIs look, and when they restart.
 * - A pack that is redelivered, or waits for it, is in the stream.
 * - A deliverer can have in hand what was removed from the stream, and still deliver it. So deliverers are asked, and a
 *   pack counts only after it was missing, and in no one's hands, for longer than a deliverer that stops may take.
 *   If none answers, nothing counts. Only one that is frozen for longer, while another one answers, is not noticed:
 *   should it deliver such a pack later, its events count as dropped.
 *
 * The stream says how many packs it has of each destination, so mostly nothing is read. To find out which ones are
 * missing, packs must be read, and these are large: a few at each look.
 */

import { type LedgerEntry, writeEntries } from '../../delivery/books/ledger.js'
import type { OpenPack } from '../../delivery/books/open-pack.js'
import { heldPacksSubject } from '../../delivery/wire/names.js'
import { destinationIn, packIdIn } from '../../delivery/wire/pack-message.js'
import {
  allPacks,
  type Partition,
  type PartitionSet,
  partitionNumbered,
} from '../../delivery/wire/partitions.js'
import { waitingPacks } from '../../delivery/wire/waiting-packs.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { every, monotonicMs, now, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'

const lookEveryMs = 5_000
/** A deliverer that stops delivers for up to 8 s what it has in hand (`deliver/destination-run.ts`), and does not answer. */
const missingForMs = 20_000
const answerWithinMs = 1_000
/** Deliverers are asked about so many packs at a time: their ids fit a message. */
const askedMax = 5_000
const readsPerLookMax = 20
const patience = { patienceMs: 5_000 }

interface VanishedPacksOptions {
  readonly nats: Pick<Nats, 'streamInfo' | 'subjectCounts' | 'nextMessage' | 'gather' | 'publish'>
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly openPacks: () => ReadonlyMap<string, OpenPack>
  readonly isDestination: (id: string) => boolean
  readonly occurrences: Pick<Occurrences, 'expiryUnwatched'>
}

/** A pack that waits, as the books say. */
interface WaitingPack {
  readonly id: string
  /** 0 in the books of earlier versions. */
  readonly sequence: number
}

/** The packs of a destination in the stream of a partition. */
interface StoredPacks {
  readonly deliveriesStream: string
  readonly destination: string
  /** Those that have packs. */
  readonly subjects: readonly string[]
  /** How many packs. */
  readonly stored: number
  /** The stream's last sequence. */
  readonly last: number
}

const partitionOf = ({ partition = 0 }: OpenPack): Partition => partitionNumbered(partition)!

export class VanishedPacks {
  readonly #options: VanishedPacksOptions
  readonly #timer: Timer
  /** Packs that the stream does not have, and since when they are also in no one's hands. */
  #missing: ReadonlyMap<string, number> = new Map()
  /** Where the next pack of a destination is read, by its stream and destination. */
  readonly #readFrom = new Map<string, number>()
  #readsLeft = 0

  constructor(options: VanishedPacksOptions) {
    this.#options = options
    this.#timer = every(lookEveryMs, () =>
      this.lookAt(monotonicMs()).catch((error: unknown) =>
        options.occurrences.expiryUnwatched({ reason: messageOf(error) }),
      ),
    )
  }

  /** `nowMs`: monotonic, so that a clock that is set makes nothing look missing for long. */
  async lookAt(nowMs: number): Promise<void> {
    const before = this.#missing
    const found = (await this.#find()).slice(0, askedMax)
    const held = await this.#heldOf(found)
    const sinceOf = (id: string): number => (held?.has(id) === false ? (before.get(id) ?? nowMs) : nowMs)
    this.#missing = new Map(found.map((id) => [id, sinceOf(id)]))
    const gone = found.filter((id) => nowMs - sinceOf(id) >= missingForMs)
    if (gone.length > 0) await this.#enter(gone)
  }

  /** Packs that wait, as the books say, and that their stream does not have. */
  async #find(): Promise<string[]> {
    this.#readsLeft = readsPerLookMax
    const found: string[] = []
    const { all } = this.#options.partitions
    for (const partition of all) found.push(...(await this.#findIn(partition)))
    const waiting = new Set([...this.#options.openPacks().values()].map(partitionOf))
    for (const partition of waiting) {
      if (all.includes(partition) || !(await this.#isDeleted(partition))) continue
      for (const packs of this.#waitingIn(partition).values()) found.push(...packs.map(({ id }) => id))
    }
    return found
  }

  /** Was a partition deleted that is not among those of this process? Its packs will not come back. */
  async #isDeleted({ deliveriesStream }: Partition): Promise<boolean> {
    const { nats, partitions } = this.#options
    const [first, ...others] = partitions.all
    // One that is alone has all subjects, and may not be allowed to ask about other streams.
    if (others.length > 0) return (await nats.streamInfo(deliveriesStream)) === undefined
    const subjects = (await nats.streamInfo(first!.deliveriesStream))?.config.subjects ?? []
    return subjects.includes(allPacks)
  }

  async #findIn(partition: Partition): Promise<string[]> {
    const { nats, openPacks } = this.#options
    const { deliveriesStream } = partition
    const waiting = this.#waitingIn(partition)
    // A missing stream will be made again, or come back.
    const info = waiting.size === 0 ? undefined : await nats.streamInfo(deliveriesStream)
    if (info === undefined) return []
    const places = await waitingPacks(nats, partition)
    const stillOpen = openPacks()
    const found: string[] = []
    for (const [destination, packs] of waiting) {
      const open = packs.filter(({ id }) => stillOpen.has(id))
      const ofIt = places.filter((place) => place.destination === destination)
      const stored = ofIt.reduce((sum, place) => sum + place.packs, 0)
      const subjects = ofIt.map(({ subject }) => subject)
      const state = { deliveriesStream, destination, subjects, stored, last: info.state.last_seq }
      found.push(...(await this.#missingOf(open, state)))
    }
    return found
  }

  /** By destination. */
  #waitingIn({ number }: Partition): ReadonlyMap<string, readonly WaitingPack[]> {
    const { openPacks, isDestination } = this.#options
    const waiting = new Map<string, WaitingPack[]>()
    for (const [id, { sequence = 0, partition = 0 }] of openPacks()) {
      const destination = destinationIn(id)
      if (partition === number && isDestination(destination))
        getOrMake(waiting, destination, () => []).push({ id, sequence })
    }
    return waiting
  }

  async #missingOf(open: readonly WaitingPack[], stored: StoredPacks): Promise<readonly string[]> {
    const within = stored.stored === 0 ? [] : open.filter(({ sequence }) => sequence <= stored.last)
    const isWithin = new Set(within)
    const beyond = open.filter((pack) => !isWithin.has(pack)).map(({ id }) => id)
    const excess = within.length - stored.stored
    if (excess <= 0) return beyond
    const known = within.filter(({ id }) => this.#missing.has(id)).map(({ id }) => id)
    const read = known.length >= excess ? [] : await this.#read(within, stored)
    return [...beyond, ...new Set([...known, ...read])]
  }

  /** Reads some of the packs that the stream has; those between them are missing. */
  async #read(packs: readonly WaitingPack[], stored: StoredPacks): Promise<string[]> {
    const key = `${stored.deliveriesStream} ${stored.destination}`
    const sorted = packs.filter(({ sequence }) => sequence > 0).sort((a, b) => a.sequence - b.sequence)
    const missing: string[] = []
    let from = this.#readFrom.get(key) ?? 1
    for (; this.#readsLeft > 0; this.#readsLeft -= 1) {
      const ahead = sorted.filter(({ sequence }) => sequence >= from)
      if (ahead.length === 0) break
      const next = await this.#nextOf(stored, ahead[0]!.sequence)
      const end = next?.sequence ?? Number.POSITIVE_INFINITY
      for (const { id, sequence } of ahead)
        if (sequence < end || (sequence === end && packIdIn(next?.headers) !== id)) missing.push(id)
      from = end + 1
    }
    // After the last one, the next look begins with the first one.
    if (sorted.some(({ sequence }) => sequence >= from)) this.#readFrom.set(key, from)
    else this.#readFrom.delete(key)
    return missing
  }

  /** The first pack of a destination at or after a sequence. */
  async #nextOf(
    { deliveriesStream, subjects }: StoredPacks,
    from: number,
  ): Promise<StoredMessage | undefined> {
    const { nats } = this.#options
    const next = await Promise.all(
      subjects.map((subject) => nats.nextMessage(deliveriesStream, subject, from)),
    )
    return next.filter((pack) => pack !== undefined).sort((a, b) => a.sequence - b.sequence)[0]
  }

  /** The packs that deliverers hold; undefined if no deliverer answers. */
  async #heldOf(packs: readonly string[]): Promise<ReadonlySet<string> | undefined> {
    if (packs.length === 0) return undefined
    const answers = await this.#options.nats.gather(heldPacksSubject, JSON.stringify(packs), answerWithinMs)
    if (answers === undefined || answers.length === 0) return undefined
    return new Set(answers.flatMap((answer) => jsonOf<string[]>(answer)))
  }

  async #enter(packs: readonly string[]): Promise<void> {
    const ofDestination = new Map<string, string[]>()
    for (const id of packs) getOrMake(ofDestination, destinationIn(id), () => []).push(id)
    const entries = [...ofDestination].map(
      ([destination, ids]): LedgerEntry => ({ type: 'vanished', destination, packs: ids, at: now() }),
    )
    await writeEntries(this.#options.nats, entries, patience)
  }

  close(): void {
    this.#timer.stop()
  }
}
