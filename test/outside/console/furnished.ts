/** An account that has something of everything, with hostile texts wherever an outsider or a colleague can write. */
import { randomBytes } from 'node:crypto'
import type { Client } from '../../../src/words/client/client.js'
import { certificateBody, fixturePem } from '../../harness/certificates.js'
import { until } from '../../harness/weir.js'
import { stream, target } from '../../integration/deployment.js'
import { openService } from '../../integration/service.js'
import { hostile, hostileTexts, likeVNode } from './hostile-texts.js'
import { type Account, newAccount, untilAllInUse } from './visitor.js'

export interface Furnished extends Account {
  readonly edgeId: string
  readonly httpsEdgeId: string
  readonly policyId: string
  readonly ruleId: string
  readonly destinationId: string
  readonly subscriptionId: string
  readonly certificateId: string
  readonly keyId: string
  readonly challengerId: string
  readonly listId: string
  readonly bouncerId: string
  readonly recordId: string
  /** The endpoint of the TCP edge. */
  readonly hostport: string
  /** The name of the working stream in the emulated AWS. */
  readonly streamName: string
}

/** Whom one rule blocks, which allows its neighbours. */
export const blockedClient = '203.0.113.97'

/** Events that hold this are refused by their destination. */
const refusedMark = 'refuse-this-event'

let furnished: Promise<Furnished> | undefined

/** One for all files of the process, because it takes seconds. Who changes it, changes what is their own. */
export function furnishedAccount(): Promise<Furnished> {
  furnished ??= furnish()
  return furnished
}

async function furnish(): Promise<Furnished> {
  const account = await newAccount(`furnished ${hostile(0)}`)
  const { api } = account
  const run = randomBytes(4).toString('hex')
  const policy = await addPolicy(api)
  const hostport = `ssh-${run}.example.com:22`
  const edge = await addEdge(api, hostport, policy.id)
  const https = await addHttpsEdge(api, `www-${run}.example.com:443`)
  const challengerId = await addChallenger(api, edge.id)
  const sent = await addDestinations(api, `console-${run}`)
  const certificateId = await addCertificates(api, run)
  const lists = await addLists(api, policy.id)
  const key = await api.apiKey.create({
    description: hostile(3),
    metadata: hostile(10),
    rights: ['read'],
  })
  // It asks about an endpoint that no edge serves, so that it affects no other test.
  await api.policyTest.create({
    description: `guarded ${hostile(6)}`,
    given: {
      type: 'tcp_connection',
      conn: { client_ip: '192.0.2.1', server_name: `unserved-${run}.example.com`, server_port: 22 },
      note: hostile(7),
      like: likeVNode,
    },
    expect: { decision: 'allow' },
  })
  await api.tunnelCredential.create({ description: hostile(5), acl: ['bind:*.example.com'] })
  await sendTraffic(account, run, hostport, https.hostport)
  return {
    ...account,
    ...sent,
    challengerId,
    ...lists,
    edgeId: edge.id,
    httpsEdgeId: https.id,
    policyId: policy.id,
    ruleId: policy.ruleId,
    certificateId,
    keyId: key.id,
    recordId: `${run}-http-0`,
    hostport,
  }
}

async function addPolicy(api: Client): Promise<{ id: string; ruleId: string }> {
  const { id } = await api.ipPolicy.create({
    description: `office ${hostile(1)}`,
    metadata: JSON.stringify(likeVNode),
  })
  await api.replaceRules(id, [
    {
      cidr: `${blockedClient}/32`,
      action: 'deny',
      description: `the scanner ${hostile(2)}`,
      metadata: hostile(10),
    },
    { cidr: '203.0.113.0/24', action: 'allow', description: hostile(5) },
    { cidr: '10.0.0.0/8', action: 'allow' },
  ])
  await api.ipRestriction.create({
    type: 'api',
    ip_policy_ids: [id],
    enforced: false,
    description: hostile(4),
  })
  for await (const rule of api.rules(id)) if (rule.action === 'deny') return { id, ruleId: rule.id }
  throw new Error('The policy has lost its rule.')
}

