/**
 * The bytes of an event: its envelope, and the selected fields nested in `object`.
 *
 * They are compiled once per kind and selection: the JSON between the values becomes a template (`wire/event-template.ts`),
 * and per record only the values are written.
 */

import { hash } from 'node:crypto'
import { EventTemplate, eventHead } from '../../delivery/wire/event-template.js'
import { type DottedTree, treeOfDotted } from '../../ground/core/text/dotted.js'
import type { JsonBytes } from '../../ground/core/text/json-bytes.js'
import type { Field, ShownDecision, TrafficEventKind } from './define.js'

const tab = 0x09
const lineFeed = 0x0a

/** An event's `object`, for one selection of fields. */
export interface EventObject<R> {
  /** Writes the value of each field behind a tab, and a line feed. */
  readonly writeValues: (record: R, decided: ShownDecision, out: JsonBytes) => void
  /** The JSON before the first value, between two values, and behind the last one. */
  readonly pieces: readonly string[]
}

/** The fields that are sent if a source selects none. */
export const defaultFields = <R>({ fields }: TrafficEventKind<R>): readonly string[] =>
  [...fields].flatMap(([name, { optIn }]) => (optIn ? [] : [name]))

/** For the fields of this selection; throws for names that the kind does not have. */
export function compileObject<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[] = defaultFields(kind),
): EventObject<R> {
  const { pieces, fields } = partsOf(kind, selection)
  const writeValues: EventObject<R>['writeValues'] = (record, decided, out) => {
    for (let index = 0; index < fields.length; index += 1) {
      const { read, write } = fields[index]!
      out.byte(tab)
      const value = read(record, decided)
      if (value === undefined || value === null) out.ascii('null')
      else write(value, out)
    }
    out.byte(lineFeed)
  }
  return { writeValues, pieces }
}

interface ValueField<R> {
  readonly read: Field<R>['read']
  readonly write: (value: unknown, out: JsonBytes) => void
}

function partsOf<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[],
): { pieces: string[]; fields: ValueField<R>[] } {
  const pieces: string[] = []
  const fields: ValueField<R>[] = []
  let piece = ''
  const write = (tree: DottedTree<Field<R>>) => {
    piece += '{'
    let separator = ''
    for (const [name, member] of tree) {
      piece += `${separator}${JSON.stringify(name)}:`
      separator = ','
      if (member instanceof Map) {
        write(member)
      } else {
        fields.push({ read: member.read, write: member.write as ValueField<R>['write'] })
        pieces.push(piece)
        piece = ''
      }
    }
    piece += '}'
  }
  write(treeOf(kind, selection))
  return { pieces: [...pieces, piece], fields }
}

/** In the order of the kind, not of the selection: equal selections give equal bytes. */
function treeOf<R>(kind: TrafficEventKind<R>, selection: readonly string[]): DottedTree<Field<R>> {
  const unknown = selection.find((name) => !kind.fields.has(name))
  if (unknown !== undefined) throw new Error(`${kind.name} has no field ${unknown}.`)
  const selected = new Set(selection)
  return treeOfDotted([...kind.fields].filter(([name]) => selected.has(name)))
}

/** The parts of events that are the same for all records. */
interface EventConstants {
  readonly kindName: string
  readonly accountId: string
  /** The part of their ids that the events of a record don't share. */
  readonly purposePart: string
}

/** Traffic events have no principal. */
export function templateOf<R>(
  { kindName, accountId, purposePart }: EventConstants,
  { pieces: [first, ...others] }: EventObject<R>,
): EventTemplate {
  const beforeTime = `${purposePart}","event_type":${JSON.stringify(kindName)},"event_timestamp":"`
  const behindTime = `","account_id":${JSON.stringify(accountId)},"object":${first}`
  const pieces = [`${eventHead}${eventIdPrefix}`, beforeTime, behindTime, ...others]
  return EventTemplate.of(pieces.with(-1, `${pieces.at(-1)}}`))
}

/**
 * Ids of traffic events: the same record gives the same ids again, so that consumers can drop repeats.
 *
 * An id is `ev_`, a hash of the record's id, and a hash of what the event is for: account, kind, subscription, and for
 * `log.v0` the policy and which of its actions. The first hash is computed once per
 * record, the second once per subscription. Ids of events of one record begin alike.
 */
const eventIdPrefix = 'ev_'
/** 128 bits, for no two records must ever share it. */
const recordDigits = 32
/** 64 bits: a record has a handful of events. */
const purposeDigits = 16

/** The part of an event's id that all events of the record share, in ASCII. */
export class RecordPart {
  static readonly byteLength = recordDigits
  readonly #recordId: string
  /** Made for the first event: many records have none. */
  #hash: string | undefined

  constructor(recordId: string) {
    this.#recordId = recordId
  }

  write(out: JsonBytes): void {
    this.#hash ??= hash('sha256', this.#recordId, 'hex')
    out.ascii(this.#hash, recordDigits)
  }
}

/** The part that differs between the events of a record. */
export const purposePart = (...purpose: readonly (string | number)[]): string =>
  hash('sha256', JSON.stringify(purpose), 'hex').slice(0, purposeDigits)
