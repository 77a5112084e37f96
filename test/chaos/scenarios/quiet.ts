/** No fault: what every other scenario is compared with. */
import type { Scenario } from '../scenario.js'

export const quiet: Scenario = {
  name: 'quiet',
  fault: 'none',
  passesWhen: 'nothing is lost, invented, altered or repeated',
  partitions: [1, 4],
  run: async (run) => {
    const traffic = await run.open()
    return traffic.judge({ repeatsMax: () => 0, isLogged: true })
  },
}
