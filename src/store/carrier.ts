/**
 * Carries out a committed change. Every step can be repeated, also by several processes at once: the rows are inserted
 * into ClickHouse and synced ▸ the configuration bucket is written, while the audit events are published ▸ released
 * claims are deleted ▸ the answer is stored, if its request has an idempotency key.
 */
import type { Answers } from './answers.js'
import type { AuditRelay } from './audit-relay.js'
import type { Change } from './change.js'
import type { ChangeRows } from './change-rows.js'
import type { Claims } from './claims.js'
import { splitRelease } from './plan.js'
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

export async function carryOut(
  { rows, projection, audits, repair, claims, answers }: CarrierParts,
  accountId: string,
  version: number,
  change: Change,
): Promise<void> {
  if (change.isRepair) return repair.apply(accountId, version)
  const replaced = await projection.replacedRules(version, change)
  if (replaced !== 'gone') await rows.insert(accountId, version, change, replaced)
  await Promise.all([
    replaced === 'gone' ? repair.apply(accountId, version) : projection.apply(accountId, version, change),
    audits.publish(accountId, version, change),
  ])
  for (const release of change.releases) {
    const [id, claim] = splitRelease(release)
    await claims.release(accountId, version, id, claim)
  }
  if (change.answer !== undefined) await answers.keep(change.answer)
}
