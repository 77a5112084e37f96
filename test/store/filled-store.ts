/** A store with resources of many kinds. */
import type { Test } from 'tap'
import type { RawClient } from '../harness/raw-client.js'
import { type StoreApi, StoreFixture } from '../harness/store-fixture.js'

export async function openFixture(t: Test): Promise<StoreFixture> {
  const fixture = new StoreFixture()
  await fixture.open()
  t.teardown(() => fixture.close())
  return fixture
}

/** Resources of every sort: children, rules in several chunks, claims, secrets, a deletion. */
export async function fill(client: RawClient): Promise<void> {
  const policy = await client.post('/ip_policies', { description: 'kept' })
  for (let at = 0; at < 70; at += 1) {
    const cidr = `203.0.113.${at}/32`
    await client.post('/ip_policy_rules', { ip_policy_id: policy.id, cidr, action: 'allow' })
  }
  const gone = await client.post('/ip_policies', { description: 'gone' })
  const rule = { ip_policy_id: gone.id, cidr: '198.51.100.0/24', action: 'deny' }
  await client.post('/ip_policy_rules', rule)
  await client.delete(`/ip_policies/${gone.id}`)
  await client.post('/edges/tcp', { hostports: ['a.example.com:22'] })
  const edge = await client.post('/edges/https', { hostports: ['b.example.com:443'] })
  await client.post(`/edges/https/${edge.id}/routes`, { match_type: 'path_prefix', match: '/a' })
  await client.post('/event_destinations', {
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:eu-central-1:123456789012:stream/events',
        auth: { creds: { aws_access_key_id: 'AKIAAAAAAAAAAAAAAAAA', aws_secret_access_key: 'secret' } },
      },
    },
  })
}

const lists = [
  '/ip_policies',
  '/ip_policy_rules',
  '/edges/tcp',
  '/edges/https',
  '/event_destinations',
  '/api_keys',
]

/** Every list of the API, without the process's own address. */
export async function everything({ client }: StoreApi): Promise<string> {
  const answers = await Promise.all(lists.map((path) => client.get(path)))
  return JSON.stringify(answers).replaceAll(client.base, '')
}

export const takesWrites = async ({ client }: StoreApi): Promise<boolean> =>
  (await client.send('POST', '/ip_policies', { body: { description: 'written' } })).status === 201
