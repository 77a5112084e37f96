/** Creates the resources of a scenario through the management API. */

import { parseArn } from '../../delivery/deliver/aws/arn.js'
import { kindNamed } from '../../delivery/deliver/kinds.js'
import type { RecordType } from '../../delivery/record/traffic-record.js'
import { bucketNames, connectionSubject } from '../../delivery/wire/names.js'
import { waitForBucket } from '../../ground/nats/bucket-stream.js'
import { type Client, openClient } from '../../words/client/client.js'
import type { NewResource } from '../../words/client/kinds.js'
import { rowKey } from '../../words/view/keys.js'
import type { ResourceName } from '../emulator/wire.js'
import { readMetrics } from './metrics-page.js'
import { untilFound } from './patience.js'
import type { AccountPlan, CreatedIds, EdgePlan, Question, Scenario, TargetKind } from './scenario.js'
import type { Services } from './services.js'

export interface Destination {
  readonly id: string
  readonly kind: TargetKind
  /** The stream, delivery stream or log group of the emulator. */
  readonly target: ResourceName
  readonly account: string
  readonly api: Client
}

export interface Built extends CreatedIds {
  readonly destinations: readonly Destination[]
  /** The key in the configuration of what was made last. */
  readonly lastRow: string
}

interface MadeEdge {
  readonly key: string
  readonly id: string
  /** The key in the configuration of its last part. */
  readonly row: string
}

export interface Decision {
  readonly decision: string
  readonly policy: string | null
  readonly warnings: readonly string[]
}

