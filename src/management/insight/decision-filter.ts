/**
 * Filters of logged decisions: the names of an entry's members, and those of filters of subscriptions as far as the log has
 * their values. A value that is missing is so in both, whatever the log stores for it.
 *
 * ClickHouse looks for rows that a filter requires; the filter itself is evaluated here, by the evaluator of all filters. So
 * the SQL may leave out only rows for which it is false, and never decides.
 */

import { nameAliases } from '../../delivery/record/policy-scope.js'
import {
  addressSpelling,
  methodSpelling,
  serverHost,
  serverSpelling,
} from '../../delivery/record/spelling.js'
import { type RecordType, recordTypes } from '../../delivery/record/traffic-record.js'
import { emptyRow } from '../../delivery/wire/blocks/row-columns.js'
import { type DecisionRow, decisionColumns } from '../../delivery/wire/decision-rows.js'
import { boundsOf, type Cidr, parseCidr } from '../../ground/core/address/cidr.js'
import { WeirError } from '../../ground/core/errors.js'
import { compileClosures, namesIn } from '../../ground/expr/expression.js'
import type { Condition, Requirement } from '../../ground/expr/requirement.js'
import { defineScope, type ScopeName, type Spelling } from '../../ground/expr/scope.js'
import { trafficEvents } from '../../words/event/catalog.js'
import { type LoggedDecision, loggedDecisionSchema } from '../../words/shape/decisions/logged-decision.js'
import { filterOf, namesOfSchema } from '../exchange/list-filter.js'
import type { CountFilter } from '../store/logs/filtered-counts.js'
import type { LogCondition, NumberColumn, TextColumn } from '../store/logs/log-sql.js'
import { shownDecision } from './shown-decision.js'

interface DecisionFilter {
  readonly matches: (decision: LoggedDecision) => boolean
  /** A condition that all rows meet for which the filter is true; undefined if none is known. */
  readonly condition: LogCondition | undefined
  /** Members of a decision that it reads, and names of filters of subscriptions for those that are no members. */
  readonly names: readonly string[]
}

type Name = ScopeName<LoggedDecision>

const spellings: Readonly<Record<string, Spelling>> = { client_ip: addressSpelling, method: methodSpelling }

/** Null is no value here, as in events: `asn < 100` is false without one. */
const members: Readonly<Record<string, Name>> = Object.fromEntries(
  namesOfSchema(loggedDecisionSchema).map(([name, { read, ...rest }]) => {
    const spelling = spellings[name]
    return [
      name,
      {
        ...rest,
        ...(spelling && { spelling }),
        read: (decision: LoggedDecision) => read(decision) ?? undefined,
      },
    ]
  }),
)

/** The names that filters of subscriptions have for the bytes of each type of record. */
const byteNames: Readonly<Record<RecordType, Readonly<Record<'bytes_in' | 'bytes_out', string>>>> = {
  tcp_connection: { bytes_in: 'conn.bytes_in', bytes_out: 'conn.bytes_out' },
  http_request: { bytes_in: 'http.request.body_length', bytes_out: 'http.response.body_length' },
}

const byteNamesOf = (type: RecordType): [string, Name][] =>
  (['bytes_in', 'bytes_out'] as const).map((member) => [
    byteNames[type][member],
    { type: 'number', read: (decision) => (decision.type === type ? decision[member] : undefined) },
  ])

/** Names of filters of subscriptions. */
const eventNames: Readonly<Record<string, Name>> = {
  'conn.client_ip': members['client_ip']!,
  'conn.server_name': {
    type: 'string',
    spelling: serverSpelling,
    read: ({ server_name }) => (server_name === null ? undefined : serverHost(server_name)),
  },
  'conn.server_port': members['server_port']!,
  'conn.asn': members['asn']!,
  'conn.geo.country_code': members['country']!,
  ...Object.fromEntries(recordTypes.flatMap(byteNamesOf)),
  'edge.id': members['edge_id']!,
  'route.id': members['route_id']!,
  configuration_revision: members['revision']!,
  'http.request.method': members['method']!,
  'http.request.url.path': members['path']!,
  'http.response.status_code': members['status_code']!,
}

/** By the names that a filter may use. */
export const filterNames: Readonly<Record<string, Name>> = { ...members, ...eventNames }
const usable = Object.keys(filterNames)
const unavailable = trafficEvents
  .flatMap(({ filterScope }) => [...filterScope.names.keys(), ...filterScope.unavailable.keys()])
  .filter((name) => !usable.includes(name.replace(/^ev\./, '')))

