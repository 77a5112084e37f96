/** Event subscriptions, compiled: per account and kind, what to write and where it goes. */
import { serializersKeptMax } from '../core/limits.js'
import { getOrMake, getOrMakeWeak } from '../core/maps.js'
import { Slices } from '../core/slices.js'
import type { ConfigurationSource, EventSourceRow, EventSubscriptionRow } from '../evaluate/configuration.js'
import { Parts } from '../evaluate/parts.js'
import type { LogAction } from '../evaluate/traffic-policy.js'
import type { TrafficEventKind } from '../event/define.js'
import {
  compileEnvelope,
  compileSerializer,
  type EnvelopeWriter,
  type ObjectSerializer,
} from '../event/envelope.js'
import { purposePart } from '../event/event-id.js'
import { httpRequestComplete } from '../event/http-request-complete.js'
import { type LogEntry, log } from '../event/log.js'
import { tcpConnectionClosed } from '../event/tcp-connection-closed.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import { compileExpression } from '../expr/expression.js'
import type { ConnectionRecord, RequestRecord } from '../record/traffic-record.js'

/** One source of one subscription: what a record of its kind causes. */
export interface CompiledSource {
  readonly subscriptionId: string
  /** `tcp_connection_closed.v0` … */
  readonly kindName: string
  readonly destinationIds: readonly string[]
}

export interface EventSource<R> extends CompiledSource {
  /** Throws `ExpressionFailure`; undefined where every record is meant. */
  readonly filter: ((record: R, budget: StepBudget) => boolean) | undefined
  readonly serialize: ObjectSerializer<R>
  readonly envelope: EnvelopeWriter
  /** Of the ids of its events. */
  readonly purpose: string
}

export interface LogSource extends CompiledSource {
  readonly serialize: ObjectSerializer<LogEntry>
  readonly envelope: EnvelopeWriter
  purposeOf(action: LogAction): string
}

/** The sources of an account, by what they are about. */
export interface AccountSources {
  readonly connections: readonly EventSource<ConnectionRecord>[]
  readonly requests: readonly EventSource<RequestRecord>[]
  readonly logs: readonly LogSource[]
}

/** All subscriptions: an immutable view, like the policy set. */
export class SubscriptionSet {
  readonly subscriptions: Parts<AccountSources>
  readonly serializers: Serializers
  readonly #byAccount: ReadonlyMap<string, AccountSources>

  constructor(
    subscriptions: Parts<AccountSources>,
    serializers: Serializers,
    byAccount: ReadonlyMap<string, AccountSources>,
  ) {
    this.subscriptions = subscriptions
    this.serializers = serializers
    this.#byAccount = byAccount
  }

  sourcesOf(accountId: string): AccountSources | undefined {
    return this.#byAccount.get(accountId)
  }
}

/** Serializers by selection: one for all subscriptions that want the same fields of a kind. */
class Serializers {
  readonly #bySelection = new WeakMap<object, Map<string, unknown>>()

  of<R>(kind: TrafficEventKind<R>, fields: readonly string[] | null | undefined): ObjectSerializer<R> {
    const selection = [...new Set(fields ?? kind.fields.keys())].toSorted()
    const known = getOrMakeWeak(this.#bySelection, kind, () => new Map<string, unknown>())
    if (known.size >= serializersKeptMax) known.clear()
    // Those of a kind are all about what the kind's events tell of.
    return getOrMake(known, selection.join(), () => compileSerializer(kind, selection)) as ObjectSerializer<R>
  }
}

/** Builds the view in slices; subscriptions that did not change since `previous` are taken over. */
export async function buildSubscriptionSet(
  source: ConfigurationSource,
  previous: SubscriptionSet | undefined,
  yieldTurn: () => Promise<void>,
): Promise<SubscriptionSet> {
  const slices = new Slices(yieldTurn)
  const parts = new Parts(previous?.subscriptions)
  const serializers = previous?.serializers ?? new Serializers()
  const grouped = new Map<string, AccountSources[]>()
  for (const row of source.rows('event_subscription')) {
    if (slices.isDue()) await slices.pause()
    const compiled =
      parts.reuse(row.id, row.version) ??
      parts.add(row.id, row.version, compileSubscription(row, serializers))
    getOrMake(grouped, row.account_id, () => []).push(compiled)
  }
  const byAccount = new Map([...grouped].map(([accountId, group]) => [accountId, merged(group)]))
  return new SubscriptionSet(parts.complete(), serializers, byAccount)
}

const merged = (group: readonly AccountSources[]): AccountSources => ({
  connections: group.flatMap(({ connections }) => connections),
  requests: group.flatMap(({ requests }) => requests),
  logs: group.flatMap(({ logs }) => logs),
})

/** Audit kinds among the sources are not the pipeline's business. */
function compileSubscription(row: EventSubscriptionRow, serializers: Serializers): AccountSources {
  const of = (name: string) => row.sources.filter(({ type }) => type === name)
  return {
    connections: of(tcpConnectionClosed.name).map((source) =>
      compileSource(row, source, tcpConnectionClosed, serializers),
    ),
    requests: of(httpRequestComplete.name).map((source) =>
      compileSource(row, source, httpRequestComplete, serializers),
    ),
    logs: of(log.name).map((source) => compileLogSource(row, source, serializers)),
  }
}

function compileSource<R>(
  row: EventSubscriptionRow,
  source: EventSourceRow,
  kind: TrafficEventKind<R>,
  serializers: Serializers,
): EventSource<R> {
  return {
    ...commonOf(row, kind.name),
    filter: compileFilter(source, kind),
    serialize: serializers.of(kind, source.fields),
    purpose: purposePart(row.account_id, kind.name, row.id),
  }
}

function compileLogSource(
  row: EventSubscriptionRow,
  source: EventSourceRow,
  serializers: Serializers,
): LogSource {
  const purposes = new WeakMap<LogAction, string>()
  return {
    ...commonOf(row, log.name),
    serialize: serializers.of(log, source.fields),
    purposeOf: (action) =>
      getOrMakeWeak(purposes, action, () =>
        purposePart(row.account_id, log.name, row.id, action.policyKey, action.actionIndex),
      ),
  }
}

const commonOf = (row: EventSubscriptionRow, kindName: string) => ({
  subscriptionId: row.id,
  kindName,
  destinationIds: [...new Set(row.destination_ids)],
  envelope: compileEnvelope(kindName, row.account_id),
})

/** A text that compiled when it was saved and doesn't now fails for each record, where it is counted. */
function compileFilter<R>({ filter }: EventSourceRow, kind: TrafficEventKind<R>): EventSource<R>['filter'] {
  if (!filter || kind.filterScope === undefined) return undefined
  const compiled = compileExpression(filter, kind.filterScope)
  if (compiled.ok) return (record, budget) => compiled.value.isTrue(record, budget)
  return () => {
    throw new ExpressionFailure(compiled.problem.msg)
  }
}
