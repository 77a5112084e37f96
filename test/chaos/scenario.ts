/**
 * Start here: a scenario is a fault, or several, under traffic, and the judgement of all that was acknowledged meanwhile.
 * `npm run chaos` runs each at full size, `chaos.test.ts` some of them in small.
 *
 *     openSite (site.ts, destinations.ts) ▸ publish (publisher.ts, issue.ts) ▸ faults (scenarios/, wire.ts) ▸ judge
 *     (evidence.ts, verdict.ts)
 */
import { cpus, loadavg } from 'node:os'
import type { Closers } from '../bench/systems/system.js'
import { type Expected, judge, untilIdle } from './evidence.js'
import { Issue } from './issue.js'
import { Publisher } from './publisher.js'
import { openSite, type Site, type SiteOptions } from './site.js'

export interface Size {
  readonly seed: number
  /** At least so many records are published. */
  readonly records: number
  readonly partitions: number
  /** The share of the full number of faults, such as kills: 1 in the full form. */
  readonly share: number
}

/** What was measured, in words: `repeats at most` → `1,203 of 6,100`. */
type Figures = Readonly<Record<string, string>>

export interface Outcome {
  readonly figures: Figures
  /** Sentences about what did not hold; none: it passes. */
  readonly broken: readonly string[]
}

export interface Scenario {
  readonly name: string
  readonly fault: string
  readonly passesWhen: string
  /** Both numbers of partitions say something. Default: 1 alone. */
  readonly partitions?: readonly number[]
  run(run: Run): Promise<Outcome>
}

/** One run of a scenario. */
export class Run {
  readonly size: Size
  readonly closers: Closers
  readonly #say: (line: string) => void
  readonly #name: string
  #isBusy = false

  constructor(name: string, size: Size, closers: Closers, say: (line: string) => void) {
    this.#name = name
    this.size = size
    this.closers = closers
    this.#say = say
  }

  say(line: string): void {
    this.#say(line)
  }

  /** So many of the faults of the full form. */
  count(full: number): number {
    return Math.max(1, Math.round(full * this.size.share))
  }

  /**
   * Bounds of time are those of a machine that has nothing else to do: with more work than cores, processes wait for one
   * another, and everything takes as many times as long.
   */
  allowed(ms: number): number {
    const times = Math.max(1, loadavg()[0]! / cpus().length)
    if (times > 1) this.#isBusy = true
    return ms * times
  }

  /** Was a bound of time longer than that of a machine without other work? */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** A random number from 0 to 1 that follows from the seed and what it is for. */
  random(purpose: string): number {
    return drawn(this.size.seed, `${this.#name}.${purpose}`)
  }

  async open(options: Partial<SiteOptions> = {}): Promise<Traffic> {
    const { partitions, seed } = this.size
    const workers = partitions > 1 ? 2 : 1
    const site = await openSite(this.closers, { partitions, workers, ...options })
    const issue = new Issue(seed, this.#name, Date.now())
    const publisher = new Publisher(site.nats, issue, site.edgeId)
    this.closers.teardown(() => publisher.end())
    return new Traffic(this, site, issue, publisher)
  }
}

/** A site with records on their way to it. */
export class Traffic {
  readonly #run: Run
  readonly #issue: Issue
  readonly site: Site
  readonly publisher: Publisher

  constructor(run: Run, site: Site, issue: Issue, publisher: Publisher) {
    this.#run = run
    this.site = site
    this.#issue = issue
    this.publisher = publisher
  }

  /** Everything that was published so far is at its destinations. */
  untilIdle(): Promise<void> {
    return untilIdle(this.site, this.publisher.obligations)
  }

  /** Publishes what is left of the records of the scenario, waits until all is delivered, and judges it. */
  async judge(expected: Expected, figures: Figures = {}, broken: readonly string[] = []): Promise<Outcome> {
    await this.publisher.fillUp(Math.max(this.#run.size.records, this.publisher.issued))
    const verdict = await judge(this.site, this.#issue, this.publisher, expected)
    const repeats = verdict.arrivals.reduce((sum, each) => sum + each.repeats, 0)
    const bound = verdict.arrivals.reduce((sum, each) => sum + each.repeatsMax, 0)
    const missing = verdict.arrivals.reduce((sum, each) => sum + each.excused, 0)
    return {
      figures: {
        records: this.publisher.obligations.toLocaleString('en'),
        events: verdict.arrivals.reduce((sum, each) => sum + each.unique, 0).toLocaleString('en'),
        repeats: `${repeats.toLocaleString('en')}${Number.isFinite(bound) ? ` of at most ${bound.toLocaleString('en')}` : ''}`,
        'in the decision log': `${verdict.traced} of a sample`,
        ...(missing > 0 && { 'not there, as the fault has it': `${missing.toLocaleString('en')} events` }),
        ...figures,
      },
      broken: [...broken, ...verdict.broken],
    }
  }
}

/** FNV-1a, mixed: the same on every machine. */
function drawn(seed: number, purpose: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(`${seed}.${purpose}`)) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
