/** The field reference and the destination kinds as tables in Markdown, for the documents and the API reference. */
import { destinationKinds } from '../../delivery/deliver/kinds.js'
import { destinationSections } from './destination-sections.js'
import type { FieldReference } from './field-reference.js'
import { code, table } from './markdown.js'

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

/** The tables by what the documents call them: `<!-- generated: names -->`. */
const tables: Readonly<Record<string, (reference: FieldReference) => string>> = {
  records: recordTables,
  fields: eventTables,
  names: nameTable,
  functions: functionTable,
  destinations: () => destinationSections(destinationKinds),
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
