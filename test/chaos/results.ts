/**
 * The results of scenarios: those of a run that goes on after it was stopped, and those that were recorded last, in
 * `recorded.json`, from which `docs/guarantees.md` has its table.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { table } from '../../src/words/event/markdown.js'
import { scenarios } from './catalog.js'
import type { Outcome, Scenario, Size } from './scenario.js'

export interface Result extends Outcome {
  /** Of the scenario, with its partitions: `kills-points@4`. */
  readonly name: string
  readonly size: Size
  readonly seconds: number
}

type Results = Readonly<Record<string, Result>>

/** As npm starts everything in the checkout. */
const recordedFile = 'test/chaos/recorded.json'

export const readResults = (file: string): Results =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}

export function addResult(file: string, result: Result): void {
  const all = { ...readResults(file), [result.name]: result }
  writeFileSync(file, `${JSON.stringify(all, undefined, 2)}\n`)
}

export const record = (result: Result): void => addResult(recordedFile, result)

export const runName = ({ name, partitions = [1] }: Scenario, count: number): string =>
  partitions.length === 1 ? name : `${name}@${count}`

/** Every run of every scenario, in order. */
export const allRuns = () =>
  scenarios.flatMap((scenario) =>
    (scenario.partitions ?? [1]).map((partitions) => ({
      name: runName(scenario, partitions),
      scenario,
      partitions,
    })),
  )

/** A row per run that has a result. */
export function tableOf(results: Results): string {
  const rows = allRuns().flatMap(({ name, scenario }) => {
    const result = results[name]
    if (result === undefined) return []
    const { figures, broken } = result
    const measured = Object.entries(figures).map(([what, value]) => `${what}: ${value}`)
    return [
      [
        `\`${name}\``,
        scenario.fault,
        scenario.passesWhen,
        measured.join('; '),
        broken.length === 0 ? 'holds' : `**fails**: ${broken.join('; ')}`,
      ],
    ]
  })
  return table(['Scenario', 'Fault', 'Must hold', 'Measured', ''], rows)
}

/** The generated part of `docs/guarantees.md`. */
export const chaosTables = { chaos: () => tableOf(readResults(recordedFile)) }
