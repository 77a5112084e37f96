/** What a process of Weir answers when the API asks all of them: which version it is, and how it is. */
import { jsonOf } from '../../ground/core/bytes.js'
import { isObject } from '../../ground/core/json-object.js'

export interface ProcessReport {
  /** `api`, `pipeline`, `decide` or `deliver`. */
  readonly role: string
  readonly version: string
  /** Which source it was built from, for people. */
  readonly build: string
  /** The version of Node. */
  readonly node: string
  readonly host: string
  readonly pid: number
  /** Milliseconds since the epoch, by its own clock. */
  readonly startedAtMs: number
  readonly nowMs: number
  /** Parts that do not work, each with a sentence that says why; empty if it is ready. */
  readonly failing: Readonly<Record<string, string>>
  /** What NATS does not do for it, by stream or subject, each with the reason; missing if it is of version 0.2.0. */
  readonly refused?: Readonly<Record<string, string>>
  /** How many files it may open; null if the system does not say. */
  readonly filesMax: number | null
  readonly filesOpen: number | null
  /** Who asked last in the name of a client without being a trusted proxy; missing if no one did. */
  readonly untrustedProxy?: UntrustedProxy | undefined
  /** Where it answers requests, by purpose. */
  readonly addresses: Readonly<Record<string, string>>
}

export interface UntrustedProxy {
  readonly address: string
  readonly atMs: number
}

/** More processes than a deployment has. */
const reportsMax = 500

/** Those that can be read; a later version may say more. */
export const reportsIn = (answers: readonly Uint8Array[]): ProcessReport[] =>
  answers.slice(0, reportsMax).flatMap(reportIn)

/** One that can't be read is left out: the others are shown all the same. */
function reportIn(answer: Uint8Array): ProcessReport[] {
  try {
    const report = jsonOf<Partial<ProcessReport> | null>(answer)
    return isReport(report) ? [report] : []
  } catch {
    return []
  }
}

const isReport = (report: Partial<ProcessReport> | null): report is ProcessReport =>
  typeof report?.role === 'string' &&
  typeof report.version === 'string' &&
  typeof report.host === 'string' &&
  typeof report.pid === 'number' &&
  typeof report.nowMs === 'number' &&
  isObject(report.failing) &&
  isObject(report.addresses)