/** Before the traffic, about which its draft decides differently. */
async function addChallenger(api: Client, edgeId: string): Promise<string> {
  const inbound = [{ name: hostile(3), expressions: ['true'], actions: [{ type: 'deny' as const }] }]
  const { id } = await api.challenger.create({
    description: `none of them ${hostile(5)}`,
    metadata: hostile(10),
    draft: { edges: [{ id: edgeId, policies: { inbound } }] },
  })
  await untilAllInUse()
  return id
}

/** A list by hand that a rule is about, one whose source can't be read, and a bouncer. */
async function addLists(api: Client, policyId: string): Promise<Pick<Furnished, 'listId' | 'bouncerId'>> {
  const { id: listId } = await api.ipList.create({
    name: 'guests',
    category: 'people.known',
    description: hostile(2),
    metadata: hostile(10),
  })
  await api.listEntries.replace(
    listId,
    hostileTexts.map((comment, index) => ({ cidr: `192.0.2.${index}`, comment })),
  )
  await api.ipPolicyRule.create({
    ip_policy_id: policyId,
    list_id: listId,
    action: 'deny',
    description: hostile(1),
  })
  await api.ipList.create({
    name: 'fed',
    description: hostile(9),
    source: { file: 'missing.txt', format: 'lines' },
  })
  const { id: bouncerId } = await api.bouncer.create({
    description: `firewall ${hostile(6)}`,
    metadata: hostile(10),
    ip_policy_ids: [policyId],
    ip_list_ids: [listId],
  })
  return { listId, bouncerId }
}

const addEdge = (api: Client, hostport: string, policyId: string) =>
  api.tcpEdge.create({
    hostports: [hostport],
    description: hostile(0),
    metadata: JSON.stringify(likeVNode),
    ip_restriction: { ip_policy_ids: [policyId] },
    policies: {
      inbound: [
        {
          name: `even ports ${hostile(6)}`,
          expressions: ['conn.client_port % 2 == 0'],
          actions: [{ type: 'log', config: { Metadata: { ...likeVNode, note: hostile(7) } } }],
        },
        { name: hostile(8), expressions: ['conn.client_port == 4711'], actions: [{ type: 'deny' }] },
      ],
    },
  })

async function addHttpsEdge(api: Client, hostport: string): Promise<{ id: string; hostport: string }> {
  const { id } = await api.httpsEdge.create({
    hostports: [hostport],
    description: hostile(9),
    policies: {
      inbound: [
        {
          name: `no result ${hostile(4)}`,
          expressions: ['double(http.request.method) > 1'],
          actions: [{ type: 'deny' }],
        },
      ],
    },
  })
  await api.httpsEdgeRoute
    .under(id)
    .create({ match_type: 'path_prefix', match: '/', description: hostile(1) })
  return { id, hostport }
}

async function addDestinations(
  api: Client,
  name: string,
): Promise<Pick<Furnished, 'destinationId' | 'subscriptionId' | 'streamName'>> {
  const { emulator } = await openService()
  const described = { description: `events ${hostile(2)}`, metadata: hostile(10) }
  const add = async (streamName: string, more: object = {}) =>
    (await api.eventDestination.create({ ...target(await stream(emulator, streamName), emulator), ...more }))
      .id
  const [destinationId, refusing] = [await add(name, described), await add(`${name}-refusing`)]
  await emulator.client.addFault({
    effect: { type: 'fail_records', code: 'ValidationException', containing: refusedMark },
    resource: `${name}-refusing`,
  })
  const subscription = await api.eventSubscription.create({
    description: hostile(4),
    metadata: JSON.stringify(likeVNode),
    sources: [
      { type: 'tcp_connection_closed.v0' },
      { type: 'http_request_complete.v0', filter: 'true' },
      { type: 'log.v0' },
    ],
    destination_ids: [destinationId, refusing],
  })
  return { destinationId, subscriptionId: subscription.id, streamName: name }
}

