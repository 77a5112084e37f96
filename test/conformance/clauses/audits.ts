/** Audit events: one per change, in order, with the resource as the API shows it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Broken, type Json, shown } from '../answer.js'
import type { Chapter } from '../clause.js'
import { destinationAt, subscribed } from '../traffic.js'
import type { Visit } from '../visit.js'

const objects = ['ip_policy', 'ip_policy_rule', 'tcp_edge', 'api_key', 'event_destination']
const verbs = ['created', 'updated', 'deleted']

/** A destination that gets the audit events of some kinds; those of other clients are left aside by their ids. */
async function openAudit(visit: Visit): Promise<{ path: string }> {
  const { id, path } = await destinationAt(visit, 'audited')
  const sources = objects.flatMap((object) => verbs.map((verb) => ({ type: `${object}_${verb}.v0` })))
  await subscribed(visit, id, ...sources)
  const collector = await visit.collector
  await visit.within(20, 'an audit event of a new policy', async () => {
    await visit.make('/ip_policies')
    await sleep(1_000)
    return collector.events(path).length > 0 ? true : undefined
  })
  return { path }
}

/** The events about a resource, once there are so many; the same event may come twice. */
async function auditsOf(visit: Visit, id: string, count: number): Promise<Json[]> {
  const { path } = await visit.once(openAudit)
  const collector = await visit.collector
  return visit.within(20, `${count} audit events of ${id}`, async () => {
    const about = collector.events(path).filter(({ object }) => object.id === id)
    const once = [...new Map(about.map((event) => [event.event_id, event])).values()]
    return once.length >= count ? once : undefined
  })
}

function same(event: Json, found: unknown, wanted: unknown, what: string): void {
  if (!isDeepStrictEqual(found, wanted))
    throw new Broken(
      'the audit events that came',
      `${what} is ${shown(wanted)}, not ${shown(found)}`,
      shown(event),
    )
}

const typesOf = (events: readonly Json[]): string[] => events.map(({ event_type }) => event_type)

export const audits: Chapter = {
  title: 'Audit events',
  clauses: [
    {
      number: 1401,
      page: 'events.md#audit-events',
      rows: ['- **Order.**'],
      says: 'Every create, update and delete emits exactly one event, in the order of the changes; a PATCH that changes nothing none.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        await visit.once(openAudit)
        const { id, description } = await visit.make('/ip_policies', { metadata: 'first' })
        const path = `/ip_policies/${id}`
        ;(await visit.ask.patch(path, { metadata: 'second' })).is(200)
        ;(await visit.ask.patch(path, { metadata: 'second', description })).is(200)
        ;(await visit.ask.patch(path, { metadata: 'third' })).is(200)
        ;(await visit.ask.delete(path)).is(204)
        const events = await auditsOf(visit, id, 4)
        const wanted = [
          'ip_policy_created.v0',
          'ip_policy_updated.v0',
          'ip_policy_updated.v0',
          'ip_policy_deleted.v0',
        ]
        same(events, typesOf(events), wanted, 'the types')
        same(
          events,
          events.map(({ object }) => object.metadata),
          ['first', 'second', 'third', 'third'],
          'metadata of each',
        )
      },
    },
    {
      number: 1402,
      page: 'events.md#envelope',
      says: 'The `object` is the resource as the API shows it, and `principal` names account, source and key.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        await visit.once(openAudit)
        const made = await visit.make('/ip_policies', { metadata: 'm' })
        const [event] = await auditsOf(visit, made.id, 1)
        same(event, event.object, made, 'object')
        const members = ['account_id', 'event_id', 'event_timestamp', 'event_type', 'object', 'principal']
        same(event, Object.keys(event).toSorted(), members, 'the list of members')
        const { id, source, credential } = event.principal
        same(event, [id, source], [event.account_id, 'API'], 'id and source of the principal')
        same(
          event,
          /^ak_/.test(credential?.id) && credential.uri.endsWith(`/api_keys/${credential.id}`),
          true,
          'the key with its uri',
        )
      },
    },
    {
      number: 1403,
      page: 'events.md#audit-events',
      says: 'A change of a module emits the event of its edge, with the module in it.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        await visit.once(openAudit)
        const { id } = await visit.make('/edges/tcp')
        const module = { inbound: [{ name: 'x', actions: [{ type: 'deny' }] }] }
        ;(await visit.ask.put(`/edges/tcp/${id}/policies`, module)).is(200)
        const events = await auditsOf(visit, id, 2)
        same(events, typesOf(events), ['tcp_edge_created.v0', 'tcp_edge_updated.v0'], 'the types')
        same(events, events[1].object.policies.inbound[0].name, 'x', 'the policy')
      },
    },
    {
      number: 1404,
      page: 'events.md#audit-events',
      says: 'The rules of a deleted IP policy are deleted with it, each with its own event.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        await visit.once(openAudit)
        const policy = await visit.make('/ip_policies')
        const rule = await visit.make('/ip_policy_rules', {
          ip_policy_id: policy.id,
          cidr: '203.0.113.0/24',
          action: 'allow',
        })
        ;(await visit.ask.delete(`/ip_policies/${policy.id}`)).is(204)
        const events = await auditsOf(visit, rule.id, 2)
        same(events, typesOf(events), ['ip_policy_rule_created.v0', 'ip_policy_rule_deleted.v0'], 'the types')
        same(events, events[1].object.ip_policy.id, policy.id, 'the policy of the rule')
      },
    },
    {
      number: 1405,
      page: 'events.md#envelope',
      says: 'Secrets and tokens are null in every event, in that of their creation, too.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        await visit.once(openAudit)
        const key = await visit.makeKey('read')
        const http = { url: `https://${visit.host('logs')}/in`, auth: { bearer: { token: 'hush-hush' } } }
        const destination = await visit.make('/event_destinations', { target: { http } })
        const [created] = await auditsOf(visit, key.id, 1)
        same(created, created.object.token, null, 'the token of the key')
        const [event] = await auditsOf(visit, destination.id, 1)
        same(event, event.object.target.http.auth.bearer.token, null, 'the token of the destination')
        same(event, JSON.stringify(event).includes('hush-hush'), false, 'the secret in the event')
      },
    },
  ],
}
