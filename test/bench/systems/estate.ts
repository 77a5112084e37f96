/**
 * A large configuration in `weir serve`: 10,000 edges with five policies each, 100,000 rules of one IP policy, which every
 * edge asks, and 1,000 subscriptions.
 */
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { rulesPerIpPolicyMax } from '../../../src/ground/core/limits.js'
import type { Nats } from '../../../src/ground/nats/nats.js'
import { isReady } from '../../harness/pages.js'
import { type RunningWeir, startWeir, until } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'

const clients = 64
const timeoutMs = 10_000
const env = { WEIR_BOOTSTRAP_TOKEN: token, WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' }

interface EstateSize {
  readonly edges: number
  readonly subscriptions: number
}

/** `weir serve` on this data directory, and the milliseconds until it was ready. */
export async function startTimed(dataDir: string): Promise<{ weir: RunningWeir; readyMs: number }> {
  const begunMs = monotonicMs()
  const weir = await startWeir(dataDir, env)
  await until('ready', () => isReady(weir.url))
  return { weir, readyMs: monotonicMs() - begunMs }
}

/** Calls `work` with every number below `count`, for 64 clients at a time. */
async function together(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let begun = 0
  const client = async () => {
    while (begun < count) await work(begun++)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

const nameOf = (edge: number): string => `host-${edge}.example.com`
const closedPort = (port: number, edge: number) => ({
  name: `Closed port ${port}`,
  expressions: [`conn.server_port == ${port} && conn.client_port > ${edge}`],
  actions: [{ type: 'deny' as const }],
})
const policiesOf = (edge: number) => Array.from({ length: 5 }, (_, n) => closedPort(10_000 + n, edge))

/** Ids of the edges, in the order of their numbers. */
export async function createEstate({ api }: RunningWeir, size: EstateSize): Promise<readonly string[]> {
  const policy = await api.ipPolicy.create({})
  const denied = (n: number) => `${224 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.0/24`
  await api.replaceRules(policy.id, [
    { cidr: '0.0.0.0/0', action: 'allow' },
    ...Array.from({ length: rulesPerIpPolicyMax - 1 }, (_, n) => ({
      cidr: denied(n),
      action: 'deny' as const,
    })),
  ])
  const ids: string[] = []
  await together(size.edges, async (n) => {
    const { id } = await api.tcpEdge.create({
      hostports: [`${nameOf(n)}:22`],
      ip_restriction: { ip_policy_ids: [policy.id] },
      policies: { inbound: policiesOf(n) },
    })
    ids[n] = id
  })
  await together(size.subscriptions, (n) =>
    api.eventSubscription.create({
      sources: [{ type: 'tcp_connection_closed.v0', filter: `conn.server_name == '${nameOf(n)}'` }],
      destination_ids: [],
    }),
  )
  return ids
}

/** The decision about a connection to this edge, from the service of decisions: `allow` or `deny`. */
async function decisionOf(nats: Nats, edge: number): Promise<string> {
  const conn = {
    client_ip: '203.0.113.7',
    client_port: 50_000,
    server_ip: '192.0.2.10',
    server_name: nameOf(edge),
    server_port: 22,
    start_ts: '2026-01-01T00:00:00.000Z',
  }
  const request = JSON.stringify({ type: 'tcp_connection', conn })
  const answer = await nats.request('weir.decide', request, timeoutMs)
  return (JSON.parse(Buffer.from(answer).toString()) as { decision: string }).decision
}

/** Closes port 22 of an edge; the milliseconds from the request to the first decision that denies. */
export async function msUntilSeen({ api }: RunningWeir, nats: Nats, edge: { n: number; id: string }) {
  const before = await decisionOf(nats, edge.n)
  if (before !== 'allow') throw new Error(`Before the change, the decision is ${before}.`)
  const begunMs = monotonicMs()
  await api.tcpEdge.update(edge.id, { policies: { inbound: [closedPort(22, edge.n)] } })
  while ((await decisionOf(nats, edge.n)) !== 'deny')
    if (monotonicMs() - begunMs > 60_000) throw new Error('The change was not seen within a minute.')
  return monotonicMs() - begunMs
}
