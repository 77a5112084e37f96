/** Creates the resources of a scenario through the management API. */
import { type Client, openClient } from '../client/client.js'
import type { NewResource } from '../client/kinds.js'
import { sleep } from '../core/clock.js'
import { parseArn } from '../deliver/aws/arn.js'
import { kindNamed } from '../deliver/kinds.js'
import type { ResourceName } from '../emulator/wire.js'
import type { RecordType } from '../record/traffic-record.js'
import { connectionSubject } from '../wire/names.js'
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
}

export interface Decision {
  readonly decision: string
  readonly policy: string | null
  readonly warnings: readonly string[]
}

/** Without limits of throughput: the demo shows other things. */
const targetSpec = { shards: 4, recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
const roleArn = 'arn:aws:iam::000000000000:role/weir-demo'
/** A change takes effect within this time in every process; a decision proves it for one of them only. */
const effectMs = 2_000
const askAgainMs = 100
const answerTimeoutMs = 2_000
const effectTimeoutMs = 20_000

export async function build(scenario: Scenario, services: Services, keep: 'all' | 'ids'): Promise<Built> {
  const accountIds: string[] = []
  const edgeIds = new Map<string, string>()
  const destinations: Destination[] = []
  for (const [index, plan] of scenario.accounts.entries()) {
    const { accountId, token } = index === 0 ? services : await services.createAccount(plan.name)
    accountIds.push(accountId)
    const builder = new AccountBuilder(plan, openClient({ url: services.apiUrl, token }), services, accountId)
    destinations.push(...(await builder.makeDestinations(keep)))
    for (const [key, id] of await builder.makeEdges()) edgeIds.set(key, id)
  }
  return { accountIds, edgeIds, destinations }
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

  async makeEdges(): Promise<Map<string, string>> {
    const policyIds = new Map<string, string>()
    for (const [description, rules] of Object.entries(this.#plan.ipPolicies)) {
      const { id } = await this.#api.ipPolicy.create({ description })
      for (const rule of rules) await this.#api.ipPolicyRule.create({ ...rule, ip_policy_id: id })
      policyIds.set(description, id)
    }
    const { enforced, ipPolicy } = this.#plan.restriction
    const ip_policy_ids = [policyIds.get(ipPolicy)!]
    await this.#api.ipRestriction.create({ type: 'endpoints', enforced, ip_policy_ids })
    const edgeIds = new Map<string, string>()
    for (const edge of this.#plan.edges) edgeIds.set(edge.key, await this.#makeEdge(edge, policyIds))
    return edgeIds
  }

  async #makeEdge(
    { type, hostports, ipPolicy, inbound = [], outbound = [] }: EdgePlan,
    policyIds: ReadonlyMap<string, string>,
  ): Promise<string> {
    const restricted =
      ipPolicy === undefined ? {} : { ip_restriction: { ip_policy_ids: [policyIds.get(ipPolicy)!] } }
    switch (type) {
      case 'tcp_connection': {
        const policies = inbound.length + outbound.length > 0 ? { policies: { inbound, outbound } } : {}
        return (await this.#api.tcpEdge.create({ hostports, ...restricted, ...policies })).id
      }
      case 'http_request': {
        const { id } = await this.#api.httpsEdge.create({ hostports })
        const everyPath = { match_type: 'path_prefix', match: '/', ...restricted } as const
        await this.#api.httpsEdgeRoute.under(id).create(everyPath)
        return id
      }
    }
  }
}

/** The members that a question has beside its connection. */
const askedMembers: Readonly<Record<RecordType, object>> = {
  tcp_connection: {},
  http_request: { http: { request: { url: { path: '/' } } } },
}

/** Asks `weir.decide` like an ingress node, until every answer is the one that the configuration must give. */
export async function whenInEffect(
  scenario: Scenario,
  built: Built,
  services: Services,
): Promise<Decision[]> {
  const edges = new Map(scenario.accounts.flatMap(({ edges }) => edges.map((edge) => [edge.key, edge])))
  const ask = async ({ edge: key, conn }: Question): Promise<Decision> => {
    const edge = edges.get(key)!
    const named = edge.hostports.length > 0 ? {} : { edge_id: built.edgeIds.get(key) }
    const request = JSON.stringify({ type: edge.type, conn, ...askedMembers[edge.type], ...named })
    return JSON.parse(
      Buffer.from(await services.nats.request(connectionSubject, request, answerTimeoutMs)).toString(),
    )
  }
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const answers = await Promise.all(scenario.questions.map(ask))
    const wrong = scenario.questions.findIndex(({ decision, warns = false }, index) => {
      const { decision: answered, warnings } = answers[index]!
      return answered !== decision || (warns && warnings.length === 0)
    })
    if (wrong === -1) {
      await sleep(effectMs)
      return answers
    }
    if (waitedMs > effectTimeoutMs) {
      const { says, edge, decision } = scenario.questions[wrong]!
      throw new Error(`${says} at ${edge} gets ${answers[wrong]?.decision} instead of ${decision}.`)
    }
    await sleep(askAgainMs)
  }
}
