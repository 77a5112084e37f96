/** Plays worlds of a build with a planted fault until one breaks a promise. */
import { buildSimulation } from './build.js'
import type { Planted } from './planted.js'
import { Pool } from './pool.js'
import type { Played } from './worker.js'

/** A fault that is not found in so many is not found. */
const seedsMax = 2_000

function* seedsOf({ seed }: Planted): Generator<number> {
  yield seed
  for (let next = 1; next <= seedsMax; next++) yield next
}

interface Searched {
  /** The world that found it, if one did. */
  readonly found: Played | undefined
  readonly worlds: number
}

export async function searchPlanted(planted: Planted, processes: number): Promise<Searched> {
  const pool = new Pool(await buildSimulation(planted), processes)
  let found: Played | undefined
  let worlds = 0
  const take = (played: Played): void => {
    worlds += 1
    if (played.broken.length > 0) found ??= played
  }
  try {
    await pool.play(seedsOf(planted), take, () => found !== undefined)
  } finally {
    pool.close()
  }
  return { found, worlds }
}
