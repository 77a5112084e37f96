/** Declaration of an occurrence, and its binding to a function that writes the log line and moves the counter. */
import { after } from '../clock.js'
import type { Logger } from './log.js'
import {
  type Combine,
  counterOf,
  gaugeOf,
  histogramOf,
  type Level,
  levelsOf,
  type Registry,
} from './metrics.js'

type LogLevel = 'info' | 'warn' | 'error'

type SilentKind = 'count' | 'gauge' | 'levels' | 'timing'

/**
 * Values of labels that are known: the counter begins at 0 for each of them, because an increase is seen only from a value
 * that was there before. What is known elsewhere begins where it is known: by a call with 0, which logs nothing.
 */
type Known<Label extends string> = Readonly<Partial<Record<Label, readonly string[]>>>
type AnyKnown = Readonly<Record<string, readonly string[] | undefined>>

interface Spec<Label extends string, Kind extends LogLevel | SilentKind> {
  readonly kind: Kind
  /** The log line; empty for a plain counter or gauge. */
  readonly msg: string
  readonly metric: string
  readonly help: string
  readonly labels: readonly Label[]
  /** Values of labels that a counter has from the start. */
  readonly known: AnyKnown
  /** How the values of several processes with equal labels become one. */
  readonly combine: Combine
  /** Upper bounds of a histogram's buckets, in seconds. */
  readonly buckets?: readonly number[]
  /** See `boundedInfo`. */
  readonly isBounded?: boolean
}

const logged =
  <Kind extends LogLevel>(kind: Kind, isBounded = false) =>
  <const Label extends string = never>(
    msg: string,
    metric: string,
    help: string,
    labels: readonly Label[] = [],
    known?: Known<NoInfer<Label>>,
  ): Spec<Label, Kind> => ({ kind, msg, metric, help, labels, known: known ?? {}, combine: 'sum', isBounded })

const silent =
  <Kind extends SilentKind>(kind: Kind) =>
  <const Label extends string = never>(
    metric: string,
    help: string,
    labels: readonly Label[] = [],
    combine: Combine = 'sum',
  ): Spec<Label, Kind> => ({ kind, msg: '', metric, help, labels, known: {}, combine })

/** Values of labels of several counters. */
export const decisions: readonly string[] = ['allow', 'block', 'deny']

export const info = logged('info')
export const warn = logged('warn')
export const error = logged('error')
/**
 * For what senders of records or requests can cause as often as they like: of more lines than a person reads in a minute,
 * only the number is logged, at its end. The counter counts all.
 */
export const boundedInfo = logged('info', true)
export const boundedWarn = logged('warn', true)
export const boundedError = logged('error', true)
export const count = <const Label extends string = never>(
  metric: string,
  help: string,
  labels: readonly Label[] = [],
  known?: Known<NoInfer<Label>>,
): Spec<Label, 'count'> => ({ ...silent('count')(metric, help, labels), known: known ?? {} })
export const gauge = silent('gauge')
export const levels = silent('levels')
/** A histogram of durations. */
export const timing = <const Label extends string>(
  metric: string,
  help: string,
  labels: readonly Label[],
  buckets: readonly number[],
): Spec<Label, 'timing'> => ({ ...silent('timing')(metric, help, labels), buckets })

type AnySpec = Spec<string, LogLevel | SilentKind>
type Fields<Label extends string> = Readonly<Record<Label, string>> & Readonly<Record<string, unknown>>
type Call<S> =
  S extends Spec<infer Label, infer Kind>
    ? Kind extends 'gauge' | 'timing'
      ? (fields: Fields<Label>, value: number) => void
      : Kind extends 'levels'
        ? (read: () => Iterable<Level<Label>>) => void
        : (fields: Fields<Label>, by?: number) => void
    : never

export type Calls<Table> = { readonly [Name in keyof Table]: Call<Table[Name]> }

export interface OccurrencesOptions {
  readonly logger: Logger
  readonly registry: Registry
}

/** Each entry of the table as a function, bound to the logger and registry of one process. */
export function bindOccurrences<Table extends Readonly<Record<string, AnySpec>>>(
  table: Table,
  options: OccurrencesOptions,
): Calls<Table> {
  const bound = Object.fromEntries(Object.entries(table).map(([name, spec]) => [name, bind(spec, options)]))
  // `Object.fromEntries` loses the types of the labels; the table has them.
  return bound as unknown as Calls<Table>
}

function bind(spec: AnySpec, { logger, registry }: OccurrencesOptions) {
  if (spec.kind === 'levels') return levelsOf(registry, spec)
  const labelsOf = pick(spec.labels)
  if (spec.kind === 'gauge') {
    const level = gaugeOf(registry, spec)
    return (fields: Fields<string>, value: number) => level.set(labelsOf(fields), value)
  }
  if (spec.kind === 'timing') {
    const histogram = histogramOf(registry, { ...spec, buckets: spec.buckets ?? [] })
    return (fields: Fields<string>, seconds: number) => histogram.observe(labelsOf(fields), seconds)
  }
  const counter = counterOf(registry, spec.metric, spec.help, spec.labels)
  if (spec.labels.every((label) => spec.known[label] !== undefined))
    for (const labels of everyOf(spec.known)) counter.inc(labels, 0)
  const log = spec.kind === 'count' ? undefined : lineWriter(logger, spec.kind, spec)
  return (fields: Fields<string>, by = 1) => {
    counter.inc(labelsOf(fields), by)
    if (by > 0) log?.(fields)
  }
}

/** Every combination of these values. */
function everyOf(known: AnyKnown): readonly Readonly<Record<string, string>>[] {
  let found: readonly Readonly<Record<string, string>>[] = [{}]
  for (const [label, values = []] of Object.entries(known))
    found = found.flatMap((each) => values.map((value) => ({ ...each, [label]: value })))
  return found
}

const linesPerMinuteMax = 60
const minuteMs = 60_000

function lineWriter(logger: Logger, level: LogLevel, { msg, isBounded }: AnySpec): (fields: object) => void {
  const write = (fields: object): void => logger[level](fields, msg)
  if (!isBounded) return write
  let lines = 0
  const endMinute = (): void => {
    const left_out = lines - linesPerMinuteMax
    lines = 0
    if (left_out > 0) logger[level]({ left_out }, `${msg} Of the last minute, so many lines were left out.`)
  }
  return (fields) => {
    if (lines === 0) after(minuteMs, endMinute)
    lines += 1
    if (lines <= linesPerMinuteMax) write(fields)
  }
}

const pick = (labels: readonly string[]) => (fields: Fields<string>) =>
  Object.fromEntries(labels.map((label) => [label, String(fields[label])]))
