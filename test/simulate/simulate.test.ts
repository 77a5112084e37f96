/** Worlds keep the promises; a world is the same whenever it is played; faults that are planted are found. */
import t from 'tap'
import { buildSimulation } from './build.js'
import { finds } from './finds.js'
import { plantedFaults } from './planted.js'
import { searchPlanted } from './planted-search.js'
import { Pool } from './pool.js'
import type { Played, Task } from './worker.js'

/** Of a run by command there are many more: `npm run simulate`. */
const seeds = 200

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

async function played(program: string, tasks: Iterable<Task>, processes: number): Promise<Played[]> {
  const pool = new Pool(program, processes)
  const all: Played[] = []
  try {
    await pool.play(tasks, (outcome) => all.push(outcome))
  } finally {
    pool.close()
  }
  return all
}

const saidOf = ({ broken, timeline = [] }: Played): string =>
  [...broken, ...timeline.map(({ atMs, by, text }) => `${(atMs / 1000).toFixed(3)} ${by} ${text}`)].join('\n')

t.test('no promise is broken in the first worlds, nor in those where one was once', async (t) => {
  const program = await buildSimulation()
  const worlds = [...finds.map(({ plan }) => plan), ...upTo(seeds)]
  const all = await played(program, worlds, 2)
  t.equal(all.length, worlds.length)
  for (const each of all.filter(({ broken }) => broken.length > 0))
    t.fail(`${JSON.stringify(each.task)}: npm run simulate -- --seed N shows it smaller`, {
      said: saidOf(each),
    })
})

t.test('a world is the same bit for bit, whatever its process played before', async (t) => {
  const program = await buildSimulation()
  const digestsOf = async (tasks: number[]): Promise<Map<Task, string>> =>
    new Map((await played(program, tasks, 1)).map(({ task, digest }) => [task, digest]))
  const forwards = await digestsOf([1, 2, 3, 4, 5])
  const backwards = await digestsOf([5, 4, 3, 2, 1])
  for (const seed of [1, 2, 3, 4, 5]) t.equal(backwards.get(seed), forwards.get(seed), `seed ${seed}`)
})

t.test('each planted fault is found', async (t) => {
  for (const planted of plantedFaults) {
    const { found, worlds } = await searchPlanted(planted, 2)
    t.ok(found, `${planted.name}: after ${worlds} worlds, ${found?.broken[0]}`)
  }
})
