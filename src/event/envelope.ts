/**
 * The bytes of an event: its envelope, and the selected fields nested in `object`.
 *
 * A serializer is compiled once per kind and selection: the text between two values is put together then, and per
 * record only values are written into it.
 */
import { eventHead } from '../deliver/pack.js'
import type { Decided, Field, TrafficEventKind } from './define.js'
import { quoted } from './json.js'

/** The JSON of an event's `object`. */
export type ObjectSerializer<R> = (record: R, decided: Decided) => string

/** Writes the fields of this selection, all of them by default; names that the kind lacks are a broken invariant. */
export function compileSerializer<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[] = [...kind.fields.keys()],
): ObjectSerializer<R> {
  const { pieces, end } = piecesOf(kind, selection)
  return (record, decided) => {
    let json = ''
    for (let at = 0; at < pieces.length; at += 1) {
      const piece = pieces[at]!
      json += piece.before + piece.json(record, decided)
    }
    return json + end
  }
}

/** A value, and the text between it and the one before. */
interface Piece<R> {
  readonly before: string
  readonly json: Field<R>['json']
}

/** Members by name: a field, or the members below. */
type Tree<R> = Map<string, Field<R> | Tree<R>>

function piecesOf<R>(
  kind: TrafficEventKind<R>,
  selection: readonly string[],
): { pieces: Piece<R>[]; end: string } {
  const pieces: Piece<R>[] = []
  let before = ''
  const write = (tree: Tree<R>) => {
    before += '{'
    let separator = ''
    for (const [name, member] of tree) {
      before += `${separator}${JSON.stringify(name)}:`
      separator = ','
      if (member instanceof Map) {
        write(member)
      } else {
        pieces.push({ before, json: member.json })
        before = ''
      }
    }
    before += '}'
  }
  write(treeOf(kind, selection))
  return { pieces, end: before }
}

/** In the order of the kind, not of the selection: equal selections give equal bytes. */
function treeOf<R>(kind: TrafficEventKind<R>, selection: readonly string[]): Tree<R> {
  const unknown = selection.find((name) => !kind.fields.has(name))
  if (unknown !== undefined) throw new Error(`${kind.name} has no field ${unknown}.`)
  const selected = new Set(selection)
  const root: Tree<R> = new Map()
  for (const [name, field] of kind.fields) {
    if (!selected.has(name)) continue
    const path = name.split('.')
    const leaf = path.pop()!
    let tree = root
    for (const group of path) {
      const below = tree.get(group) ?? new Map()
      tree.set(group, below)
      tree = below as Tree<R>
    }
    tree.set(leaf, field)
  }
  return root
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

export interface AuditEnvelope {
  readonly eventId: string
  readonly eventType: string
  /** RFC 3339, milliseconds. */
  readonly eventTimestamp: string
  readonly accountId: string
  /** As JSON. */
  readonly principalJson: string
  /** As JSON. */
  readonly objectJson: string
}

/** The bytes of an audit event. */
export const renderAuditEvent = (event: AuditEnvelope): string =>
  `${eventHead}${event.eventId}","event_type":${quoted(event.eventType)},"event_timestamp":"${event.eventTimestamp}",` +
  `"account_id":${quoted(event.accountId)},"principal":${event.principalJson},"object":${event.objectJson}}`
