/** Questions about decisions, and what checks of several subjects ask them about. */
import type { Answer, Json } from './answer.js'
import type { Visit } from './visit.js'

/** Of a network for documentation: no client comes from there. */
export const client = '203.0.113.7'

export const tcp = (server_name: string, conn: object = {}): Json => ({
  type: 'tcp_connection',
  conn: { client_ip: client, client_port: 4_242, server_name, server_port: 22, ...conn },
})

export const http = (server_name: string, raw: string, request: object = {}): Json => ({
  type: 'http_request',
  conn: { client_ip: client, server_name, server_port: 443 },
  http: { request: { method: 'GET', url: { raw }, ...request } },
})

export const asked = async ({ ask }: Visit, question: Json, query = ''): Promise<Answer> =>
  (await ask.post(`/decide${query}`, question)).is(200)

/** A change takes effect within 2 s, also in a process of the API that did not make it. */
export const decides = (visit: Visit, question: Json, wanted: string, query = ''): Promise<Answer> =>
  visit.within(2, `the decision about ${JSON.stringify(question)} is ${wanted}`, async () => {
    const answer = await asked(visit, question, query)
    return answer.body.decision === wanted ? answer : undefined
  })

export const deny = { type: 'deny' }
export const log = (Metadata: Readonly<Record<string, string>>) => ({ type: 'log', config: { Metadata } })

/** Rules from texts such as `allow 203.0.113.0/24`. */
export const rulesOf = (texts: readonly string[]): Json[] =>
  texts.map((text) => {
    const [action, cidr] = text.split(' ')
    return { action, cidr }
  })

/** An IP policy with these rules. */
export async function policyOf(visit: Visit, ...rules: readonly string[]): Promise<Json> {
  const policy = await visit.make('/ip_policies')
  ;(await visit.ask.put(`/ip_policies/${policy.id}/rules`, { rules: rulesOf(rules) })).is(200)
  return policy
}

/** An edge that only these rules guard, and a question about it by this address. */
export async function guarded(visit: Visit, ...rules: readonly string[]) {
  const policy = await policyOf(visit, ...rules)
  const host = visit.host(`guarded-${visit.recordId('edge')}`.toLowerCase())
  const edge = await visit.make('/edges/tcp', {
    hostports: [`${host}:22`],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  return { policy, edge, host, by: (client_ip: string) => tcp(host, { client_ip }) }
}
