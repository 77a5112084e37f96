/** Some scenarios in small: `npm run chaos` runs them, and the others, at full size. */
import t from 'tap'
import { withClosers } from '../bench/systems/system.js'
import { allRuns } from './catalog.js'
import { Run } from './scenario.js'

/** The seed is the time: whoever wants to see a failure again gives it to `npm run chaos -- --seed`. */
const seed = Math.floor(Date.now() / 1_000) % 1_000_000
const small = [
  { name: 'kills-points@4', records: 5_000, share: 0.12 },
  { name: 'partly-refused', records: 5_000, share: 0.05 },
]

t.setTimeout(900_000)

for (const { name, records, share } of small) {
  const { scenario, partitions } = allRuns().find((run) => run.name === name)!
  t.test(`${name}, seed ${seed}`, async (t) => {
    const size = { seed, records, partitions, share }
    const { figures, broken } = await withClosers((closers) =>
      scenario.run(new Run(name, size, closers, (line) => t.comment(line))),
    )
    t.strictSame(broken, [], JSON.stringify(figures))
  })
}
