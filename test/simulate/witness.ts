/** What was seen of a world: what was promised to whom, and what came of it. */
import type { PlannedRecord, Write } from './plan.js'

/** A record that was published, as a message. */
export interface Issued extends PlannedRecord {
  readonly text: string
  readonly message: number
  /** When its publish was confirmed; undefined if it never was. */
  confirmedMs?: number
}

/** An event that a service stored. */
export interface Stored {
  readonly service: string
  readonly id: string
  readonly data: string
  readonly atMs: number
}

/** What a client knows of a write. */
export interface Written {
  readonly write: Write
  /** Ids of the edge that it was about. */
  id?: string | undefined
  outcome: 'under way' | 'done' | 'refused' | 'unknown'
  reason?: string
}

export interface Line {
  readonly atMs: number
  readonly by: string
  readonly text: string
}

export class Witness {
  readonly issued = new Map<number, Issued>()
  readonly stored: Stored[] = []
  readonly written: Written[] = []
  /** What happened, in order; for people. */
  readonly timeline: Line[] = []
  /** Events that NATS lost before they were accepted: the service, and the record's number or the audit event's id. */
  readonly lost = new Set<string>()
  /** How often NATS lost heads: a change that was under way may be in ClickHouse, and nobody knows to announce it. */
  headsLost = 0
  /** Errors that a process did not catch, and roles that ended. */
  readonly deaths: string[] = []
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get nowMs(): number {
    return this.#now()
  }

  note(by: string, text: string): void {
    this.timeline.push({ atMs: this.#now(), by, text })
  }
}
