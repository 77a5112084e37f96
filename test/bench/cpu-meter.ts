/** The CPU that a system of processes takes per record, over all its processes. Linux only, because it reads `/proc`. */
import { readFileSync } from 'node:fs'
import { monotonicMs, sleep } from '../../src/ground/core/clock.js'
import type { TreeProcess } from '../harness/tree.js'

const ticksPerSecond = 100
/** Merges of ClickHouse and snapshots of the books follow the last record. */
const settleMs = 2_000
const idleMs = 5_000
/**
 * The work after a long load (compilation by V8, merges) takes up to half a minute, and merges begin when they like. Nothing
 * of it is left when two windows in a row differ by less than this share.
 */
const idleWindowsMax = 12
const settledShare = 0.1

/** Microseconds of CPU, by role. */
type CpuByRole = Readonly<Record<string, number>>

export interface Turn {
  /** Per record. */
  readonly cpu: CpuByRole
  readonly recordsPerSecond: number
}

export class CpuMeter {
  readonly #processes: () => readonly TreeProcess[]
  /** Per second without records. */
  #idle: CpuByRole = {}

  constructor(processes: () => readonly TreeProcess[]) {
    this.#processes = processes
  }

  /** Measures what the system takes while nothing is to be done: it is left out of later turns. */
  async measureIdle(): Promise<void> {
    await sleep(settleMs)
    let last = await this.#idleWindow()
    this.#idle = last
    for (let windows = 1; windows < idleWindowsMax; windows += 1) {
      const [previous, window] = [totalCpu(last), await this.#idleWindow()]
      if (totalCpu(window) < totalCpu(this.#idle)) this.#idle = window
      if (Math.abs(totalCpu(window) - previous) <= settledShare * previous) break
      last = window
    }
  }

  async #idleWindow(): Promise<CpuByRole> {
    const before = cpuUsed(this.#processes())
    await sleep(idleMs)
    const spent = difference(cpuUsed(this.#processes()), before)
    return Object.fromEntries(Object.entries(spent).map(([role, us]) => [role, us / (idleMs / 1_000)]))
  }

  /** `work` resolves when so many records are done. */
  async turn(records: number, work: () => Promise<void>): Promise<Turn> {
    const [before, begunMs] = [cpuUsed(this.#processes()), monotonicMs()]
    await work()
    const workMs = monotonicMs() - begunMs
    await sleep(settleMs)
    const seconds = (workMs + settleMs) / 1_000
    const perRecord = ([role, us]: [string, number]) =>
      [role, (us - (this.#idle[role] ?? 0) * seconds) / records] as const
    const cpu = Object.fromEntries(
      Object.entries(difference(cpuUsed(this.#processes()), before)).map(perRecord),
    )
    return { cpu, recordsPerSecond: (records / workMs) * 1_000 }
  }
}

/** Microseconds of CPU since each process started. */
export function cpuUsed(processes: readonly TreeProcess[]): CpuByRole {
  const used: Record<string, number> = {}
  for (const { pid, role } of processes) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[11]) + Number(fields[12])
    used[role] = (used[role] ?? 0) + (ticks / ticksPerSecond) * 1e6
  }
  return used
}

export const difference = (after: CpuByRole, before: CpuByRole): CpuByRole =>
  Object.fromEntries(Object.entries(after).map(([role, us]) => [role, us - (before[role] ?? 0)]))

export const totalCpu = (cpu: CpuByRole): number => Object.values(cpu).reduce((sum, us) => sum + us, 0)
