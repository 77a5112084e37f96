/** A decision as events show it: nothing decided, nothing known about the client. */

import type { TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import type { ShownDecision } from '../../../src/words/event/define.js'

export const shownDecision = (
  record: TrafficRecord,
  changes: Partial<Omit<ShownDecision, 'record'>> = {},
): ShownDecision => ({
  record,
  decision: 'allow',
  decidedBy: { type: 'none', id: null, name: null, ipPolicyId: null, ruleId: null, cidr: null },
  shadow: null,
  ipPolicy: null,
  edgeId: undefined,
  routeId: undefined,
  geo: {},
  warnings: [],
  revision: 1,
  ...changes,
})
