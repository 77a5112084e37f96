/**
 * The results of scenarios: those of a run that goes on after it was stopped, and those that were recorded last, in
 * `recorded.json`, from which `docs/guarantees.md` has its table. It does not know the scenarios, so that documents can be
 * written without loading all that these need.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { code, table } from '../../src/words/event/markdown.js'
import type { Outcome, Size } from './scenario.js'

export interface Result extends Outcome {
  /** Of the scenario, with its partitions if there are several runs: `kills-points@4`. */
  readonly name: string
  readonly fault: string
  readonly passesWhen: string
  readonly size: Size
  readonly seconds: number
  /** The machine had other work, so that bounds of time were longer. */
  readonly isBusy: boolean
}

type Results = Readonly<Record<string, Result>>

/** As npm starts everything in the checkout. */
export const recordedFile = 'test/chaos/recorded.json'

export const readResults = (file: string): Results =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}

/** Adds one, in the order of these names; results of scenarios that do not exist any more are left out. */
export function addResult(file: string, result: Result, names: readonly string[]): void {
  const all: Results = { ...readResults(file), [result.name]: result }
  const kept = names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]] as const]))
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`)
}

const measured = ({ figures }: Result): string =>
  Object.entries(figures)
    .map(([what, value]) => `${what}: ${value}`)
    .join('; ')

const sizeOf = ({ size: { share, seed } }: Result): string =>
  `${share === 1 ? 'full' : `${Number((share * 100).toPrecision(2))} %`}, seed ${seed}`

const verdictOf = ({ broken, isBusy }: Result): string => {
  if (broken.length > 0) return `**fails**: ${broken.join('; ')}`
  return isBusy ? 'holds, with longer bounds of time' : 'holds'
}

export const tableOf = (results: Results): string =>
  table(
    ['Scenario', 'Fault, in the full form', 'Must hold', 'Size', 'Measured', ''],
    Object.values(results).map((result) => [
      code(result.name),
      result.fault,
      result.passesWhen,
      sizeOf(result),
      measured(result),
      verdictOf(result),
    ]),
  )

/** The generated part of `docs/guarantees.md`. */
export const chaosTables = { chaos: () => tableOf(readResults(recordedFile)) }