const scope = defineScope<LoggedDecision>({
  names: filterNames,
  aliases: Object.fromEntries([
    ...Object.entries(nameAliases)
      .filter(([, name]) => usable.includes(name))
      .flatMap(([alias, name]) => [
        [alias, name],
        [`ev.${alias}`, name],
      ]),
    ...usable.map((name) => [`ev.${name}`, name]),
  ]),
  unavailable: Object.fromEntries(
    unavailable.map((name) => [
      name,
      `is not in the log of decisions; filters here may use ${usable.join(', ')}`,
    ]),
  ),
})

type Place =
  | { readonly kind: 'text'; readonly column: TextColumn }
  | { readonly kind: 'number'; readonly column: NumberColumn }
  | { readonly kind: 'client' }

const verdictPlaces = (name: 'shadow' | 'challenger') =>
  [
    [`${name}.decision`, { kind: 'text', column: `${name}_decision` }],
    [`${name}.decided_by.id`, { kind: 'text', column: `${name}_decided_by_id` }],
    [`${name}.decided_by.policy`, { kind: 'text', column: `${name}_policy` }],
    [`${name}.decided_by.rule_id`, { kind: 'text', column: `${name}_rule_id` }],
  ] as const

/** Columns that hold exactly what a name reads; the others are left to the evaluator. */
const places: ReadonlyMap<Name['read'], Place> = new Map(
  [
    ...(
      ['record_id', 'edge_id', 'route_id', 'server_name', 'country', 'type', 'decision', 'source'] as const
    ).map((name) => [name, { kind: 'text', column: name }] as const),
    ['path', { kind: 'text', column: 'path' }] as const,
    ['decided_by.type', { kind: 'text', column: 'decided_by' }] as const,
    ['decided_by.id', { kind: 'text', column: 'decided_by_id' }] as const,
    ['decided_by.policy', { kind: 'text', column: 'policy' }] as const,
    ['decided_by.rule_id', { kind: 'text', column: 'rule_id' }] as const,
    ['challenger.id', { kind: 'text', column: 'challenger_id' }] as const,
    ...verdictPlaces('shadow'),
    ...verdictPlaces('challenger'),
    ...(['server_port', 'asn', 'revision', 'bytes_in', 'bytes_out', 'weight'] as const).map(
      (name) => [name, { kind: 'number', column: name }] as const,
    ),
    ['client_ip', { kind: 'client' }] as const,
  ].map(([name, place]) => [members[name]!.read, place]),
)

/** Throws a `WeirError` for a text that is not a valid expression over decisions. */
export function compileDecisionFilter(text: string, parameter = 'filter'): DecisionFilter {
  const compiled = compileClosures(text, scope)
  const matches = filterOf(compiled, parameter)
  const requirement = compiled.ok ? compiled.value.requirement : undefined
  return {
    matches,
    condition: requirement && conditionOf(requirement),
    names: namesIn(text, scope).map(({ name }) => name),
  }
}

/** More would make the statement large without finding fewer rows. */
const partsMax = 200

/** Undefined if a row can't be ruled out by its columns. */
function conditionOf(requirement: Requirement<LoggedDecision>): LogCondition | undefined {
  if (requirement.kind !== 'any' && requirement.kind !== 'all') return singleCondition(requirement)
  const { kind } = requirement
  if (requirement.of.length > partsMax) return undefined
  const parts = requirement.of.map(conditionOf)
  const known = parts.filter((part) => part !== undefined)
  if (kind === 'any') return known.length === parts.length ? { kind, of: known } : undefined
  return known.length === 0 ? undefined : { kind, of: known }
}

function singleCondition(condition: Condition<LoggedDecision>): LogCondition | undefined {
  const place = places.get(condition.name.read)
  switch (place?.kind) {
    case 'client':
      return clientCondition(condition)
    case 'text': {
      const { column } = place
      if (condition.kind === 'equal')
        return typeof condition.value === 'string'
          ? { kind: 'equal', column, value: condition.value }
          : undefined
      return condition.kind === 'beginning' || condition.kind === 'end'
        ? { kind: condition.kind, column, value: condition.value }
        : undefined
    }
    case 'number': {
      if (typeof condition.value !== 'number' || !Number.isFinite(condition.value)) return undefined
      if (condition.kind !== 'equal' && condition.kind !== 'order') return undefined
      const operator = condition.kind === 'equal' ? '=' : condition.operator
      return { kind: 'order', column: place.column, operator, value: condition.value }
    }
    case undefined:
      return undefined
  }
}

