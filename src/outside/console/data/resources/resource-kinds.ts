/** Kinds of resources: what people call them, and the operations of a resource that is known by its id. */

import type { ChangesOptions } from '../../../../words/client/changes.js'
import type { Client } from '../../../../words/client/client.js'
import type { WriteOptions } from '../../../../words/client/collection.js'
import { kindTable } from '../../../../words/client/kind-table.js'
import type { Change } from '../../../../words/shape/decisions/change-schema.js'

/** The operations that every kind has. */
interface ResourceOperations {
  get(id: string): Promise<unknown>
  changes(id: string, options?: ChangesOptions): AsyncIterable<Change>
  restore(id: string, version: number, options?: WriteOptions): Promise<unknown>
}

const abbreviations = new Set(['api', 'https', 'ip', 'ssh', 'tcp', 'tls'])
/** Words of a kind that people write otherwise. */
const words: Readonly<Record<string, string>> = { addr: 'address' }

/** `tls_certificate` as `TLS certificate`. */
export const kindTitle = (kind: string): string =>
  kind
    .split('_')
    .map((word) => (abbreviations.has(word) ? word.toUpperCase() : (words[word] ?? word)))
    .join(' ')

/** The client's name of a kind: `tcpEdge` of `tcp_edge`. */
const clientName = (kind: string): string =>
  kind.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The opposite. */
function kindName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Every kind that the API serves. */
export const kinds: readonly string[] = Object.keys(kindTable).map(kindName)

/** The operations of a kind; of one that lives below another, given the id of that. Undefined: there are none. */
export function operationsOf(
  client: Client,
  kind: string,
  parentId?: string,
): ResourceOperations | undefined {
  const name = clientName(kind)
  const paths = Object.hasOwn(kindTable, name) ? kindTable[name] : undefined
  if (paths === undefined) return undefined
  const operations = client[name as keyof Client] as unknown
  if (paths.parentField === undefined) return operations as ResourceOperations
  if (parentId === undefined) return undefined
  return (operations as { under(id: string): ResourceOperations }).under(parentId)
}

const kindsByPrefix: ReadonlyMap<string, string> = new Map(
  Object.entries(kindTable).map(([name, { idPrefix }]) => [idPrefix, kindName(name)]),
)

/** The kind of a resource by its id; undefined for a text that is no id of a kind that the API serves. */
export const kindOfId = (id: string): string | undefined => kindsByPrefix.get(/^[a-z]+_/.exec(id)?.[0] ?? '')
