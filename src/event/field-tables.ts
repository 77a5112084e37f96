/** The field reference and the destination kinds as tables in Markdown, for the documents and the API reference. */
import { sizeText } from '../core/text/plural.js'
import { packedEventsMax } from '../deliver/aws/packed-limits.js'
import type { DestinationKind } from '../deliver/destination.js'
import { destinationKinds, requestMaxSetting } from '../deliver/kinds.js'
import type { FieldReference } from './field-reference.js'

const code = (text: string): string => `\`${text}\``

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
    .replace(/^\| --- .*$/m, (line) => line.replaceAll(' ', ''))

const typeOf = ({ type, unit }: { readonly type: string; readonly unit?: string }): string =>
  unit === undefined ? type : `${type}, ${unit}`

const yes = (flag: boolean): string => (flag ? 'yes' : '')

/** The fields of each type of record. */
const recordTables = ({ records }: FieldReference): string =>
  records
    .map(({ type, fields }) => {
      const rows = fields.map((field) => [code(field.name), typeOf(field), yes(field.required), field.about])
      return `${code(type)}:\n\n${table(['Field', 'Type', 'Required', 'Meaning'], rows)}`
    })
    .join('\n\n')

/** The fields of each kind of traffic event. */
const eventTables = ({ events }: FieldReference): string =>
  events
    .map(({ kind, fields }) => {
      const rows = fields.map((field) => [
        code(field.name),
        typeOf(field),
        yes(field.default),
        yes(field.filterable),
        field.about,
      ])
      return `${code(kind)}:\n\n${table(['Field', 'Type', 'Default', 'Filterable', 'Meaning'], rows)}`
    })
    .join('\n\n')

/** The names of expressions of traffic policies. */
export const nameTable = ({ expressions }: FieldReference): string =>
  table(
    ['Name', 'Type', 'In', 'Meaning'],
    expressions.names.map((name) => [
      [name.name, ...name.aliases].map(code).join(', '),
      typeOf(name),
      scopeOf(name),
      name.about,
    ]),
  )

const scopeOf = ({ outboundOnly, records }: FieldReference['expressions']['names'][number]): string => {
  const [type, other] = records
  const edges = other !== undefined ? '' : type === 'tcp_connection' ? 'TCP' : 'HTTPS'
  if (!outboundOnly) return edges === '' ? 'everywhere' : edges
  return `outbound policies${edges && `, ${edges}`}`
}

/** The functions of expressions. */
export const functionTable = ({ expressions }: FieldReference): string =>
  table(
    ['Function', 'Result', 'Example'],
    expressions.functions.map(({ name, parameters, about, example }) => [
      code(`${name}(${parameters.join(', ')})`),
      about,
      code(example),
    ]),
  )

const hourMs = 3_600_000

/** The destination kinds: a column per kind. */
export function destinationTable(kinds: readonly DestinationKind[]): string {
  const row = (title: string, cell: (kind: DestinationKind) => string): string[] => [
    title,
    ...kinds.map(cell),
  ]
  return table(
    row('', ({ title }) => title),
    [
      row('`target`', ({ name, address, auth, packing, options }) => {
        const optional = [
          auth === 'none' ? '' : ', "auth": …',
          packing === undefined ? '' : ', "packing": …',
          options === undefined ? '' : ', …',
        ]
        return code(`"${name}": {"${address.field}": …${optional.join('')}}`)
      }),
      row('Address', ({ address }) => code(address.example)),
      row('Call', ({ about }) => about),
      row('One event is', ({ keepsLineBreak }) => (keepsLineBreak ? 'its JSON and a line feed' : 'its JSON')),
      row('Largest event', ({ limits }) => sizeText(limits.eventBytesMax)),
      row('Most events in a request', ({ limits, packing }) =>
        packing === undefined
          ? String(limits.eventsMax)
          : `${limits.eventsMax}; ${packedEventsMax.toLocaleString('en')} if they are packed`,
      ),
      row('Packed record', ({ packing }) =>
        packing === undefined
          ? 'not packed'
          : `up to ${packing.recordBytes.toLocaleString('en')} bytes, or one event`,
      ),
      row('Longest time span of a request', ({ limits: { spanMaxMs } }) =>
        spanMaxMs === undefined ? 'any' : `${spanMaxMs / hourMs} h`,
      ),
      row('Largest request', (kind) => {
        const { max, default: usual } = kind.requestBytes
        return `${sizeText(usual)}; ${usual < max ? `up to ${sizeText(max)}` : 'less'} with ${code(requestMaxSetting(kind))}`
      }),
      row('Endpoint setting', ({ endpointSetting }) =>
        endpointSetting === undefined ? '' : code(endpointSetting),
      ),
    ],
  )
}

/** The tables by what the documents call them: `<!-- generated: names -->`. */
const tables: Readonly<Record<string, (reference: FieldReference) => string>> = {
  records: recordTables,
  fields: eventTables,
  names: nameTable,
  functions: functionTable,
  destinations: () => destinationTable(destinationKinds),
}

const generatedPart = /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end of generated -->)/g

/** A document with its generated parts as they should be; `others` are tables of other subjects. */
export const withTables = (
  text: string,
  reference: FieldReference,
  others: Readonly<Record<string, () => string>> = {},
): string =>
  text.replaceAll(generatedPart, (_, begin: string, name: string, end: string) => {
    const render = others[name] ?? tables[name]
    if (render === undefined) throw new Error(`There is no table ${name}.`)
    return `${begin}\n${render(reference)}\n\n${end}`
  })
