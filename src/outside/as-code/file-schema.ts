/** The JSON Schema of the files, for editors: made of the schemas of the API's bodies, with names where those have ids. */
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { documentedKey } from '../../ground/core/schema.js'
import { bodySchema } from '../../words/resource/fields/fields.js'
import type { Field, Fields } from '../../words/resource/kind/define.js'
import { entrySchema } from '../../words/shape/ip-lists/ip-list-entries.js'
import { givenFields } from './given.js'
import { type ManagedKind, managedKinds, route, rule, titleOfKind } from './managed-kinds.js'

/** In editors: `# yaml-language-server: $schema=./weir.schema.json`. */
export const fileSchema = (): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration of an account of Weir',
  type: 'object',
  additionalProperties: false,
  properties: {
    ...Object.fromEntries(managedKinds.map((kind) => [kind.section, sectionOf(kind)])),
    tests: {
      ...sectionOf(managedKinds.find(({ name }) => name === 'policyTest')!),
      description: 'Policy tests.',
    },
  },
})

const sectionOf = (kind: ManagedKind): JsonObject => ({
  type: ['array', 'null'],
  description: kind.resource.about,
  items: entryOf(givenFields(kind.resource), { ...ownMembers, ...partsOf(kind) }),
})

const text = (description: string): JsonObject => ({ type: 'string', description })
const ownMembers = { id: text('What the files call it.') }
/** As the API shows a resource. */
const shownMembers = { uri: text('Says nothing.'), created_at: text('Says nothing.') }

function partsOf({ name }: ManagedKind): JsonObject {
  const listOf = (items: JsonObject): JsonObject => ({ type: ['array', 'null'], items })
  if (name === 'policyTest') return { name: text('Its description.') }
  if (name === 'ipPolicy') return { rules: listOf(entryOf(givenFields(rule, ['ip_policy_id']), ownMembers)) }
  if (name === 'httpsEdge') return { routes: listOf(entryOf(givenFields(route, ['edge_id']), ownMembers)) }
  const entry = plain({ ...entrySchema, required: ['cidr'] }) as JsonObject
  return name === 'ipList'
    ? { entries: { type: 'array', items: { anyOf: [{ type: 'string' }, entry] } } }
    : {}
}

function entryOf(fields: Fields, others: JsonObject): JsonObject {
  const { properties, required = [] } = bodyOf(fields)
  return {
    type: 'object',
    additionalProperties: false,
    properties: { ...others, ...(properties as JsonObject), ...shownMembers },
    required,
  }
}

/** The schema of a body, in which references are names. */
function bodyOf(fields: Fields): JsonObject {
  const body = plain(bodySchema(fields)) as JsonObject
  const properties = Object.entries(body['properties'] as Readonly<Record<string, JsonObject>>)
  return {
    ...body,
    properties: Object.fromEntries(
      properties.map(([name, schema]) => {
        const field = fields[name] as Field
        if (field.fields !== undefined) return [name, { anyOf: [bodyOf(field.fields), { type: 'null' }] }]
        if (field.reference === undefined || field.reference.foreignPath !== undefined) return [name, schema]
        const one = text(`The name of a resource: ${titleOfKind(field.reference.kind)}.`)
        return [
          name,
          field.reference.many
            ? { type: ['array', 'null'], items: one }
            : { ...one, type: ['string', 'null'] },
        ]
      }),
    ),
  }
}

/** In place of a text. */
const placeholder = { type: 'string', pattern: '\\$\\{(env|file|addr):' }
/** Keys whose values are data, not schemas. */
const dataKeys = ['examples', 'default', 'enum', 'const']

/** As other programs read it: with the keywords that are documented, without those that only Weir knows. */
function plain(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(plain)
  if (!isObject(part)) return part
  const { [documentedKey]: documented, ...own } = part
  const members = Object.entries({ ...own, ...(documented as object | undefined) })
  const schema = Object.fromEntries(
    members
      .filter(([key]) => !key.startsWith('~') && !key.startsWith('x-'))
      .map(([key, value]) => [key, dataKeys.includes(key) ? value : plain(value)]),
  )
  return 'pattern' in schema ? { anyOf: [schema, placeholder] } : schema
}
