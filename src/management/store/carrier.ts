/**
 * Carries out changes that were committed together. Every step can be repeated, also by several processes at once: the
 * rows are inserted into ClickHouse and synced ▸ the configuration bucket is written, while the audit events are
 * published ▸ released claims are deleted ▸ the answers are stored to requests that have an idempotency key.
 */

import { eachOf } from '../../ground/core/concurrency.js'
import { keysAtOnceMax } from '../../ground/core/limits.js'
import { traced } from '../../ground/core/telemetry/tracing.js'
import type { AuditRelay } from './audit-relay.js'
import type { Answers } from './change/answers.js'
import { type Change, versioned } from './change/change.js'
import type { ChangeRows } from './change/change-rows.js'
import { splitRelease } from './change/plan.js'
import type { Claims } from './claims/claims.js'
import type { Projection } from './projection.js'
import type { Repair } from './repair.js'

interface CarrierParts {
  readonly rows: ChangeRows
  readonly projection: Projection
  readonly repair: Repair
  readonly audits: AuditRelay
  readonly claims: Claims
  readonly answers: Answers
}

/** As a trace shows them. */
const steps = {
  insert: { kind: 'client', attributes: { 'db.system.name': 'clickhouse' } },
  project: { kind: 'client', attributes: { 'messaging.system': 'nats' } },
  audit: { kind: 'producer', attributes: { 'messaging.system': 'nats' } },
} as const

export async function carryOut(
  { rows, projection, audits, repair, claims, answers }: CarrierParts,
  accountId: string,
  version: number,
  changes: readonly Change[],
): Promise<void> {
  const last = changes.at(-1)!
  if (last.isRepair) return repair.apply(accountId, version)
  // Only a change that is committed alone replaces rules.
  const replaced = await projection.replacedRules(version, last)
  const each = versioned(version, changes)
  if (replaced !== 'gone')
    await traced('insert', steps.insert, () =>
      Promise.all(each.map((one) => rows.insert(accountId, one.version, one.change, replaced))),
    )
  await Promise.all([
    traced('project', steps.project, () =>
      replaced === 'gone' ? repair.apply(accountId, version) : projection.apply(accountId, version, changes),
    ),
    traced('audit', steps.audit, () => audits.publish(accountId, version, changes)),
  ])
  await eachOf(each, keysAtOnceMax, async ({ version, change }) => {
    for (const release of change.releases) {
      const [id, claim] = splitRelease(release)
      await claims.release(accountId, version, id, claim)
    }
    if (change.answer !== undefined) await answers.keep(change.answer)
  })
}
