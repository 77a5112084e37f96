/** Rules that end, lists that rules name, and drafts of both. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chapter } from '../clause.js'
import { client, decides, deny, guarded } from '../questions.js'

/** Long enough to ask about it before. */
const lastsMs = 4_000

export const rules: Chapter = {
  title: 'Rules that change',
  clauses: [
    {
      number: 709,
      page: 'policies.md#rules-that-expire',
      says: 'A rule has no effect after its end, within 2 s, and an end in the past is refused.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, by } = await guarded(visit)
        const endsAt = Date.now() + lastsMs * Math.min(visit.target.patience ?? 1, 3)
        const rule = { ip_policy_id: policy.id, cidr: '203.0.113.0/24', action: 'allow' }
        await visit.make('/ip_policy_rules', { ...rule, expires_at: new Date(endsAt).toISOString() })
        await decides(visit, by(client), 'allow')
        await sleep(Math.max(0, endsAt - Date.now()))
        await decides(visit, by(client), 'block')
        const past = await visit.ask.post('/ip_policy_rules', {
          ...rule,
          cidr: client,
          expires_at: '2020-01-01T00:00:00Z',
        })
        past.refused(400, 'ERR_INVALID_REQUEST', '"expires_at"')
      },
    },
    {
      number: 710,
      page: 'policies.md#ip-lists',
      says: 'A rule may name a list: it is about every address of it, and new entries count within 2 s.',
      needs: ['writes'],
      check: async (visit) => {
        const list = await visit.make('/ip_lists', { name: visit.recordId('list') })
        const entries = (cidr: string) =>
          visit.ask.put(`/ip_lists/${list.id}/entries`, { entries: [{ cidr, comment: 'of a run' }] })
        ;(await entries('203.0.113.0/24')).is(200)
        const { policy, by } = await guarded(visit)
        const rule = await visit.make('/ip_policy_rules', {
          ip_policy_id: policy.id,
          list_id: list.id,
          action: 'allow',
        })
        await decides(visit, by(client), 'allow')
        ;(await visit.ask.delete(`/ip_lists/${list.id}`)).refused(400, 'ERR_CONFLICT', rule.id)
        ;(await entries('198.51.100.0/24')).is(200)
        await decides(visit, by(client), 'block')
      },
    },
    {
      number: 713,
      page: 'policies.md#challengers',
      says: 'The draft of a challenger is checked as if it were saved; `validate_only` only checks.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, edge } = await guarded(visit, 'allow 203.0.113.0/24')
        const rehearse = (expression: string) =>
          visit.ask.post('/challengers?validate_only=true', {
            draft: {
              edges: [
                { id: edge.id, policies: { inbound: [{ expressions: [expression], actions: [deny] }] } },
              ],
              ip_policies: [{ id: policy.id, add: [{ cidr: '198.51.100.0/24', action: 'allow' }] }],
            },
          })
        const good = await rehearse('conn.client_port == 1')
        good.must(good.status === 201 || good.status === 400, 'status 201, or 400 while another one runs')
        const wrong = await rehearse('conn.client_prt == 1')
        wrong.must(
          wrong.status === 400 && wrong.text.includes('draft.edges[0].policies.inbound[0].expressions[0]'),
          'the place of the fault',
        )
      },
    },
  ],
}
