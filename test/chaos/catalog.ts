/** The scenarios, in the order in which they run. */
import type { Scenario } from './scenario.js'
import { destinationScenarios } from './scenarios/destinations.js'
import { killsAtPoints, killsAtRandom } from './scenarios/kills.js'
import { quiet } from './scenarios/quiet.js'
import { partlyRefused, poisonEvents } from './scenarios/records.js'
import { allKilled, apiKilled, halfOpen, natsFrozen, natsKilled } from './scenarios/servers.js'

export const scenarios: readonly Scenario[] = [
  quiet, //
  killsAtPoints,
  killsAtRandom,
  apiKilled,
  allKilled,
  natsKilled,
  natsFrozen,
  halfOpen,
  ...destinationScenarios,
  partlyRefused,
  poisonEvents,
]
