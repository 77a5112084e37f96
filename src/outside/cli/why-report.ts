/** `weir why`: explains the decision about a record, or about a connection or request. */

import { forTerminal } from '../../ground/core/text/terminal.js'
import type { Settings } from '../../management/process/settings.js'
import type { Client, DecisionRequest } from '../../words/client/client.js'
import type { LastChange } from '../../words/shape/decisions/change-schema.js'
import type {
  Decision,
  ExplainedGroup,
  ExplainedPolicy,
  ExplainedRule,
  Explanation,
} from '../../words/shape/decisions/decision.js'
import type { LoggedDecision } from '../../words/shape/decisions/logged-decision.js'
import type { AskedDecision, PublishedRecord, TracedRecord } from '../../words/shape/traced-record.js'
import { clientOf } from './connection/api-client.js'
import { UsageFault } from './guide/exit-codes.js'

export interface WhyOptions {
  readonly client?: string
  /** `host:port`. */
  readonly server?: string
  readonly edge?: string
  /** The path of an HTTP request; undefined if the question is about a TCP connection. */
  readonly path?: string
  readonly revision?: string
  readonly json?: true
}

/** About a record if there is an id, else about what the options describe. */
export async function showWhy(
  settings: Settings,
  recordId: string | undefined,
  options: WhyOptions,
): Promise<void> {
  const answer = await answerTo(clientOf(settings), recordId, options)
  process.stdout.write(options.json ? `${JSON.stringify(answer.json)}\n` : `${forTerminal(answer.text())}\n`)
}

async function answerTo(client: Client, recordId: string | undefined, options: WhyOptions) {
  if (recordId !== undefined) {
    const traced = await client.record(recordId)
    return { json: traced, text: () => recordWhyText(traced) }
  }
  const { revision } = options
  if (revision !== undefined && !/^\d{1,15}$/.test(revision))
    throw new UsageFault(`--revision is "${revision}", but must be a number.`)
  const decision = await client.decide(
    requestOf(options),
    revision === undefined ? {} : { revision: Number(revision) },
  )
  return { json: decision, text: () => decisionText(decision) }
}

/** The API names what is wrong with an address, an edge or a revision. */
export function requestOf({ client, server, edge, path }: WhyOptions): DecisionRequest {
  if (client === undefined || (server === undefined && edge === undefined))
    throw new UsageFault(
      'Name a record, or a connection: --client <address> and --server <host:port> or --edge <id>.',
    )
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(server ?? '') ?? []
  if (server !== undefined && host === undefined)
    throw new UsageFault(
      `--server is "${server}", but must be a host and a port, such as ssh.example.com:22.`,
    )
  const named = {
    conn: {
      client_ip: client,
      ...(host === undefined ? {} : { server_name: host, server_port: Number(port) }),
    },
    ...(edge === undefined ? {} : { edge_id: edge }),
  }
  if (path === undefined) return { type: 'tcp_connection', ...named } as DecisionRequest
  return { type: 'http_request', ...named, http: { request: { url: { path } } } } as DecisionRequest
}

/** A paragraph per publication and per question, newest first. */
export const recordWhyText = ({ record_id, publications, asked }: TracedRecord): string =>
  [...publications, ...asked].map((each) => explainedText(record_id, each)).join('\n\n')

function explainedText(
  recordId: string,
  { decision, explained, missing }: PublishedRecord | AskedDecision,
): string {
  const { client_ip, server_name, server_port } = decision
  const head = `${headOf(recordId, decision)}: ${client_ip} to ${server_name ?? '?'}:${server_port ?? '?'}`
  if (explained === null) return `${head}\n${missing ?? 'It cannot be explained any more.'}`
  return [head, decisionText(explained), ...(missing === null ? [] : [missing])].join('\n')
}

/** Distinguishes a question from the record that was published later. */
export function headOf(recordId: string, { source, at, own_at, weight }: LoggedDecision): string {
  const began = own_at ? `, began ${own_at}` : ''
  if (source === 'record') return `Record ${recordId}${began}, stored ${at}`
  if (source === 'history') return `Record ${recordId} of the past${began}, loaded ${at}`
  const others = weight === 1 ? '' : `, for ${weight} questions`
  return `Question ${recordId}, asked ${at}${others}`
}

