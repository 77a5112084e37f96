/**
 * The bytes of an event: its envelope, and the selected fields nested in `object`.
 *
 * A serializer is compiled once per kind and selection. The text between two values is prepared then; per record only
 * the values are written.
 */
import { type DottedTree, treeOfDotted } from '../core/dotted.js'
import { eventHead } from '../wire/pack.js'
import type { Field, ShownDecision, TrafficEventKind } from './define.js'
import { quoted } from './json.js'

/** The JSON of an event's `object`. */
export type ObjectSerializer<R> = (record: R, decided: ShownDecision) => string

/** The fields that are sent if a source selects none. */
export const defaultFields = <R>({ fields }: TrafficEventKind<R>): readonly string[] =>
  [...fields].flatMap(([name, { optIn }]) => (optIn ? [] : [name]))

/** Writes the fields of this selection; throws for names that the kind does not have. */
export function compileSerializer<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[] = defaultFields(kind),
): ObjectSerializer<R> {
  const { pieces, end } = piecesOf(kind, selection)
  const endInQuotes = `"${end}`
  return (record, decided) => {
    let json = ''
    let inQuotes = false
    for (let index = 0; index < pieces.length; index += 1) {
      const piece = pieces[index]!
      const value = piece.read(record, decided)
      if (value === undefined || value === null) {
        json += inQuotes ? piece.fromQuotesNull : piece.plainNull
        inQuotes = false
      } else if (piece.inQuotes) {
        json += (inQuotes ? piece.fromQuotesToQuotes : piece.toQuotes) + piece.write(value)
        inQuotes = true
      } else {
        json += (inQuotes ? piece.fromQuotes : piece.plain) + piece.write(value)
        inQuotes = false
      }
    }
    return json + (inQuotes ? endInQuotes : end)
  }
}

/**
 * A value, and the text between it and the one before. Quotes around either value belong to that text: joining one
 * more part costs as much as copying its characters.
 */
interface Piece<R> {
  readonly read: Field<R>['read']
  readonly write: (value: unknown) => string
  readonly inQuotes: boolean
  readonly plain: string
  readonly toQuotes: string
  readonly fromQuotes: string
  readonly fromQuotesToQuotes: string
  readonly plainNull: string
  readonly fromQuotesNull: string
}

const pieceOf = <R>({ read, write, inQuotes }: Field<R>, plain: string): Piece<R> => ({
  read,
  write: write as (value: unknown) => string,
  inQuotes,
  plain,
  toQuotes: `${plain}"`,
  fromQuotes: `"${plain}`,
  fromQuotesToQuotes: `"${plain}"`,
  plainNull: `${plain}null`,
  fromQuotesNull: `"${plain}null`,
})

function piecesOf<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[],
): { pieces: Piece<R>[]; end: string } {
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
        pieces.push(pieceOf(member, before))
        before = ''
      }
    }
    before += '}'
  }
  write(treeOf(kind, selection))
  return { pieces, end: before }
}

/** In the order of the kind, not of the selection: equal selections give equal bytes. */
function treeOf<R>(kind: TrafficEventKind<R>, selection: readonly string[]): DottedTree<Field<R>> {
  const unknown = selection.find((name) => !kind.fields.has(name))
  if (unknown !== undefined) throw new Error(`${kind.name} has no field ${unknown}.`)
  const selected = new Set(selection)
  return treeOfDotted([...kind.fields].filter(([name]) => selected.has(name)))
}

/** Writes whole events of one kind for one account. */
export type EnvelopeWriter = (eventId: string, timestamp: string, objectJson: string) => string

/** The envelope of traffic events, which have no principal; `timestamp` is RFC 3339 with milliseconds. */
export function compileEnvelope(kindName: string, accountId: string): EnvelopeWriter {
  const afterId = `","event_type":${quoted(kindName)},"event_timestamp":"`
  const afterTimestamp = `","account_id":${quoted(accountId)},"object":`
  return (eventId, timestamp, objectJson) =>
    `${eventHead}${eventId}${afterId}${timestamp}${afterTimestamp}${objectJson}}`
}
