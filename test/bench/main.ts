/** `node dist/test/bench/main.js [row…] [--json FILE] [--quick] [--against DIR]`: the benchmarks, as a table of ratios. */
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { type BenchRow, benchTools, isReached, type Measure, type RowResult } from './bench.js'
import { row as decisionLog } from './rows/decision-log.js'
import { row as decisions } from './rows/decisions.js'
import { row as destinations } from './rows/destinations.js'
import { row as endToEnd } from './rows/end-to-end.js'
import { row as expressions } from './rows/expressions.js'
import { row as idle } from './rows/idle.js'
import { row as ipSets } from './rows/ip-sets.js'
import { row as latency } from './rows/latency.js'
import { row as packing } from './rows/packing.js'
import { row as replay } from './rows/replay.js'
import { row as size } from './rows/size.js'
import { row as start } from './rows/start.js'
import { row as subscriptions } from './rows/subscriptions.js'
import { row as throttling } from './rows/throttling.js'
import { row as trial } from './rows/trial.js'
import { row as walk } from './rows/walk.js'

const rows: readonly BenchRow[] = [
  decisionLog, //
  decisions,
  destinations,
  endToEnd,
  expressions,
  idle,
  ipSets,
  latency,
  packing,
  replay,
  start,
  size,
  subscriptions,
  throttling,
  trial,
  walk,
]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
})

const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryBytes: totalmem(),
  node: process.version,
}

function formatMeasure(measure: Measure): string {
  const { name, ratio, bound } = measure
  const limit = 'atLeast' in bound ? `at least ${bound.atLeast}` : `at most ${bound.atMost}`
  return `  ${isReached(measure) ? ' ok ' : 'MISS'}  ${ratio.toFixed(2).padStart(9)} ×  ${name} (${limit})`
}

const unknown = positionals.filter((name) => !rows.some((row) => row.name === name))
if (unknown.length > 0) {
  console.error(`Unknown rows: ${unknown.join(', ')}. Known: ${rows.map((row) => row.name).join(', ')}.`)
  process.exit(2)
}

console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`)
const results: Record<string, RowResult> = {}
for (const row of rows) {
  if (positionals.length > 0 && !positionals.includes(row.name)) continue
  console.log(`\n${row.name}: ${row.mustReach}`)
  const result = await row.run(benchTools(options.quick, options.against))
  results[row.name] = result
  for (const measure of result.measures) console.log(formatMeasure(measure))
  const times = Object.entries(result.nsPerOperation)
  for (const [name, ns] of times) console.log(`        ${ns.toFixed(1).padStart(9)} ns ${name}`)
}
if (options.json !== undefined)
  writeFileSync(options.json, `${JSON.stringify({ machine, results }, undefined, 2)}\n`)
