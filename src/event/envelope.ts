/**
 * The bytes of an event: its envelope, and the selected fields nested in `object`.
 *
 * A serializer is compiled once per kind and selection. The text between two values is prepared then; per record only
 * the values are written.
 */
import { type DottedTree, treeOfDotted } from '../core/dotted.js'
import type { JsonBytes } from '../core/json-bytes.js'
import type { Field, ShownDecision, TrafficEventKind } from './define.js'

/** Writes an event's `object`. */
export type ObjectSerializer<R> = (record: R, decided: ShownDecision, out: JsonBytes) => void

/** The fields that are sent if a source selects none. */
export const defaultFields = <R>({ fields }: TrafficEventKind<R>): readonly string[] =>
  [...fields].flatMap(([name, { optIn }]) => (optIn ? [] : [name]))

/** Writes the fields of this selection; throws for names that the kind does not have. */
export function compileSerializer<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[] = defaultFields(kind),
): ObjectSerializer<R> {
  const { pieces, end } = piecesOf(kind, selection)
  return (record, decided, out) => {
    for (let index = 0; index < pieces.length; index += 1) {
      const { before, read, write } = pieces[index]!
      out.bytes(before)
      const value = read(record, decided)
      if (value === undefined || value === null) out.ascii('null')
      else write(value, out)
    }
    out.bytes(end)
  }
}

/** A value, and the JSON between it and the one before. */
interface Piece<R> {
  readonly before: Uint8Array
  readonly read: Field<R>['read']
  readonly write: (value: unknown, out: JsonBytes) => void
}

function piecesOf<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[],
): { pieces: Piece<R>[]; end: Uint8Array } {
  const pieces: Piece<R>[] = []
  let before = ''
  const write = (tree: DottedTree<Field<R>>) => {
    before += '{'
    let separator = ''
    for (const [name, member] of tree) {
      before += `${separator}${JSON.stringify(name)}:`
      separator = ','
      if (member instanceof Map) {
        write(member)
      } else {
        pieces.push({
          before: Buffer.from(before),
          read: member.read,
          write: member.write as Piece<R>['write'],
        })
        before = ''
      }
    }
    before += '}'
  }
  write(treeOf(kind, selection))
  return { pieces, end: Buffer.from(before) }
}

/** In the order of the kind, not of the selection: equal selections give equal bytes. */
function treeOf<R>(kind: TrafficEventKind<R>, selection: readonly string[]): DottedTree<Field<R>> {
  const unknown = selection.find((name) => !kind.fields.has(name))
  if (unknown !== undefined) throw new Error(`${kind.name} has no field ${unknown}.`)
  const selected = new Set(selection)
  return treeOfDotted([...kind.fields].filter(([name]) => selected.has(name)))
}

/** Writes what stands between the id of an event and its `object`; `timestamp` is RFC 3339 with milliseconds. */
export type EnvelopeWriter = (timestamp: string, out: JsonBytes) => void

/** The envelope of traffic events, which have no principal. It begins where the id ends. */
export function compileEnvelope(kindName: string, accountId: string): EnvelopeWriter {
  const beforeTimestamp = Buffer.from(`","event_type":${JSON.stringify(kindName)},"event_timestamp":`)
  const afterTimestamp = Buffer.from(`,"account_id":${JSON.stringify(accountId)},"object":`)
  return (timestamp, out) => {
    out.bytes(beforeTimestamp)
    out.quoted(timestamp)
    out.bytes(afterTimestamp)
  }
}

/** What stands behind the `object`, with the line feed that ends each event. */
export const envelopeEnd = Buffer.from('}\n')
