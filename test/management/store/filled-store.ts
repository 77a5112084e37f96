/** A store with resources of many kinds. */
import type { Test } from 'tap'
import { all, type Caller, statusOf } from '../../harness/caller.js'
import { type StoreApi, StoreFixture } from '../../harness/store-fixture.js'

export async function openFixture(t: Test, { isCluster = false } = {}): Promise<StoreFixture> {
  const fixture = new StoreFixture({ isCluster })
  await fixture.open()
  t.teardown(() => fixture.close())
  return fixture
}

/** Makes another account by a command in the API of this name; resolves with the token of its key. */
export async function newAccount(fixture: StoreFixture, host = 'one'): Promise<string> {
  const made = await fixture.command(host, { command: 'account create', name: 'another' })
  const [, token = ''] = /(weir_\S+)/.exec(made) ?? []
  return token
}

/** Resources of every sort: children, rules in several chunks, claims, secrets, a deletion. */
export async function fill(client: Caller): Promise<void> {
  const policy = await client.ipPolicy.create({ description: 'kept' })
  const rules = Array.from({ length: 69 }, (_, at) => ({
    cidr: `203.0.113.${at}/32`,
    action: 'allow' as const,
  }))
  await client.replaceRules(policy.id, rules)
  await client.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '203.0.113.69/32', action: 'allow' })
  const gone = await client.ipPolicy.create({ description: 'gone' })
  await client.ipPolicyRule.create({ ip_policy_id: gone.id, cidr: '198.51.100.0/24', action: 'deny' })
  await client.ipPolicy.delete(gone.id)
  await client.tcpEdge.create({ hostports: ['a.example.com:22'] })
  const edge = await client.httpsEdge.create({ hostports: ['b.example.com:443'] })
  await client.httpsEdgeRoute.under(edge.id).create({ match_type: 'path_prefix', match: '/a' })
  await client.eventDestination.create({
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:eu-central-1:123456789012:stream/events',
        auth: { creds: { aws_access_key_id: 'AKIAAAAAAAAAAAAAAAAA', aws_secret_access_key: 'secret' } },
      },
    },
  })
}

/** Every list of the API, without the process's own address. */
export async function everything({ client, url }: StoreApi): Promise<string> {
  const { ipPolicy, ipPolicyRule, tcpEdge, httpsEdge, eventDestination, apiKey } = client
  const lists = [ipPolicy, ipPolicyRule, tcpEdge, httpsEdge, eventDestination, apiKey]
  const entries = await Promise.all(lists.map((each) => all<object>(each.list())))
  // Not when the keys were used: that is no configuration.
  const text = JSON.stringify(entries, (name, value) => (name.startsWith('last_used_') ? undefined : value))
  return text.replaceAll(url, '')
}

export const takesWrites = async ({ client }: StoreApi): Promise<boolean> =>
  (await statusOf(client.ipPolicy.create({ description: 'written' }))) === 'ok'
