/** Makes a plan that broke a promise smaller: fewer faults, writes and records, as long as a promise is still broken. */
import type { Action, Plan } from './plan.js'
import type { Pool } from './pool.js'
import type { Played } from './worker.js'

const roundsMax = 12

/** The smallest plan that was found, and what came of it. */
export async function shrunk(pool: Pool, first: Played, plan: Plan): Promise<{ plan: Plan; played: Played }> {
  let smallest = { plan, played: first }
  for (let round = 0; round < roundsMax; round++) {
    const found = await smaller(pool, smallest.plan)
    if (found === undefined) break
    smallest = found
  }
  return smallest
}

/** The first of the smaller plans that breaks a promise. */
async function smaller(pool: Pool, plan: Plan): Promise<{ plan: Plan; played: Played } | undefined> {
  let found: { plan: Plan; played: Played } | undefined
  const take = (played: Played): void => {
    if (played.broken.length > 0) found ??= { plan: played.task as Plan, played }
  }
  await pool.play(candidates(plan), take, () => found !== undefined)
  return found
}

function* candidates(plan: Plan): Generator<Plan> {
  const { actions } = plan
  for (let size = Math.ceil(actions.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from < actions.length; from += size)
      yield { ...plan, actions: [...actions.slice(0, from), ...actions.slice(from + size)] }
  for (const [at, action] of actions.entries())
    if (action.does === 'publish' && action.records.length > 1)
      for (const record of action.records) {
        const fewer: Action = { ...action, records: [record] }
        yield { ...plan, actions: actions.with(at, fewer) }
      }
}