/** The decision and its cause, then every rule and policy that was looked at. */
export function decisionText({ decision, revision, warnings, explanation }: Decision): string {
  const lines = [`${decision}, with revision ${revision} of the configuration`]
  if (explanation !== undefined) lines.push(...explanationLines(explanation))
  return [...lines, ...warnings.map((warning) => `Warning: ${warning}`)].join('\n')
}

/** The cause of the decision, then every rule and policy that was looked at. */
export const explanationLines = ({
  hostport,
  decided_by,
  ip_policies,
  policies,
  policies_not_reached,
  shadow,
  ...readings
}: Explanation): string[] => [
  ...(hostport?.includes('*') ? [`served as ${hostport}`] : []),
  ...deciderLines(decided_by),
  ...readingLines(readings),
  ...(shadow === null ? [] : [shadow.reason]),
  ...ip_policies.flatMap(groupLines),
  ...policies.flatMap(policyLines),
  ...policies_not_reached.map(
    ({ policy, direction, reason }) => `${direction} policy ${policy}: not evaluated. ${reason}`,
  ),
]

/** How the request was read, if servers disagree. */
export const readingLines = ({ target, values }: Pick<Explanation, 'target' | 'values'>): string[] => [
  ...(target === undefined ? [] : [target.reason]),
  ...(target?.readings ?? []).map(({ path, how }) => `  read as ${JSON.stringify(path)}: ${how}`),
  ...(values === undefined ? [] : [values.reason]),
  ...(values?.others ?? []).map(({ name, value, how }) => `  ${name} = ${JSON.stringify(value)}: ${how}`),
]

type DecidedBy = Explanation['decided_by']

function deciderLines(decidedBy: DecidedBy): string[] {
  const { type, id, name, ip_policy_id, rule_id, cidr, added, last_change } = decidedBy
  if (type === 'none') return ['Nothing refused it.']
  if (type === 'unserved') return ['decided by unserved: no edge of the account serves the name']
  const parts = [`${type} of ${id}`, name, cidr === null ? null : `deny ${cidr}`, rule_id, ip_policy_id]
  const changed =
    last_change === null || last_change === undefined
      ? []
      : [`  last changed ${last_change.at} by ${authorOf(last_change)}, version ${last_change.version}`]
  return [`decided by ${parts.filter((part) => part !== null).join(', ')}`, ...addedLines(added), ...changed]
}

function addedLines(added: DecidedBy['added']): string[] {
  if (!added) return []
  const { at, by, by_description, version, earlier } = added
  if (earlier || by === null) return [`  added before ${at}`]
  return [`  added ${at} by ${authorOf({ by, by_description })}, version ${version}`]
}

const authorOf = ({ by, by_description }: Pick<LastChange, 'by' | 'by_description'>): string =>
  by_description === null ? by : `${by} "${by_description}"`

const groupLines = ({
  source,
  enforced,
  decision,
  reason,
  rules,
  rules_left_out,
}: ExplainedGroup): string[] => [
  `${source}: ${decision}${enforced ? '' : ', not enforced'}. ${reason}`,
  ...rules.map(ruleLine),
  ...(rules_left_out === 0 ? [] : [`  and ${rules_left_out} more rules that do not match`]),
]

function ruleLine({ won, action, cidr, rule_id, description, expires_at, reason }: ExplainedRule): string {
  const named = description === null ? rule_id : `${rule_id} "${description}"`
  const until = expires_at === null ? '' : `, until ${expires_at}`
  return `  ${won ? 'won ' : 'lost'}  ${action.padEnd(5)}  ${cidr}  ${named}${until}: ${reason}`
}

export const policyLines = ({
  policy,
  direction,
  applied,
  reason,
  expressions,
}: ExplainedPolicy): string[] => [
  `${direction} policy ${policy}: ${applied ? 'applied' : 'did not apply'}. ${reason}`,
  ...expressions.flatMap(({ expression, value, failure, decisive, names }) => [
    `  ${expression} = ${failure ?? JSON.stringify(value)}`,
    ...(decisive === null ? [] : [`    decided by ${decisive}`]),
    ...names.map(({ name, value: seen }) => `    ${name} = ${JSON.stringify(seen)}`),
  ]),
]
