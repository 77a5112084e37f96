/**
 * Which decisions a search selects. Its parameters in the URL have the names that the API gives them, so that any page can
 * link to a search.
 */

import { timeIn } from '../../../../ground/core/text/units.js'
import type { Client, StatsOptions } from '../../../../words/client/client.js'
import type { DecisionsOptions, RowTime } from '../../../../words/client/decisions.js'
import type { Stats } from '../../../../words/shape/stats.js'
import { now } from '../clock.js'
import { parameter } from '../location.js'
import { recordsAndPast } from './row-times.js'

/** Does a selection go by when records began? */
export const isByOwnTime = ({ source, time }: Pick<Selection, 'source' | 'time'>): boolean =>
  time === 'own' || (time === '' && source === 'history')

/** Those that select, except for the time and the source. */
export const selectingNames = [
  'client',
  'decision',
  'decided_by',
  'edge_id',
  'route_id',
  'rule_id',
  'policy',
  'country',
  'asn',
  'record_id',
  'filter',
] as const

type SelectingName = (typeof selectingNames)[number]

export type Selection = Readonly<Record<SelectingName, string>> & {
  /** As the API takes it; empty: since the log begins. */
  readonly since: string
  readonly until: string
  readonly source: (typeof sources)[number]
  /** Empty: when decisions were stored, but of the past, when they began. */
  readonly time: RowTime | ''
}

const sources = ['record', 'asked', 'history', recordsAndPast, 'any'] as const

export const defaultSince = '24h'
/** In place of `since`: as far as the log goes back. */
export const sinceEver = 'ever'

/** The selection in the URL. */
export function selectionNow(): Selection {
  const given = Object.fromEntries(selectingNames.map((name) => [name, parameter(name)]))
  const since = parameter('since') || defaultSince
  const source = parameter('source')
  const time = parameter('time')
  return {
    ...(given as Record<SelectingName, string>),
    since: since === sinceEver ? '' : since,
    until: parameter('until'),
    source: sources.find((each) => each === source) ?? 'record',
    time: time === 'own' || time === 'stored' ? time : '',
  }
}

/** For the typed client. Empty ones are left out: the API refuses them. */
export function optionsOf({ source, ...selection }: Selection): DecisionsOptions {
  const { decided_by, edge_id, route_id, rule_id, record_id, ...others } = selection
  const named = {
    ...others,
    decidedBy: decided_by,
    edgeId: edge_id,
    routeId: route_id,
    ruleId: rule_id,
    recordId: record_id,
    source: source === 'any' ? '' : source,
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ''))
}

/** For a request of one's own: a query with the names of the API. */
export function queryOf({ source, ...selection }: Selection): URLSearchParams {
  const given = Object.entries({ ...selection, source: source === 'any' ? '' : source })
  return new URLSearchParams(given.filter(([, value]) => value !== ''))
}

/** How far sums go back for a search without a beginning: as long as logs are kept by default. */
const everDays = 30
const dayMs = 24 * 60 * 60_000

/** When the sums of a search begin and end, in milliseconds. */
export function rangeOf({ since, until }: Selection): { readonly sinceMs: number; readonly untilMs: number } {
  const untilMs = until === '' ? now() : timeOf(until)
  return { sinceMs: since === '' ? untilMs - everDays * dayMs : timeOf(since), untilMs }
}

/**
 * Sums of what a search selects: of each source by itself, if it selects any. Records of the past have sums by own times
 * only.
 */
export async function sumsFor(
  client: Client,
  selection: Selection,
  options: Pick<StatsOptions, 'interval' | 'by' | 'values'>,
): Promise<Stats> {
  const { source: _, ...selecting } = optionsOf(selection)
  const since = selection.since || new Date(rangeOf(selection).sinceMs).toISOString()
  const { source } = selection
  const past = isByOwnTime(selection) ? (['history'] as const) : []
  const sources = source === 'any' ? (['record', 'asked', ...past] as const) : [source]
  const [first, ...others] = await Promise.all(
    sources.map((each) => client.stats({ ...selecting, ...options, since, source: each })),
  )
  const all = [first!, ...others]
  // All sources are counted since the latest of these times.
  const reached_at =
    all
      .flatMap((each) => each.reached_at ?? [])
      .sort()
      .at(-1) ?? null
  return { ...first!, counts: all.flatMap(({ counts }) => counts), reached_at }
}

/** A time in milliseconds; a length of time is before now. */
const timeOf = (text: string): number => timeIn(text, now()) ?? Number.NaN
