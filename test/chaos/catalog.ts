/** The scenarios, in the order in which they run. */
import type { Scenario } from './scenario.js'
import { badMessages, lethalRecords } from './scenarios/bad-records.js'
import { clusterFaults, streamForgotten } from './scenarios/cluster.js'
import { destinationScenarios } from './scenarios/destinations.js'
import { killsAtPoints, killsAtRandom } from './scenarios/kills.js'
import { flappingConfiguration, partitionsChanged, stopped } from './scenarios/operations.js'
import { storePutBack } from './scenarios/power.js'
import { quiet } from './scenarios/quiet.js'
import { random } from './scenarios/random.js'
import { partlyRefused, poisonEvents } from './scenarios/records.js'
import { serviceRefuses } from './scenarios/refusals.js'
import { allKilled, apiKilled, halfOpen, natsFrozen, natsKilled } from './scenarios/servers.js'
import { clickhouseAway } from './scenarios/store.js'

const scenarios: readonly Scenario[] = [
  quiet, //
  killsAtPoints,
  killsAtRandom,
  apiKilled,
  allKilled,
  natsKilled,
  clusterFaults,
  streamForgotten,
  storePutBack,
  natsFrozen,
  halfOpen,
  ...destinationScenarios,
  partlyRefused,
  poisonEvents,
  serviceRefuses,
  badMessages,
  lethalRecords,
  stopped,
  clickhouseAway,
  flappingConfiguration,
  partitionsChanged,
  random,
]

/** Every run of every scenario, in order; the name of one of several has its number of partitions. */
export const allRuns = () =>
  scenarios.flatMap((scenario) => {
    const { name, partitions: counts = [1] } = scenario
    return counts.map((partitions) => ({
      name: counts.length === 1 ? name : `${name}@${partitions}`,
      scenario,
      partitions,
    }))
  })
