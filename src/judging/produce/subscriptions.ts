/** Event subscriptions, compiled: per account and subject of events, what to write and where it goes. */

import { recordTypes } from '../../delivery/record/traffic-record.js'
import type { EventTemplate } from '../../delivery/wire/event-template.js'
import { compiledOnceMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import { Slices } from '../../ground/core/slices.js'
import { compileExpression } from '../../ground/expr/expression.js'
import { ExpressionFailure } from '../../ground/expr/run.js'
import type { AnyTrafficEvent, Origin, TrafficEventKind } from '../../words/event/define.js'
import {
  compileObject,
  defaultFields,
  type EventObject,
  purposePart,
  templateOf,
} from '../../words/event/envelope.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { Parts } from '../evaluate/parts.js'
import type { ConfigurationSource, EventSourceRow } from '../evaluate/policy-source.js'
import type { LogAction } from '../evaluate/traffic-policy.js'
import { type AccountSources, type EventSource, type SourceFilter, SourceList } from './source-list.js'

/** The sources of one subscription. */
type SubscriptionSources = Readonly<Record<Origin, readonly EventSource<never>[]>>

/** All subscriptions: an immutable view, like the policy set. */
export interface SubscriptionSet {
  readonly subscriptions: Parts<SubscriptionSources>
  readonly compiled: CompiledOnce
  readonly byAccount: ReadonlyMap<string, AccountSources>
}

/** Compiles equal parts of several subscriptions once: selections of fields, and filters. */
class CompiledOnce {
  readonly #objects = new WeakMap<object, Map<string, unknown>>()
  readonly #filters = new WeakMap<object, Map<string, unknown>>()

  object<R>(kind: TrafficEventKind<R>, fields: readonly string[] | null | undefined): EventObject<R> {
    const selection = [...new Set(fields ?? defaultFields(kind))].toSorted()
    const make = () => compileObject(kind, selection)
    // The map of a kind holds what is compiled for the kind's subject only.
    return knownOrMade(this.#objects, kind, selection.join(), make) as EventObject<R>
  }

  filter<R>(kind: TrafficEventKind<R>, text: string): SourceFilter<R> {
    return knownOrMade(this.#filters, kind, text, () => compileFilter(kind, text)) as SourceFilter<R>
  }
}

function knownOrMade(
  byKind: WeakMap<object, Map<string, unknown>>,
  kind: object,
  text: string,
  make: () => unknown,
): unknown {
  const known = getOrMake(byKind, kind, () => new Map<string, unknown>())
  if (known.size >= compiledOnceMax) known.clear()
  return getOrMake(known, text, make)
}

/** Builds the view in slices; subscriptions that did not change since `previous` are taken over. */
export async function buildSubscriptionSet(
  source: ConfigurationSource,
  previous: SubscriptionSet | undefined,
  yieldTurn: () => Promise<void>,
  kinds: readonly AnyTrafficEvent[],
): Promise<SubscriptionSet> {
  const slices = new Slices({ letOthers: yieldTurn })
  const parts = new Parts(previous?.subscriptions)
  const once = previous?.compiled ?? new CompiledOnce()
  const grouped = new Map<string, SubscriptionSources[]>()
  for (const row of source.rowsOf('event_subscription')) {
    if (slices.isDue()) await slices.pause()
    const compiled =
      parts.reuse(row.id, row.version) ??
      parts.add(row.id, row.version, compileSubscription(row, once, kinds))
    getOrMake(grouped, row.account_id, () => []).push(compiled)
  }
  const byAccount = new Map<string, AccountSources>()
  for (const [accountId, group] of grouped) {
    if (slices.isDue()) await slices.pause()
    byAccount.set(accountId, merged(group, previous?.byAccount.get(accountId)))
  }
  return { subscriptions: parts.complete(), compiled: once, byAccount }
}

const origins: readonly Origin[] = [...recordTypes, 'log_action', 'difference']

/** Sources are filed under the origin of their kind, so each list holds sources for one type of subject. */
const byOrigin = <T>(make: (origin: Origin) => T): Readonly<Record<Origin, T>> =>
  Object.fromEntries(origins.map((origin) => [origin, make(origin)])) as Readonly<Record<Origin, T>>

/** A list that has the same sources as before keeps its index. */
function merged(group: readonly SubscriptionSources[], previous: AccountSources | undefined): AccountSources {
  const lists = byOrigin((origin) => {
    const sources = group.flatMap((subscription) => subscription[origin])
    const known: SourceList<never> | undefined = previous?.[origin]
    return known !== undefined && isSame(known.sources, sources) ? known : new SourceList(sources)
  })
  return lists as unknown as AccountSources
}

const isSame = <T>(one: readonly T[], other: readonly T[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index])

/** Sources of audit kinds are left to `pipeline/audit-pipeline.ts`. */
function compileSubscription(
  row: DeclaredRow<'event_subscription'>,
  once: CompiledOnce,
  kinds: readonly AnyTrafficEvent[],
): SubscriptionSources {
  const compileSources = (origin: Origin) =>
    kinds
      .filter(({ madeFrom }) => madeFrom === origin)
      .flatMap((kind) =>
        row.sources
          .filter(({ type }) => type === kind.name)
          .map((source) => compileSource(row, source, kind, once)),
      )
  return byOrigin(compileSources)
}

function compileSource(
  row: DeclaredRow<'event_subscription'>,
  source: EventSourceRow,
  kind: AnyTrafficEvent,
  once: CompiledOnce,
): EventSource<never> {
  const object = once.object(kind, source.fields)
  const templateFor = (...action: readonly (string | number)[]): EventTemplate => {
    const purpose = purposePart(row.account_id, kind.name, row.id, ...action)
    return templateOf({ kindName: kind.name, accountId: row.account_id, purposePart: purpose }, object)
  }
  return {
    subscriptionId: row.id,
    kindName: kind.name,
    destinationIds: [...new Set(row.destination_ids)],
    filter: source.filter ? once.filter(kind, source.filter) : undefined,
    object,
    templateOf:
      kind.madeFrom === 'log_action' ? templatesOfLogs(templateFor) : templateOfRecords(templateFor),
  }
}

/** Templates are made when the first event needs them: few of many subscriptions match. */
type TemplateMaker = (...action: readonly (string | number)[]) => EventTemplate

/** A source makes one event of a record. */
function templateOfRecords(make: TemplateMaker): () => EventTemplate {
  let template: EventTemplate | undefined
  return () => {
    template ??= make()
    return template
  }
}

/** Several log actions may run for a record. */
function templatesOfLogs(make: TemplateMaker): (action: LogAction) => EventTemplate {
  const templates = new WeakMap<LogAction, EventTemplate>()
  return (action) => getOrMake(templates, action, () => make(action.policyKey, action.actionIndex))
}

/** A filter that compiled when it was saved and no longer does fails for each record, and is counted there. */
function compileFilter<R>({ filterScope }: TrafficEventKind<R>, text: string): SourceFilter<R> {
  const compiled = compileExpression(text, filterScope)
  if (compiled.ok) return compiled.value
  const fail = () => {
    throw new ExpressionFailure(compiled.problem.msg)
  }
  return { isTrue: fail, requirement: undefined }
}
