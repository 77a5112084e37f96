/**
 * The denials that policy tests of a draft expect. A client that loses access is expected to if a test that passes with the
 * draft names its address and its edge, expects that it is not let in, and is refused there by the same rule, policy or
 * restriction: a test about one path says nothing about another one.
 */

import type { GeoLookup } from '../../delivery/record/geo.js'
import type { DecidedBy } from '../../words/event/define.js'
import { decideRecord } from '../evaluate/decide.js'
import type { PolicySet } from '../evaluate/policy-set.js'
import { questionOf, runPolicyTest } from '../evaluate/policy-test.js'
import type { FileTest } from '../evaluate/portable/policy-file.js'

/** A client at an edge, and what refuses it. */
export const denialKey = (
  clientIp: string,
  edgeId: string | undefined,
  { type, id, name, ruleId }: DecidedBy,
): string => JSON.stringify([clientIp, edgeId, type, id, name, ruleId])

interface Compared {
  readonly accountId: string
  readonly before: PolicySet
  readonly after: PolicySet
  readonly geo: GeoLookup
}

export const expectedDenials = (tests: readonly FileTest[], compared: Compared): ReadonlySet<string> =>
  new Set(tests.flatMap((test) => denialsOf(test, compared)))

function denialsOf({ given, expect }: FileTest, { accountId, before, after, geo }: Compared): string[] {
  const { record, geoOf } = questionOf(given)
  if (record === undefined || expect.decision === 'allow') return []
  if (!runPolicyTest(after, geo, accountId, given, expect).passed) return []
  const decided = decideRecord(after, geoOf(geo), { record, explain: false }, accountId)
  if (!decided.ok) return []
  const { decidedBy } = decided.value.judgement
  // Records are counted where they are served now.
  const found = before.findEdgeOf(accountId, record)
  const edgeId = (found.ok ? found.value.edgeId : undefined) ?? decided.value.judgement.endpoint.edgeId
  return [denialKey(record.conn.client_ip, edgeId, decidedBy)]
}
