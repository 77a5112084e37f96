/** Event subscriptions, compiled: per account and subject of events, what to write and where it goes. */
import { serializersCachedMax } from '../core/limits.js'
import { getOrMake } from '../core/maps.js'
import { Slices } from '../core/slices.js'
import type { ConfigurationSource, EventSourceRow } from '../evaluate/configuration.js'
import { Parts } from '../evaluate/parts.js'
import type { LogAction } from '../evaluate/traffic-policy.js'
import type { AnyTrafficEvent, FilterInput, Origin, Subjects, TrafficEventKind } from '../event/define.js'
import {
  compileEnvelope,
  compileSerializer,
  defaultFields,
  type EnvelopeWriter,
  type ObjectSerializer,
} from '../event/envelope.js'
import { purposePart } from '../event/event-id.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import { compileExpression } from '../expr/expression.js'
import { recordTypes } from '../record/traffic-record.js'
import type { DeclaredRow } from '../resource/registry.js'

/** One source of one subscription. */
export interface CompiledSource {
  readonly subscriptionId: string
  /** `tcp_connection_closed.v0` … */
  readonly kindName: string
  readonly destinationIds: readonly string[]
}

export interface EventSource<S> extends CompiledSource {
  /** Throws `ExpressionFailure`; undefined if every record is meant. */
  readonly filter: ((input: FilterInput<S>, budget: StepBudget) => boolean) | undefined
  readonly serialize: ObjectSerializer<S>
  readonly envelope: EnvelopeWriter
  /** Part of the ids of its events. */
  readonly purposeOf: (subject: S) => string
}

/** What the walk makes events from; a log action also says which one of which policy it is. */
type PipelineSubjects = { readonly [O in Origin]: O extends 'log_action' ? LogAction : Subjects[O] }

/** The sources of an account, by what their events are made from: records of each type, log actions. */
export type AccountSources = { readonly [O in Origin]: readonly EventSource<PipelineSubjects[O]>[] }

/** All subscriptions: an immutable view, like the policy set. */
export interface SubscriptionSet {
  readonly subscriptions: Parts<AccountSources>
  readonly serializers: Serializers
  readonly byAccount: ReadonlyMap<string, AccountSources>
}

/** Serializers by selection: one for all subscriptions that want the same fields of a kind. */
class Serializers {
  readonly #bySelection = new WeakMap<object, Map<string, unknown>>()

  of<R>(kind: TrafficEventKind<R>, fields: readonly string[] | null | undefined): ObjectSerializer<R> {
    const selection = [...new Set(fields ?? defaultFields(kind))].toSorted()
    const known = getOrMake(this.#bySelection, kind, () => new Map<string, unknown>())
    if (known.size >= serializersCachedMax) known.clear()
    // The map of a kind holds serializers for the kind's subject only.
    return getOrMake(known, selection.join(), () => compileSerializer(kind, selection)) as ObjectSerializer<R>
  }
}

/** Builds the view in slices; subscriptions that did not change since `previous` are taken over. */
export async function buildSubscriptionSet(
  source: ConfigurationSource,
  previous: SubscriptionSet | undefined,
  yieldTurn: () => Promise<void>,
  kinds: readonly AnyTrafficEvent[],
): Promise<SubscriptionSet> {
  const slices = new Slices(yieldTurn)
  const parts = new Parts(previous?.subscriptions)
  const serializers = previous?.serializers ?? new Serializers()
  const grouped = new Map<string, AccountSources[]>()
  for (const row of source.rowsOf('event_subscription')) {
    if (slices.isDue()) await slices.pause()
    const compiled =
      parts.reuse(row.id, row.version) ??
      parts.add(row.id, row.version, compileSubscription(row, serializers, kinds))
    getOrMake(grouped, row.account_id, () => []).push(compiled)
  }
  const byAccount = new Map([...grouped].map(([accountId, group]) => [accountId, merged(group)]))
  return { subscriptions: parts.complete(), serializers, byAccount }
}

const origins: readonly Origin[] = [...recordTypes, 'log_action']

/** Sources are filed under the origin of their kind, so each list holds sources for one type of subject. */
const filed = (sourcesFrom: (origin: Origin) => readonly EventSource<never>[]): AccountSources =>
  Object.fromEntries(origins.map((origin) => [origin, sourcesFrom(origin)])) as unknown as AccountSources

const merged = (group: readonly AccountSources[]): AccountSources =>
  filed((origin) => group.flatMap((sources): readonly EventSource<never>[] => sources[origin]))

/** Sources of audit kinds are left to `audit-routes.ts`. */
function compileSubscription(
  row: DeclaredRow<'event_subscription'>,
  serializers: Serializers,
  kinds: readonly AnyTrafficEvent[],
): AccountSources {
  const compileSources = (origin: Origin) =>
    kinds
      .filter(({ madeFrom }) => madeFrom === origin)
      .flatMap((kind) =>
        row.sources
          .filter(({ type }) => type === kind.name)
          .map((source) => compileSource(row, source, kind, serializers)),
      )
  return filed(compileSources)
}

function compileSource(
  row: DeclaredRow<'event_subscription'>,
  source: EventSourceRow,
  kind: AnyTrafficEvent,
  serializers: Serializers,
): EventSource<never> {
  return {
    subscriptionId: row.id,
    kindName: kind.name,
    destinationIds: [...new Set(row.destination_ids)],
    envelope: compileEnvelope(kind.name, row.account_id),
    filter: compileFilter(source, kind),
    serialize: serializers.of(kind, source.fields),
    purposeOf:
      kind.madeFrom === 'log_action' ? purposesOfLogs(row, kind.name) : purposeOfRecords(row, kind.name),
  }
}

/** A source makes one event of a record. */
function purposeOfRecords(row: DeclaredRow<'event_subscription'>, kindName: string): () => string {
  const purpose = purposePart(row.account_id, kindName, row.id)
  return () => purpose
}

/** Several log actions may run for a record. */
function purposesOfLogs(
  row: DeclaredRow<'event_subscription'>,
  kindName: string,
): (action: LogAction) => string {
  const purposes = new WeakMap<LogAction, string>()
  return (action) =>
    getOrMake(purposes, action, () =>
      purposePart(row.account_id, kindName, row.id, action.policyKey, action.actionIndex),
    )
}

/** A filter that compiled when it was saved and no longer does fails for each record, and is counted there. */
function compileFilter<R>({ filter }: EventSourceRow, kind: TrafficEventKind<R>): EventSource<R>['filter'] {
  if (!filter) return undefined
  const compiled = compileExpression(filter, kind.filterScope)
  if (compiled.ok) return (input, budget) => compiled.value.isTrue(input, budget)
  return () => {
    throw new ExpressionFailure(compiled.problem.msg)
  }
}
