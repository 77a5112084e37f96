/**
 * `npm run chaos`: faults under traffic, and the judgement of everything that was acknowledged meanwhile.
 *
 *     npm run chaos                               # all scenarios, some hours
 *     npm run chaos -- quiet@4 kills-points       # these
 *     npm run chaos -- --list
 *     npm run chaos -- --seed 7 --records 20000   # another seed; smaller, with as many fewer faults
 *     npm run chaos -- --resume                   # what the last run has no result of yet, with its seed and records
 *     npm run chaos -- --results FILE             # where results are kept; for two runs at the same time
 *     npm run chaos -- --write                    # keeps the results for docs/guarantees.md, too
 *
 * The exit code is 1 if a scenario fails, 2 for options that are wrong.
 */
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { monotonicMs } from '../../src/ground/core/clock.js'
import { messageOf } from '../../src/ground/core/errors.js'
import { withClosers } from '../bench/systems/system.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { allRuns } from './catalog.js'
import { addResult, type Result, readResults, recordedFile, tableOf } from './results.js'
import { Run, type Size } from './scenario.js'

const fullRecords = 100_000
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    resume: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    seed: { type: 'string' },
    records: { type: 'string', default: String(fullRecords) },
    // A stopped run goes on from it.
    results: { type: 'string', default: 'dist/chaos-results.json' },
  },
})

function endWith(problem: string): never {
  console.error(problem)
  process.exit(2)
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) endWith(`--${name} is ${text}: a whole number from 1 on is needed.`)
  return Number(text)
}

const file = options.results
const runs = allRuns()
const names = runs.map(({ name }) => name)
/** `kills` means `kills@1` and `kills@4`. */
const isNamed = (run: (typeof runs)[number]): boolean =>
  positionals.some((name) => name === run.name || name === run.scenario.name)
const unknown = positionals.filter(
  (given) => !runs.some(({ name, scenario }) => name === given || scenario.name === given),
)
if (unknown.length > 0) endWith(`Unknown scenarios: ${unknown.join(', ')}. Known: ${names.join(', ')}.`)

if (options.list) {
  for (const { name, scenario } of runs) console.log(`${name.padEnd(24)} ${scenario.fault}`)
  process.exit(0)
}

const before = options.resume ? readResults(file) : {}
const [last] = Object.values(before)
const seed =
  options.seed === undefined
    ? (last?.size.seed ?? 1 + Math.floor(Math.random() * 1_000_000))
    : wholeNumber('seed', options.seed)
const records = wholeNumber('records', options.records)
const wanted = runs.filter(
  (run) => (positionals.length === 0 || isNamed(run)) && before[run.name] === undefined,
)
if (!options.resume) rmSync(file, { force: true })

/** What it did until it failed is a part of the failure. */
async function outcomeOf({ name, scenario }: (typeof runs)[number], size: Size) {
  const say = (line: string): void => console.log(`  ${line}`)
  let isBusy = false
  try {
    const outcome = await withClosers(async (closers) => {
      const run = new Run(name, size, closers, say)
      return scenario.run(run).finally(() => {
        isBusy = run.isBusy
      })
    })
    return { ...outcome, isBusy }
  } catch (error) {
    // With the cause of a request that failed.
    console.error(error)
    return { figures: {}, broken: [messageOf(error)], isBusy }
  }
}

// Whatever stops a run, no process of it is left.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const { pid } of processesBelow(process.pid)) endNow(pid)
    process.exit(1)
  })

console.log(`seed ${seed}, ${records.toLocaleString('en')} records in each scenario`)
for (const run of wanted) {
  const { name, scenario, partitions } = run
  console.log(`\n${name}: ${scenario.fault}`)
  const begunMs = monotonicMs()
  const size = { seed, records, partitions, share: Math.min(1, records / fullRecords) }
  const outcome = await outcomeOf(run, size)
  const seconds = Math.round((monotonicMs() - begunMs) / 1_000)
  const { fault, passesWhen } = scenario
  const result: Result = { name, fault, passesWhen, size, seconds, ...outcome }
  for (const to of options.write ? [file, recordedFile] : [file]) addResult(to, result, names)
  for (const [what, value] of Object.entries(outcome.figures)) console.log(`  ${what}: ${value}`)
  for (const sentence of outcome.broken) console.log(`  FAILS: ${sentence}`)
  console.log(`  ${outcome.broken.length === 0 ? 'holds' : 'fails'}, after ${seconds} s`)
}

const results = readResults(file)
console.log(`\n${tableOf(results)}`)
process.exit(Object.values(results).some(({ broken }) => broken.length > 0) ? 1 : 0)
