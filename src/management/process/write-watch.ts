/**
 * Looks every five seconds whether a role could do what it is for: what NATS stores, within the limits of its account,
 * whether consumers can be opened, and whether the process can open files and connections. It writes and reads a probe if no
 * traffic shows that NATS stores.
 */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { decisionLogSubjects, storeProbeSubject } from '../../delivery/wire/names.js'
import { every, monotonicMs, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Failing } from '../../ground/core/telemetry/health.js'
import { writeFaults } from '../../ground/core/telemetry/nats-occurrences.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { headOf, isForbidden } from '../../ground/nats/storing.js'
import { StoreProbe } from './store-probe.js'

/** The streams that a role writes. */
export interface Written {
  readonly role: string
  readonly streams: () => readonly string[]
  /** Does `weir serve` run the nats-server, look at its health, and restart it? */
  readonly isServerLocal: boolean
}

interface WriteWatchOptions {
  readonly nats: Pick<
    Nats,
    'isConnected' | 'messageAt' | 'payloadBytesMax' | 'publish' | 'streamInfo' | 'storing' | 'unopened'
  >
  /** Undefined for a role that only reads. */
  readonly written?: Written | undefined
  readonly occurrences: Pick<
    Occurrences,
    'writesFailing' | 'writesFailed' | 'writesRecovered' | 'probesForbidden'
  >
}

/** ClickHouse is the store's own matter. */
const reasons = writeFaults.filter((reason) => reason !== 'clickhouse')
interface Problem {
  readonly reason: (typeof reasons)[number]
  readonly text: string
}
type Problems = ReadonlyMap<string, Problem>

const lookEveryMs = 5_000
/** Traffic since just after the last look. */
const trafficWithinMs = 4_000
/** Heads of subjects on which a failure shows nothing: rows of the log may be lost, and the probe is tried again. */
const unneeded = [headOf(decisionLogSubjects), headOf(storeProbeSubject('*'))]
/** A request needs some: for its connection, and for what that asks. */
const descriptorsMin = 4
/** A stream gets replicas, or loses them, when an operator says so. */
const replicasKnownMs = 60_000
/** An account need not have room for the largest message, but for one of this part of its storage. */
const neededShare = 1 / 4

export class WriteWatch {
  readonly #options: WriteWatchOptions
  readonly #timer: Timer
  readonly #replicas = new Map<string, { readonly count: number; readonly atMs: number }>()
  /** Rights that this user of NATS lacks. */
  readonly #forbidden = new Set<string>()
  readonly #probe: StoreProbe | undefined
  #problems: Problems = new Map()
  #isClosed = false

