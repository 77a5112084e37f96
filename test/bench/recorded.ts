/**
 * The ratios that were recorded last, in `recorded.json`: `docs/performance.md` shows them, and CI compares with them.
 * Ratios of a busy machine differ by tens of percent; a collapse, such as a loop where an index was, differs by more.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Measure, RowResult } from './bench.js'

export interface RecordedRow extends RowResult {
  readonly machine: string
}

type Recorded = Readonly<Record<string, RecordedRow>>

/** As npm starts everything in the checkout. */
const file = 'test/bench/recorded.json'

export const readRecorded = (): Recorded => JSON.parse(readFileSync(file, 'utf8'))

/** Replaces the rows that were measured; rows that do not exist any more are left out. */
export function record(measured: Recorded, names: readonly string[]): void {
  const all: Recorded = { ...readRecorded(), ...measured }
  const rows = names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]] as const]))
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(rows), rounded, 2)}\n`)
}

/** Digits that differ from one run to the next are not worth a line of a diff. */
const rounded = (key: string, value: unknown): unknown =>
  typeof value === 'number' && key !== 'atLeast' && key !== 'atMost' ? Number(value.toPrecision(3)) : value

/** Is it less than half as good as it was? */
function hasCollapsed({ ratio, bound }: Measure, before: Measure): boolean {
  return 'atLeast' in bound ? ratio < before.ratio / 2 : ratio > before.ratio * 2
}

/** Sentences about the measures that collapsed. */
export function collapsed({ measures }: RowResult, before: RowResult | undefined): string[] {
  return measures.flatMap((measure) => {
    const recorded = before?.measures.find(({ name }) => name === measure.name)
    if (recorded === undefined || !hasCollapsed(measure, recorded)) return []
    return [`${measure.name}: ${measure.ratio.toFixed(2)}, recorded ${recorded.ratio.toFixed(2)}`]
  })
}
