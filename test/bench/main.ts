/**
 * The benchmarks, as a table of ratios.
 *
 *     node dist/test/bench/main.js [row…] [--json FILE] [--quick] [--against DIR] [--record] [--check]
 *
 * `--record` keeps the result for `docs/performance.md` and for `--check`, which measures the rows of CI for a short time
 * and fails if a ratio is less than half as good as the recorded one.
 */
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { type BenchRow, benchTools, isReached, type Measure, type RowResult } from './bench.js'
import { collapsed, readRecorded, record } from './recorded.js'
import { row as apiCreate } from './rows/api-create.js'
import { row as apiRead } from './rows/api-read.js'
import { row as apiRules } from './rows/api-rules.js'
import { row as bouncers } from './rows/bouncers.js'
import { row as capacity } from './rows/capacity.js'
import { row as challenger } from './rows/challenger.js'
import { row as changes } from './rows/changes.js'
import { row as cluster } from './rows/cluster.js'
import { row as compressed } from './rows/compressed.js'
import { row as consoleRow } from './rows/console.js'
import { row as decisionLog } from './rows/decision-log.js'
import { row as decisions } from './rows/decisions.js'
import { row as deployment } from './rows/deployment.js'
import { row as destinations } from './rows/destinations.js'
import { row as endToEnd } from './rows/end-to-end.js'
import { row as expressions } from './rows/expressions.js'
import { row as fastIngest } from './rows/fast-ingest.js'
import { row as idle } from './rows/idle.js'
import { row as ipSets } from './rows/ip-sets.js'
import { row as largeBodies } from './rows/large-bodies.js'
import { row as latency } from './rows/latency.js'
import { row as lists } from './rows/lists.js'
import { row as model } from './rows/model.js'
import { row as natsDecide } from './rows/nats-decide.js'
import { row as neighbours } from './rows/neighbours.js'
import { row as nodes } from './rows/nodes.js'
import { row as policyTests } from './rows/policy-tests.js'
import { row as processes } from './rows/processes.js'
import { row as publishing } from './rows/publishing.js'
import { row as replay } from './rows/replay.js'
import { row as restart } from './rows/restart.js'
import { row as size } from './rows/size.js'
import { row as start } from './rows/start.js'
import { row as statsWeek } from './rows/stats-week.js'
import { row as subscriptions } from './rows/subscriptions.js'
import { row as trial } from './rows/trial.js'
import { row as walk } from './rows/walk.js'

const rows: readonly BenchRow[] = [
  apiCreate, //
  apiRead,
  apiRules,
  bouncers,
  capacity,
  challenger,
  changes,
  cluster,
  compressed,
  consoleRow,
  decisionLog,
  decisions,
  deployment,
  destinations,
  endToEnd,
  expressions,
  fastIngest,
  idle,
  ipSets,
  largeBodies,
  latency,
  lists,
  model,
  natsDecide,
  neighbours,
  nodes,
  policyTests,
  processes,
  publishing,
  replay,
  restart,
  start,
  size,
  statsWeek,
  subscriptions,
  trial,
  walk,
]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    record: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
})

const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryBytes: totalmem(),
  node: process.version,
}
const machineName = `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`

function formatMeasure(measure: Measure): string {
  const { name, ratio, bound } = measure
  const limit = 'atLeast' in bound ? `at least ${bound.atLeast}` : `at most ${bound.atMost}`
  return `  ${isReached(measure) ? ' ok ' : 'MISS'}  ${ratio.toFixed(2).padStart(9)} ×  ${name} (${limit})`
}

async function measure(row: BenchRow): Promise<RowResult> {
  console.log(`\n${row.name}: ${row.mustReach}`)
  const result = await row.run(benchTools(options.quick || options.check, options.against))
  for (const one of result.measures) console.log(formatMeasure(one))
  const times = Object.entries(result.nsPerOperation)
  for (const [name, ns] of times) console.log(`        ${ns.toFixed(1).padStart(9)} ns ${name}`)
  return result
}

/** Whatever else the machine did the first time, it rarely does the second time, too. */
async function collapsedTwice(row: BenchRow, result: RowResult): Promise<readonly string[]> {
  const before = readRecorded()[row.name]
  if (collapsed(result, before).length === 0) return []
  return collapsed(await measure(row), before)
}

const unknown = positionals.filter((name) => !rows.some((row) => row.name === name))
if (unknown.length > 0) {
  console.error(`Unknown rows: ${unknown.join(', ')}. Known: ${rows.map((row) => row.name).join(', ')}.`)
  process.exit(2)
}

console.log(machineName)
const isWanted = ({ name, inCi }: BenchRow): boolean =>
  positionals.length > 0 ? positionals.includes(name) : inCi === true || !options.check
const results: Record<string, RowResult> = {}
const failures: string[] = []
for (const row of rows.filter(isWanted)) {
  const result = await measure(row)
  results[row.name] = result
  if (options.check) failures.push(...(await collapsedTwice(row, result)))
}
if (options.json !== undefined)
  writeFileSync(options.json, `${JSON.stringify({ machine, results }, undefined, 2)}\n`)
if (options.record) {
  const measured = Object.entries(results).map(([name, result]) => [
    name,
    { machine: machineName, ...result },
  ])
  record(
    Object.fromEntries(measured),
    rows.map(({ name }) => name),
  )
}
if (failures.length > 0) {
  console.error(`\nLess than half as good as recorded:\n${failures.join('\n')}`)
  process.exitCode = 1
}