function clientCondition(condition: Condition<LoggedDecision>): LogCondition | undefined {
  const range = condition.kind === 'range' ? condition.range : addressOf(condition)
  return range && { kind: 'client', range: boundsOf(range) }
}

function addressOf(condition: Condition<LoggedDecision>): Cidr | undefined {
  if (condition.kind !== 'equal' || typeof condition.value !== 'string' || condition.value.includes('/'))
    return undefined
  const parsed = parseCidr(condition.value, { hostBits: 'allow' })
  return parsed.ok ? parsed.value : undefined
}

const ofDecider = ['decidedBy', 'decidedById', 'policy', 'ruleId'] as const

/** The members of a row that names of another verdict read; `own`: those that it has besides. */
function verdictMembers(name: 'shadow' | 'challenger', own: readonly (keyof DecisionRow)[] = []) {
  const [decision, type, id, policy, rule] = (
    ['Decision', 'DecidedBy', 'DecidedById', 'Policy', 'RuleId'] as const
  ).map((member) => `${name}${member}` as const)
  const all = [decision!, type!, id!, policy!, rule!, ...own]
  const members: Record<string, readonly (keyof DecisionRow)[]> = {
    [name]: all,
    [`${name}.decision`]: [decision!],
    [`${name}.decided_by`]: all,
    [`${name}.decided_by.type`]: [decision!, type!],
    [`${name}.decided_by.id`]: [decision!, id!],
    [`${name}.decided_by.policy`]: [decision!, policy!],
    [`${name}.decided_by.rule_id`]: [decision!, rule!],
  }
  return members
}

/** The members of a row that names read which have another value in each row. */
const singleMembers: Readonly<Record<string, readonly (keyof DecisionRow)[]>> = {
  id: ['at', 'sequence', 'line'],
  at: ['at'],
  own_at: ['at', 'ownAt', 'ownTime'],
  sequence: ['sequence'],
  line: ['line'],
}

/** The members of a row that each other name reads. */
const rowMembers: Readonly<Record<string, readonly (keyof DecisionRow)[]>> = {
  record_id: ['recordId'],
  type: ['type'],
  edge_id: ['edgeId'],
  route_id: ['routeId'],
  server_name: ['serverName'],
  'conn.server_name': ['serverName'],
  server_port: ['serverPort'],
  client_ip: ['clientIp'],
  country: ['country'],
  asn: ['asn'],
  decision: ['decision'],
  decided_by: ofDecider,
  'decided_by.type': ['decidedBy'],
  'decided_by.id': ['decidedById'],
  'decided_by.policy': ['policy'],
  'decided_by.rule_id': ['ruleId'],
  ...verdictMembers('shadow'),
  ...verdictMembers('challenger', ['challengerId']),
  'challenger.id': ['challengerDecision', 'challengerId'],
  revision: ['revision'],
  bytes_in: ['bytesIn'],
  bytes_out: ['bytesOut'],
  'conn.bytes_in': ['type', 'bytesIn'],
  'conn.bytes_out': ['type', 'bytesOut'],
  'http.request.body_length': ['type', 'bytesIn'],
  'http.response.body_length': ['type', 'bytesOut'],
  source: ['source'],
  weight: ['weight'],
  method: ['method'],
  path: ['path'],
  status_code: ['status'],
  own_at_refused: ['ownTime'],
}

/**
 * A filter that chooses what is counted, of `GET /stats`: one of logged decisions. If decisions are counted apart
 * (`isApart`), it must not use names that are another in each of them. Throws a `WeirError` also for such a name.
 */
export function compileCountFilter(text: string, isApart: boolean): CountFilter {
  const { matches, condition, names } = compileDecisionFilter(text)
  const known = isApart ? rowMembers : { ...rowMembers, ...singleMembers }
  const single = names.find((name) => known[name] === undefined)
  if (single !== undefined)
    throw new WeirError(
      'ERR_INVALID_EXPRESSION',
      `The query parameter "filter" uses ${single}, which is another in each decision, so nothing can be counted with "by": "since" and "until" choose the time, and GET /decisions finds single ones. A filter here may use ${Object.keys(rowMembers).join(', ')}.`,
    )
  return {
    names,
    condition,
    reads: [...new Set(names.flatMap((name) => known[name]!))],
    matches: (row) => matches(shownDecision({ ...unreadRow, ...row })),
  }
}

/** Values of a row that a filter does not read. */
const unreadRow: DecisionRow = emptyRow(decisionColumns)
