/**
 * Start here: plays many worlds, each from its seed, and says which promise was broken in which, and how.
 *
 *     npm run simulate -- [--seed N | --seeds COUNT --from N] [--planted NAME | --planted all] [--jobs N]
 *
 * Exit codes: 0 nothing was broken (or all planted faults were found), 1 something was, 2 a wrong call.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { buildSimulation } from './build.js'
import { planOf } from './plan.js'
import { type Planted, plantedFaults } from './planted.js'
import { searchPlanted } from './planted-search.js'
import { Pool } from './pool.js'
import { shrunk } from './shrink.js'
import type { Line } from './witness.js'
import type { Played } from './worker.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    planted: { type: 'string' },
    whole: { type: 'boolean', default: false },
  },
})

/** Ends a wrong call, which would otherwise play nothing and find nothing broken. */
function wholeNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  process.stderr.write(`--${name} is ${JSON.stringify(text)}: it must be a whole number from 1.\n`)
  process.exit(2)
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

function* seedsFrom(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed++) yield seed
}

async function playAll(program: string, jobs: number): Promise<boolean> {
  const pool = new Pool(program, jobs)
  const broken: Played[] = []
  let cpuMs = 0
  let count = 0
  const take = (played: Played): void => {
    count += 1
    cpuMs += played.cpuMs
    if (played.broken.length === 0) return
    broken.push(played)
    say(`seed ${played.task}: ${played.broken[0]}`)
  }
  const only = values.seed === undefined ? undefined : wholeNumber('seed', values.seed)
  const seeds = seedsFrom(wholeNumber('from', values.from), wholeNumber('seeds', values.seeds))
  try {
    await pool.play(only === undefined ? seeds : [only], take)
    say(`${count} worlds, ${broken.length} broke a promise; ${Math.round(cpuMs / count)} ms of CPU each`)
    const [first] = broken
    if (first !== undefined) await explain(pool, first)
  } finally {
    pool.close()
  }
  return broken.length === 0
}

async function explain(pool: Pool, first: Played): Promise<void> {
  const whole = planOf(first.task as number)
  const { plan, played } = values.whole ? { plan: whole, played: first } : await shrunk(pool, first, whole)
  say(`\nThe smallest that was found from seed ${first.task}:\n`)
  for (const line of played.timeline ?? []) say(lineText(line))
  say('')
  for (const sentence of new Set(played.broken)) say(`BROKEN: ${sentence}`)
  say(`\nThe plan, for finds.ts: ${JSON.stringify(plan)}`)
  say(`Again: npm run simulate -- --seed ${first.task}`)
}

const widthMax = 240

const lineText = ({ atMs, by, text }: Line): string =>
  `${(atMs / 1000).toFixed(3).padStart(8)}  ${by.padEnd(13)} ${text.slice(0, widthMax)}`

async function findPlanted(planted: Planted, jobs: number): Promise<boolean> {
  const { found, worlds } = await searchPlanted(planted, jobs)
  const what = found === undefined ? 'NOT FOUND' : `seed ${found.task} finds it: ${found.broken[0]}`
  say(`${planted.name}: ${what} (${worlds} worlds)`)
  return found !== undefined
}

async function main(): Promise<number> {
  const jobs = wholeNumber('jobs', values.jobs)
  if (values.planted === undefined) return (await playAll(await buildSimulation(), jobs)) ? 0 : 1
  const wanted = plantedFaults.filter(({ name }) => values.planted === 'all' || name === values.planted)
  if (wanted.length === 0) {
    say(`There is no planted fault "${values.planted}": ${plantedFaults.map(({ name }) => name).join(', ')}.`)
    return 2
  }
  let areFound = true
  for (const planted of wanted) areFound = (await findPlanted(planted, jobs)) && areFound
  return areFound ? 0 : 1
}

process.exitCode = await main()
