/** The scenarios, in the order in which they run. */
import type { Scenario } from './scenario.js'
import { quiet } from './scenarios/quiet.js'

export const scenarios: readonly Scenario[] = [
  quiet, //
]
