/** The destination kinds in Markdown, from their declarations: a section per kind. */

import { packedEventsMax } from '../../delivery/deliver/aws/packed-limits.js'
import { packings } from '../../delivery/deliver/aws/packing.js'
import { type ListedKind, requestMaxSetting } from '../../delivery/deliver/kinds.js'
import { sizeText } from '../../ground/core/text/plural.js'
import { code, table } from './markdown.js'

const awsPage = 'destinations/aws.md'
const pageOf = ({ name, aws }: ListedKind): string =>
  aws !== undefined ? awsPage : `destinations/${name.replaceAll('_', '-')}.md`

/** The members of a JSON Schema that are read. */
interface SchemaNode {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly SchemaNode[]
  readonly items?: SchemaNode
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly additionalProperties?: SchemaNode | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}

type Row = readonly [member: string, value: string, meaning: string]

/** The schema of a member that may be null, too. */
const notNull = (node: SchemaNode): SchemaNode => node.anyOf?.find(({ type }) => type !== 'null') ?? node

const count = (number: number): string => number.toLocaleString('en')

/** A member, and those in it, by their paths. */
function rowsOf(path: string, declared: SchemaNode, isRequired: boolean): Row[] {
  const node = notNull(declared)
  const members = Object.entries(node.properties ?? {})
  const value = [allowedIn(node), isRequired ? 'required' : ''].filter((text) => text !== '').join(', ')
  return [
    [code(path), value, node.description ?? ''],
    ...members.flatMap(([name, member]) =>
      rowsOf(`${path}.${name}`, member, node.required?.includes(name) ?? false),
    ),
  ]
}

function allowedIn({ type, items, additionalProperties, ...node }: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map(code).join(', ')
  if (type === 'integer' || type === 'number') {
    const [from, to] = [node.minimum, node.maximum].map((bound) => (bound === undefined ? '' : count(bound)))
    return `number, ${from} to ${to}`
  }
  if (type === 'array') return `list, up to ${node.maxItems}: ${allowedIn(notNull(items ?? {}))}`
  if (typeof additionalProperties === 'object') return `map, up to ${node.maxProperties}`
  if (type === 'string') return node.maxLength === undefined ? 'text' : `text, up to ${count(node.maxLength)}`
  return type ?? ''
}

const targetOf = ({ name, address, aws, options }: ListedKind): string => {
  const others = [
    aws === undefined ? '' : ', "auth": …',
    aws?.packing === undefined ? '' : ', "packing": …',
    options === undefined ? '' : ', …',
  ]
  return code(`{"${name}": {"${address.field}": ${JSON.stringify(address.example)}${others.join('')}}}`)
}

const authRow: Row = [
  code('auth'),
  'object, required',
  `[A role, or a pair of keys](${awsPage}#authentication).`,
]
const packingRow: Row = [
  code('packing'),
  packings.map(code).join(', '),
  `[How many events a record holds](${awsPage}#packing). Default: ${code('none')}.`,
]

function members({ address, aws, options }: ListedKind): string {
  const { properties = {}, required = [] } = (options?.schema ?? {}) as SchemaNode
  const rows: Row[] = [
    [code(address.field), 'text, required', `Where events go, such as ${code(address.example)}.`],
    ...(aws === undefined ? [] : [authRow]),
    ...(aws?.packing === undefined ? [] : [packingRow]),
    ...Object.entries(properties).flatMap(([name, member]) => rowsOf(name, member, required.includes(name))),
  ]
  return table(['Member', 'Value', 'Meaning'], rows)
}

const hourMs = 3_600_000

function bounds(kind: ListedKind): string {
  const { limits, aws, requestBytes, keepsLineBreak, endpointSetting, directorySetting, spaceSetting } = kind
  const packing = aws?.packing
  const { eventsMax, eventBytesMax, spanMaxMs, lingerMs, wholePacks } = limits
  const packed = packing === undefined ? '' : ` (${count(packedEventsMax)} if they are packed)`
  const { max, default: usual } = requestBytes
  const range = usual < max ? `up to ${sizeText(max)}` : 'less'
  const request = `At most ${count(eventsMax)} ${eventsMax === 1 ? 'event' : 'events'} in a request${packed}, and ${sizeText(usual)} of them; ${range} with ${code(requestMaxSetting(kind))}.`
  const event = keepsLineBreak ? 'its JSON and a line feed' : 'its JSON'
  return [
    `An event is ${event}, of at most ${sizeText(eventBytesMax)}.`,
    request,
    packing && `A packed record has up to ${count(packing.recordBytes)} bytes, or one event.`,
    spanMaxMs && `The events of a request are at most ${spanMaxMs / hourMs} h apart.`,
    lingerMs && `A request that is not full waits up to ${lingerMs / 1000} s for more events.`,
    wholePacks && 'A request holds whole packs of events, so that a repeat is the same request.',
    endpointSetting && `${code(endpointSetting)} replaces the address of the service.`,
    directorySetting && `Only if the operator sets ${code(directorySetting)}.`,
    spaceSetting && `All files of an account have at most the bytes of ${code(spaceSetting)}.`,
  ]
    .filter((line) => line)
    .map((line) => `- ${line}`)
    .join('\n')
}

const sectionOf = (kind: ListedKind): string =>
  [
    `### ${kind.title[0]!.toUpperCase()}${kind.title.slice(1)}`,
    `${targetOf(kind)} · [more](${pageOf(kind)})`,
    kind.about,
    members(kind),
    bounds(kind),
  ].join('\n\n')

export const destinationSections = (kinds: readonly ListedKind[]): string => kinds.map(sectionOf).join('\n\n')