/** Without limits of throughput: the demo shows other things. */
const targetSpec = { shards: 4, recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
const roleArn = 'arn:aws:iam::000000000000:role/weir-demo'
/** After that the question is asked again. */
const answerTimeoutMs = 5_000

export async function build(scenario: Scenario, services: Services, keep: 'all' | 'ids'): Promise<Built> {
  const accountIds: string[] = []
  const edgeIds = new Map<string, string>()
  const destinations: Destination[] = []
  let lastRow = ''
  for (const [index, plan] of scenario.accounts.entries()) {
    const { accountId, token } = index === 0 ? services : await services.createAccount(plan.name)
    accountIds.push(accountId)
    const builder = new AccountBuilder(plan, openClient({ url: services.apiUrl, token }), services, accountId)
    destinations.push(...(await builder.makeDestinations(keep)))
    for (const { key, id, row } of await builder.makeEdges()) {
      edgeIds.set(key, id)
      lastRow = row
    }
  }
  return { accountIds, edgeIds, destinations, lastRow }
}

/** The emulator calls services as ARNs do. */
const targetOf = (kind: TargetKind): ResourceName => ({
  service: parseArn(kindNamed(kind).address.example)!.service as ResourceName['service'],
  name: 'weir-demo',
})

class AccountBuilder {
  readonly #plan: AccountPlan
  readonly #api: Client
  readonly #services: Services
  readonly #accountId: string

  constructor(plan: AccountPlan, api: Client, services: Services, accountId: string) {
    this.#plan = plan
    this.#api = api
    this.#services = services
    this.#accountId = accountId
  }

  async makeDestinations(keep: 'all' | 'ids'): Promise<Destination[]> {
    const destinations: Destination[] = []
    for (const kind of this.#plan.destinations) {
      const target = targetOf(kind)
      const arn = await this.#services.aws.addResource({ ...target, ...targetSpec, keep })
      const { id } = await this.#api.eventDestination.create({
        description: `the demo's ${kind}`,
        target: await this.#targetBody(kind, arn),
      })
      destinations.push({ id, kind, target, account: this.#plan.name, api: this.#api })
    }
    for (const { description, to, sources } of this.#plan.subscriptions) {
      const destination_ids = destinations.filter(({ kind }) => kind === to).map(({ id }) => id)
      await this.#api.eventSubscription.create({ description, sources, destination_ids })
    }
    return destinations
  }

  /** CloudWatch Logs is reached by a role, with the account's id as external id; the others by a pair of keys. */
  async #targetBody(kind: TargetKind, arn: string): Promise<NewResource<'eventDestination'>['target']> {
    const { aws, awsKey } = this.#services
    const { accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key } = awsKey
    const usesRole = kind === 'cloudwatch_logs'
    if (usesRole) await aws.addRole({ roleArn, externalId: this.#accountId })
    const auth = usesRole
      ? { role: { role_arn: roleArn } }
      : { creds: { aws_access_key_id, aws_secret_access_key } }
    return { [kind]: { [kindNamed(kind).address.field]: arn, auth } }
  }

  async makeEdges(): Promise<MadeEdge[]> {
    const policyIds = new Map<string, string>()
    for (const [description, rules] of Object.entries(this.#plan.ipPolicies)) {
      const { id } = await this.#api.ipPolicy.create({ description })
      for (const rule of rules) await this.#api.ipPolicyRule.create({ ...rule, ip_policy_id: id })
      policyIds.set(description, id)
    }
    const { enforced, ipPolicy } = this.#plan.restriction
    const ip_policy_ids = [policyIds.get(ipPolicy)!]
    await this.#api.ipRestriction.create({ type: 'endpoints', enforced, ip_policy_ids })
    const made: MadeEdge[] = []
    for (const edge of this.#plan.edges) made.push(await this.#makeEdge(edge, policyIds))
    return made
  }

  async #makeEdge(
    { key, type, hostports, ipPolicy, inbound = [], outbound = [] }: EdgePlan,
    policyIds: ReadonlyMap<string, string>,
  ): Promise<MadeEdge> {
    const restricted =
      ipPolicy === undefined ? {} : { ip_restriction: { ip_policy_ids: [policyIds.get(ipPolicy)!] } }
    switch (type) {
      case 'tcp_connection': {
        const policies = inbound.length + outbound.length > 0 ? { policies: { inbound, outbound } } : {}
        const { id } = await this.#api.tcpEdge.create({ hostports, ...restricted, ...policies })
        return { key, id, row: rowKey('tcp_edge', id) }
      }
      case 'http_request': {
        const { id } = await this.#api.httpsEdge.create({ hostports })
        const everyPath = { match_type: 'path_prefix', match: '/', ...restricted } as const
        const route = await this.#api.httpsEdgeRoute.under(id).create(everyPath)
        return { key, id, row: rowKey('https_edge_route', route.id) }
      }
    }
  }
}

/** The members that a question has in addition to its connection. */
const askedMembers: Readonly<Record<RecordType, object>> = {
  tcp_connection: {},
  http_request: { http: { request: { url: { path: '/' } } } },
}

/** Resolves when every process that evaluates records or answers questions uses all that was made. */
async function whenUsed({ lastRow }: Built, { apiUrl, inside }: Services): Promise<void> {
  const bucket = await waitForBucket(inside, bucketNames.config)
  const { revision: made } = (await bucket.get(lastRow))!
  await untilFound(async () => {
    const metrics = await readMetrics(apiUrl)
    const used = Math.min(metrics.revisionOf('pipeline'), metrics.revisionOf('decide'))
    if (used >= made) return { found: used }
    return { situation: `Not every process uses the configuration of revision ${made}: one uses ${used}.` }
  })
}

/** Asks `weir.decide` like an ingress node, until every answer is the one that the configuration must give. */
export async function whenInEffect(
  scenario: Scenario,
  built: Built,
  services: Services,
): Promise<Decision[]> {
  await whenUsed(built, services)
  const edges = new Map(scenario.accounts.flatMap(({ edges }) => edges.map((edge) => [edge.key, edge])))
  const ask = async ({ edge: key, conn }: Question): Promise<Decision> => {
    const edge = edges.get(key)!
    const named = edge.hostports.length > 0 ? {} : { edge_id: built.edgeIds.get(key) }
    const request = JSON.stringify({ type: edge.type, conn, ...askedMembers[edge.type], ...named })
    return JSON.parse(
      Buffer.from(await services.nats.request(connectionSubject, request, answerTimeoutMs)).toString(),
    )
  }
  return untilFound(async () => {
    const answers = await Promise.all(scenario.questions.map(ask))
    const wrong = scenario.questions.findIndex(({ decision, warns = false }, index) => {
      const { decision: answered, warnings } = answers[index]!
      return answered !== decision || (warns && warnings.length === 0)
    })
    if (wrong === -1) return { found: answers }
    const { says, edge, decision } = scenario.questions[wrong]!
    return { situation: `${says} at ${edge} gets ${answers[wrong]?.decision} instead of ${decision}.` }
  })
}
