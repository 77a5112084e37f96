/** The rules of an IP policy as each part of a store has them. */
import type { Test } from 'tap'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import type { StoreFixture } from '../../harness/store-fixture.js'

export interface Rule {
  readonly id: string
  readonly cidr: string | null
  readonly action: 'allow' | 'deny'
  /** As the API and events show them, not ClickHouse. */
  readonly ip_policy?: { readonly id: string }
}

export const cidrOf = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}/32`

export const rulesWith = (action: Rule['action'], count: number) =>
  Array.from({ length: count }, (_, at) => ({ cidr: cidrOf(at), action }))

const textOf = ({ id, cidr, action }: Rule): string => `${id} ${cidr} ${action}`

/** Comparable, whatever their order. */
export const ruleTexts = (rules: readonly Rule[]): string[] => rules.map(textOf).sort()

/** Those in ClickHouse. */
export async function storedRules(t: Test, fixture: StoreFixture, policyId: string): Promise<string[]> {
  const clickhouse = await openClickhouse({ url: fixture.front.url, directory: '' })
  t.teardown(() => clickhouse.close())
  const sql = `SELECT id, cidr, action FROM ip_policy_rules WHERE ip_policy_id = '${policyId}'`
  return ruleTexts(await clickhouse.rows<Rule>(sql))
}

/** Those that follow from the audit events in their order; fails on an impossible event. */
export async function rulesByEvents(t: Test, fixture: StoreFixture, policyId: string): Promise<string[]> {
  const events = await fixture.audited()
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no event twice')
  const rules = new Map<string, string>()
  const impossible: string[] = []
  for (const { type, object } of events as unknown as { type: string; object: Rule }[]) {
    const [, verb] = /^ip_policy_rule_(\w+)\.v0$/.exec(type) ?? []
    if (verb === undefined || object.ip_policy?.id !== policyId) continue
    if (rules.has(object.id) !== (verb !== 'created')) impossible.push(`${type} ${object.id}`)
    if (verb === 'deleted') rules.delete(object.id)
    else rules.set(object.id, textOf(object))
  }
  t.strictSame(impossible, [], 'each event fits the events before it')
  return [...rules.values()].sort()
}
