/** Creates the resources of a scenario through the management API. */
import { parseArn } from '../../delivery/deliver/aws/arn.js'
import { kindNamed } from '../../delivery/deliver/kinds.js'
import type { RecordType } from '../../delivery/record/traffic-record.js'
import { bucketNames, connectionSubject } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { streamOf } from '../../ground/nats/bucket-stream.js'
import { keyPrefix } from '../../ground/nats/bucket-watch.js'
import { type Client, openClient } from '../../words/client/client.js'
import type { NewResource } from '../../words/client/kinds.js'
import type { Decision } from '../../words/shape/decisions/decision.js'
import type { Keep, ResourceName } from '../emulator/wire.js'
import { readMetrics } from './metrics-page.js'
import { untilFound } from './patience.js'
import type { AccountPlan, CreatedIds, EdgePlan, Question, Scenario, TargetKind } from './scenario.js'
import type { Services } from './services.js'

export interface Destination {
  readonly id: string
  readonly kind: TargetKind
  /** The stream, delivery stream or log group of the emulator. */
  readonly target: ResourceName
  readonly api: Client
}

export interface Built extends CreatedIds {
  readonly destinations: readonly Destination[]
}

/** Without limits of throughput: the demo shows other things. */
const targetSpec = { shards: 4, recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
const roleArn = 'arn:aws:iam::000000000000:role/weir-demo'
/** After that the question is asked again. */
const answerTimeoutMs = 5_000

/** An account while its resources are made. */
interface Owner {
  readonly plan: AccountPlan
  readonly api: Client
  readonly accountId: string
}

export async function build(scenario: Scenario, services: Services, keep: Keep): Promise<Built> {
  const accountIds: string[] = []
  const edgeIds = new Map<string, string>()
  const destinations: Destination[] = []
  for (const [index, plan] of scenario.accounts.entries()) {
    const { accountId, token } = index === 0 ? services : await services.createAccount(plan.name)
    const owner = { plan, api: openClient({ url: services.apiUrl, token }), accountId }
    accountIds.push(accountId)
    destinations.push(...(await makeDestinations(owner, services, keep)))
    await makeEdges(owner, edgeIds)
  }
  return { accountIds, edgeIds, destinations }
}

/** The emulator calls services as ARNs do. */
const targetOf = (kind: TargetKind): ResourceName => ({
  service: parseArn(kindNamed(kind).address.example)!.service as ResourceName['service'],
  name: 'weir-demo',
})

async function makeDestinations(owner: Owner, services: Services, keep: Keep): Promise<Destination[]> {
  const { plan, api } = owner
  const destinations: Destination[] = []
  for (const kind of plan.destinations) {
    const target = targetOf(kind)
    const arn = await services.aws.addResource({ ...target, ...targetSpec, keep })
    const body = await targetBody(kind, arn, owner, services)
    const { id } = await api.eventDestination.create({ description: `the demo's ${kind}`, target: body })
    destinations.push({ id, kind, target, api })
  }
  for (const { description, to, sources } of plan.subscriptions) {
    const destination_ids = destinations.filter(({ kind }) => kind === to).map(({ id }) => id)
    await api.eventSubscription.create({ description, sources, destination_ids })
  }
  return destinations
}

/** CloudWatch Logs is reached by a role, with the account's id as external id; the others by a pair of keys. */
async function targetBody(
  kind: TargetKind,
  arn: string,
  { accountId }: Owner,
  { aws, awsKey }: Services,
): Promise<NewResource<'eventDestination'>['target']> {
  const { accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key } = awsKey
  const usesRole = kind === 'cloudwatch_logs'
  if (usesRole) await aws.addRole({ roleArn, externalId: accountId })
  const auth = usesRole
    ? { role: { role_arn: roleArn } }
    : { creds: { aws_access_key_id, aws_secret_access_key } }
  return { [kind]: { [kindNamed(kind).address.field]: arn, auth } }
}

/** Adds their ids to `edgeIds`. */
async function makeEdges({ plan, api }: Owner, edgeIds: Map<string, string>): Promise<void> {
  const policyIds = new Map<string, string>()
  for (const [description, rules] of Object.entries(plan.ipPolicies)) {
    const { id } = await api.ipPolicy.create({ description })
    for (const rule of rules) await api.ipPolicyRule.create({ ...rule, ip_policy_id: id })
    policyIds.set(description, id)
  }
  const { enforced, ipPolicy } = plan.restriction
  const ip_policy_ids = [policyIds.get(ipPolicy)!]
  await api.ipRestriction.create({ type: 'endpoints', enforced, ip_policy_ids })
  for (const edge of plan.edges) edgeIds.set(edge.key, await makeEdge(api, edge, policyIds))
}

async function makeEdge(
  api: Client,
  { type, hostports, ipPolicy, inbound = [], outbound = [] }: EdgePlan,
  policyIds: ReadonlyMap<string, string>,
): Promise<string> {
  const restricted =
    ipPolicy === undefined ? {} : { ip_restriction: { ip_policy_ids: [policyIds.get(ipPolicy)!] } }
  if (type === 'tcp_connection')
    return (await api.tcpEdge.create({ hostports, ...restricted, policies: { inbound, outbound } })).id
  const { id } = await api.httpsEdge.create({ hostports })
  await api.httpsEdgeRoute.under(id).create({ match_type: 'path_prefix', match: '/', ...restricted })
  return id
}

/** The members that a question has in addition to its connection. */
const askedMembers: Readonly<Record<RecordType, object>> = {
  tcp_connection: {},
  http_request: { http: { request: { url: { path: '/' } } } },
}

/** Resolves when every process that evaluates records or answers questions uses all that was made. */
async function whenUsed({ apiUrl, inside }: Services): Promise<void> {
  // Edges are made last.
  const { config } = bucketNames
  const { sequence: made } = (await inside.lastMessage(streamOf(config), `${keyPrefix(config)}row.>`))!
  await untilFound(async () => {
    const metrics = await readMetrics(apiUrl)
    const used = Math.min(metrics.revisionOf('pipeline'), metrics.revisionOf('decide'))
    if (used >= made) return { found: used }
    return { situation: `Not every process uses the configuration of revision ${made}: one uses ${used}.` }
  })
}

/** Asks `weir.decide` like an ingress node, until every answer is the one that the configuration must give. */
export async function whenInEffect(scenario: Scenario, built: Built, services: Services): Promise<void> {
  await whenUsed(services)
  const edges = new Map(scenario.accounts.flatMap(({ edges }) => edges.map((edge) => [edge.key, edge])))
  const ask = async ({ edge: key, conn }: Question): Promise<Pick<Decision, 'decision' | 'warnings'>> => {
    const edge = edges.get(key)!
    const named = edge.hostports.length > 0 ? {} : { edge_id: built.edgeIds.get(key) }
    const request = JSON.stringify({ type: edge.type, conn, ...askedMembers[edge.type], ...named })
    return jsonOf(await services.nats.request(connectionSubject, request, answerTimeoutMs))
  }
  await untilFound(async () => {
    for (const question of scenario.questions) {
      const { edge, conn, decision: wanted, warns = false } = question
      const { decision, warnings } = await ask(question)
      if (decision !== wanted || (warns && warnings.length === 0))
        return { situation: `${conn.client_ip} at ${edge} gets ${decision} instead of ${wanted}.` }
    }
    return { found: true }
  })
}
