import { join, relative } from 'node:path'
import { compiled, run } from '../harness/processes.js'
import type { Serve } from '../harness/weir.js'

/** `weir serve` of another checkout, which is built. */
export const serveOf =
  (checkout: string): Serve =>
  (env) =>
    run(relative(compiled(''), join(checkout, 'dist/programs/main.js')), ['serve'], env)