async function addCertificates(api: Client, run: string): Promise<string> {
  const { id } = await api.tlsCertificate.create({ ...certificateBody('ecdsa'), description: hostile(7) })
  await api.certificateAuthority.create({ ca_pem: fixturePem('authority'), description: hostile(8) })
  const authority = await api.sshCertificateAuthority.create({ description: hostile(9) })
  const signed = {
    ssh_certificate_authority_id: authority.id,
    public_key: authority.public_key,
    description: hostile(0),
  }
  await api.sshHostCertificate.create({ ...signed, principals: ['ssh.example.com'] })
  await api.sshUserCertificate.create({ ...signed, principals: ['<x-hostile>'] })
  await api.sshCredential.create({ public_key: authority.public_key, description: hostile(1) })
  await api.domain.create({ domain: `reserved-${run}.example.com`, description: hostile(2) })
  await api.reservedAddr.create({ description: hostile(3) })
  return id
}

/** Every second one has a hostile text where others have a name: enough for each of these texts. */
const requestCount = 2 * hostileTexts.length + 2

async function sendTraffic(
  account: Account,
  run: string,
  hostport: string,
  httpsHostport: string,
): Promise<void> {
  const { weir } = await openService()
  const { api, id: account_id } = account
  const [host = ''] = hostport.split(':')
  const [httpsHost = ''] = httpsHostport.split(':')
  const connections = Array.from({ length: requestCount }, (_, index) => connection(run, index, host))
  const requests = Array.from({ length: requestCount }, (_, index) => request(run, index, httpsHost))
  const refused = connection(run, requestCount, host, refusedMark)
  const { refused_count } = await api.publishRecords([...connections, ...requests, refused])
  if (refused_count > 0) throw new Error(`${refused_count} records were refused.`)
  const broken = JSON.stringify({
    account_id,
    type: 'tcp_connection',
    conn: { client_ip: hostile(1), server_name: hostile(0) },
  })
  await (await weir.nats()).publish('weir.records.console.1', broken, { msgId: run })
  await until('everything is judged', async () => {
    let count = 0
    for await (const _ of api.decisions({ limit: 100 })) count += 1
    return count > 2 * requestCount
  })
  await until('there are dead letters of both kinds', async () => {
    const { groups } = await api.deadLetters.groups()
    return new Set(groups.map(({ type }) => type)).size === 2
  })
}

function connection(run: string, index: number, host: string, mark?: string) {
  const isHostile = index % 2 === 1
  return {
    record_id: `${run}-tcp-${index}`,
    type: 'tcp_connection' as const,
    conn: {
      client_ip: index % 5 === 0 ? blockedClient : `10.1.2.${index}`,
      client_port: index % 7 === 6 ? 4711 : 20_000 + index,
      server_name: mark ?? (isHostile ? hostile(index >> 1) : host),
      server_port: 22,
      bytes_in: 100 * index,
      bytes_out: 7,
    },
  }
}

const request = (run: string, index: number, host: string) => ({
  record_id: `${run}-http-${index}`,
  type: 'http_request' as const,
  conn: {
    client_ip: `198.51.100.${index}`,
    client_port: 30_000 + index,
    server_name: host,
    server_port: 443,
  },
  http: {
    request: {
      method: index % 2 === 1 ? hostile(index) : 'GET',
      user_agent: hostile(index),
      url: {
        host,
        path: `/${hostile(index + 1)}`,
        query: hostile(index + 2),
        raw: `https://${host}/${hostile(index + 1)}`,
        scheme: 'https',
      },
      headers: { [`x-${index}`]: [hostile(index + 3)] },
    },
    response: { status_code: 200, body_length: 10 },
  },
})
