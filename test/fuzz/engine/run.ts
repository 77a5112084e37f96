/**
 * Fuzzes one parser for some time: the inputs are the same for the same seed, and only how many there are depends on the
 * machine. An input that makes a new kind of outcome is changed further.
 */
import { type Failure, judged, leastCpuMs, slow } from './judged.js'
import { mutated } from './mutations.js'
import type { FuzzedParser } from './parser.js'
import { type Pump, pumpedTo, pumpOf } from './pumped.js'
import { Random, seedOf } from './random.js'
import { smaller } from './smaller.js'

interface Find {
  readonly parser: string
  readonly failure: Failure
  readonly input: Buffer
  /** The number of the input. */
  readonly index: number
}

interface FuzzRun {
  readonly seed: number
  readonly cpuMs: number
  /** Is the time of inputs compared with that of inputs half as long, too? It takes long. */
  readonly comparesTimes?: boolean
  /** The end at the first find. */
  readonly findsMax?: number
  /** Before each input. */
  readonly notice?: (parser: FuzzedParser, input: Buffer) => void
}

interface FuzzReport {
  readonly inputs: number
  readonly read: number
  readonly shapes: number
  readonly finds: readonly Find[]
}

const bytesMaxUsual = 64 * 1024
const keptInputsMax = 300
const keptBytesMax = 8 * 1024
const pumpedShare = 0.08

/** Pieces are repeated until the input has so many bytes, and then twice as many each time. */
const pumpedBytesMin = 512

export async function fuzz(parser: FuzzedParser, run: FuzzRun): Promise<FuzzReport> {
  return await new Fuzzing(parser, run).report()
}

class Fuzzing {
  readonly #parser: FuzzedParser
  readonly #run: FuzzRun
  readonly #bytesMax: number
  readonly #words: readonly Buffer[]
  readonly #kept: Buffer[]
  readonly #shapes = new Set<string>()
  readonly #finds = new Map<string, Find>()
  #index = 0
  #read = 0

  constructor(parser: FuzzedParser, run: FuzzRun) {
    this.#parser = parser
    this.#run = run
    this.#bytesMax = parser.bytesMax ?? bytesMaxUsual
    this.#words = (parser.words ?? []).map((word) => Buffer.from(word))
    this.#kept = parser.seeds().map((seed) => Buffer.from(seed as Uint8Array))
  }

  async report(): Promise<FuzzReport> {
    for (const seed of [...this.#kept]) await this.#try(seed)
    const began = process.cpuUsage()
    while (cpuMsSince(began) < this.#run.cpuMs && !this.#isEnough()) {
      const random = new Random(seedOf(`${this.#parser.name} ${this.#index}`, this.#run.seed))
      if (random.chance(pumpedShare)) await this.#pump(random)
      else await this.#try(this.#next(random))
    }
    return {
      inputs: this.#index,
      read: this.#read,
      shapes: this.#shapes.size,
      finds: [...this.#finds.values()],
    }
  }

  #isEnough(): boolean {
    return this.#finds.size >= (this.#run.findsMax ?? Number.POSITIVE_INFINITY)
  }

  #next(random: Random): Buffer {
    const { made } = this.#parser
    const base =
      made !== undefined && random.chance(0.3)
        ? Buffer.from(made(random.seed()) as Uint8Array)
        : random.oneOf(this.#kept)
    if (made !== undefined && random.chance(0.1)) return base
    return mutated(base, random, { others: this.#kept, words: this.#words }, this.#bytesMax)
  }

  async #try(input: Buffer): Promise<boolean> {
    this.#index += 1
    this.#run.notice?.(this.#parser, input)
    const result = await judged(this.#parser, input)
    if ('failure' in result) {
      await this.#note(result.failure, input)
      return false
    }
    if (result.shape.startsWith('read')) this.#read += 1
    if (!this.#shapes.has(result.shape)) {
      this.#shapes.add(result.shape)
      if (input.length <= keptBytesMax && this.#kept.length < keptInputsMax) this.#kept.push(input)
    }
    return true
  }

  /** The time is looked at with each size, so that one that grows with a power ends early. */
  async #pump(random: Random): Promise<void> {
    const pump = pumpOf(random.oneOf(this.#kept), this.#words, random)
    for (let bytes = pumpedBytesMin; bytes <= this.#bytesMax; bytes *= 4)
      if (!(await this.#try(pumpedTo(pump, bytes)))) return
    if (this.#run.comparesTimes) await this.#compareTimes(pump)
  }

  async #compareTimes(pump: Pump): Promise<void> {
    const ms = async (share: number): Promise<number> =>
      await leastCpuMs(this.#parser, pumpedTo(pump, this.#bytesMax / share), 5)
    if ((await ms(1)) < comparedMsMin) return
    const [whole, half, quarter] = [await ms(1), await ms(2), await ms(4)]
    const isNoise = quarter < comparedMsMin / 8
    if (isNoise || whole / half < growthMax || half / quarter < growthMax) return
    const what = `${Math.round(whole)} ms, for a half ${Math.round(half)} ms, for a quarter ${Math.round(quarter)} ms`
    await this.#note(slow(what), pumpedTo(pump, this.#bytesMax))
  }

  async #note(failure: Failure, input: Buffer): Promise<void> {
    const { label } = failure
    if (this.#finds.has(label)) return
    const fails = async (other: Buffer): Promise<boolean> => {
      const result = await judged(this.#parser, other)
      return 'failure' in result && result.failure.label === label
    }
    // Without its length, a slow input is none.
    const small = failure.kind === 'slow' ? input : await smaller(input, fails)
    this.#finds.set(label, { parser: this.#parser.name, failure, input: small, index: this.#index })
  }
}

/** In less time, other things than the length matter. */
const comparedMsMin = 8
/** Twice the time is in proportion, four times is the square. */
const growthMax = 3

function cpuMsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1_000
}