  constructor(options: WriteWatchOptions) {
    this.#options = options
    const { nats, written } = options
    if (written !== undefined)
      this.#probe = new StoreProbe({
        nats,
        role: written.role,
        faultOf: (stream) => this.#faultOf(stream),
        forbidden: (stream, error) => this.#forbid(stream, error),
      })
    this.#timer = every(lookEveryMs, () => this.look())
  }

  /** Parts that can't be written, each with the reason as a sentence. */
  get failing(): Failing {
    return Object.fromEntries([...this.#problems].map(([part, { text }]) => [part, text]))
  }

  async look(): Promise<void> {
    const { written, nats } = this.#options
    const found = new Map<string, Problem>()
    const descriptors = lackOfDescriptors()
    if (descriptors !== undefined) found.set('process', { reason: 'descriptors', text: descriptors })
    // Without a connection, readiness says so, and nothing else is known.
    if (nats.isConnected) {
      for (const [part, problem] of [...this.#unreadable(), ...(await this.#unwritable(written))])
        found.set(part, problem)
    }
    if (!this.#isClosed) this.#report(found)
  }

  async #unwritable(written: Written | undefined): Promise<[string, Problem][]> {
    if (written === undefined) return []
    const found = [this.#streamsOutOfService(written), this.#refusal(), this.#lackOfAccount()]
    return (await Promise.all(found)).flat()
  }

  #report(found: Problems): void {
    const { occurrences } = this.#options
    const before = this.#problems
    this.#problems = found
    for (const reason of reasons)
      occurrences.writesFailing(
        { reason },
        [...found.values()].some((each) => each.reason === reason) ? 1 : 0,
      )
    for (const [part, { reason, text }] of found)
      if (!before.has(part)) occurrences.writesFailed({ reason, part, problem: text })
    for (const [part, { reason }] of before)
      if (!found.has(part)) occurrences.writesRecovered({ reason, part })
  }

  /** Streams with consumers that can't be opened: there may be one for each destination. */
  #unreadable(): [string, Problem][] {
    const { unopened, storing } = this.#options.nats
    const found = new Map<string, Problem>()
    for (const { stream, name, reason } of unopened.current) {
      const part = `consumers of ${stream}`
      const text = `The nats-server at ${storing.server} does not open consumers of the stream, such as ${name}, so it is not read: ${reason}`
      if (!found.has(part)) found.set(part, { reason: 'consumers', text })
    }
    return [...found]
  }

  /**
   * A server that does not answer says nothing about them; readiness finds out otherwise. The health of the local one shows
   * all of them at once.
   */
  async #streamsOutOfService({ streams, isServerLocal }: Written): Promise<[string, Problem][]> {
    if (isServerLocal) return []
    const found = await Promise.all(
      streams().map(async (stream): Promise<[string, Problem][]> => {
        const fault = await this.#faultOf(stream).catch(() => undefined)
        return fault === undefined ? [] : [[stream, { reason: 'stream', text: this.#outOfService(fault) }]]
      }),
    )
    return found.flat()
  }

  #outOfService(fault: string): string {
    return `The nats-server at ${this.#options.nats.storing.server} has taken the stream out of service (${fault}). Mend that, then restart this server: until then it stores nothing in this stream. What it acknowledged is kept.`
  }

  /**
   * Only of streams without replicas: a server of a cluster that can't write leaves its streams to the others, which shows
   * in the information about the stream.
   */
  async #faultOf(stream: string): Promise<string | undefined> {
    const { nats } = this.#options
    if (this.#forbidden.has(stream) || (await this.#replicasOf(stream)) !== 1) return undefined
    try {
      return await nats.storing.faultOf(stream)
    } catch (error) {
      if (!isForbidden(error)) throw error
      this.#forbid(stream, error)
      return undefined
    }
  }

  async #replicasOf(stream: string): Promise<number> {
    const known = this.#replicas.get(stream)
    if (known !== undefined && monotonicMs() - known.atMs < replicasKnownMs) return known.count
    const count = (await this.#options.nats.streamInfo(stream))?.config.num_replicas ?? 0
    if (count > 0) this.#replicas.set(stream, { count, atMs: monotonicMs() })
    return count
  }

  #forbid(what: string, error: unknown): void {
    this.#forbidden.add(what)
    this.#options.occurrences.probesForbidden({ what, reason: messageOf(error) })
  }

  /** Publishes of the role that fail, or the probe. */
  async #refusal(): Promise<[string, Problem][]> {
    const { storing } = this.#options.nats
    const failing = [...storing.failing]
      .filter(([head]) => !unneeded.includes(head))
      .map(([head, message]): [string, Problem] => [
        `${head}.>`,
        {
          reason: 'nats',
          text: `The nats-server at ${storing.server} stores nothing on subjects of ${head}: ${message}`,
        },
      ])
    if (storing.hasStored(trafficWithinMs)) return failing
    const refusal = await this.#probe?.refusal()
    if (refusal === undefined) return failing
    const text = `The nats-server at ${storing.server} stores nothing: ${refusal}`
    return [...failing, ['nats-store', { reason: 'nats', text }]]
  }

  async #lackOfAccount(): Promise<[string, Problem][]> {
    const { nats } = this.#options
    const account = await nats.storing.account().catch(() => undefined)
    if (account === undefined) return []
    const parts = [account, ...Object.values(account.tiers ?? {})]
    const text = parts.map((part) => fullText(part, nats.payloadBytesMax)).find((each) => each !== undefined)
    return text === undefined ? [] : [['nats-account', { reason: 'account', text }]]
  }

  close(): void {
    this.#isClosed = true
    this.#timer.stop()
  }
}

interface UsedStorage {
  readonly storage: number
  readonly limits?: { readonly max_storage: number } | undefined
}

/** `payloadBytesMax`: the limit of the server. */
function fullText({ storage, limits }: UsedStorage, payloadBytesMax: number): string | undefined {
  const bytesMax = limits?.max_storage ?? 0
  const roomBytes = bytesMax - storage
  if (bytesMax <= 0 || roomBytes >= Math.min(payloadBytesMax, bytesMax * neededShare)) return undefined
  return `The account of NATS is full (${storage} of ${bytesMax} bytes of storage): it refuses messages of more than ${Math.max(0, roomBytes)} bytes. Raise its limit (max_file, or max_file_store of the server), or delete what is not needed.`
}

/** Why this process can open no more files or connections. */
function lackOfDescriptors(): string | undefined {
  const opened: number[] = []
  try {
    while (opened.length < descriptorsMin) opened.push(openSync(devNull, 'r'))
    return undefined
  } catch (error) {
    return `This process can open no more files or connections (${messageOf(error)}). Raise its limit of open files (ulimit -n, or LimitNOFILE of systemd), or find the connections that take them.`
  } finally {
    for (const file of opened) closeSync(file)
  }
}
