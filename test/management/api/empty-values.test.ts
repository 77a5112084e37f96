/**
 * Values that mean "nothing". Generated clients of this API family send the empty value of its type for every field
 * that their caller left out.
 */
import t from 'tap'
import type { TSchema } from '../../../src/ground/core/schema.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import {
  type AnyResource,
  allOperations,
  type Field,
  type Fields,
} from '../../../src/words/resource/kind/define.js'
import { openTestStore } from '../../harness/api.js'
import { refused } from '../../harness/caller.js'
import { Estate, servedResources } from './estate.js'

interface Shape {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly items?: TSchema
  readonly minItems?: number
  readonly anyOf?: readonly TSchema[]
}

function shapeOf(schema: TSchema): Shape {
  const shape = schema as Shape
  const choice = shape.anyOf?.find((each) => (each as Shape).type !== 'null')
  return choice === undefined ? shape : shapeOf(choice)
}

/** The empty values of a field's type: null, and what generated clients send. */
function emptyValues(schema: TSchema): unknown[] {
  const { type, enum: values, properties = {} } = shapeOf(schema)
  if (values !== undefined || type === 'string') return [null, '']
  if (type === 'object' && Object.keys(properties).length === 0) return [null, {}]
  if (type === 'integer') return [null, 0]
  return type === 'array' ? [null, []] : [null]
}

/** The same for a field that may be left out: an empty list, or null, says nothing only if the list may be empty. */
const absentValues = (schema: TSchema): unknown[] =>
  emptyValues(schema).filter(
    (value) => !(Array.isArray(value) || value === null) || !shapeOf(schema).minItems,
  )

type Body = Readonly<Record<string, unknown>>

const ofClient = ({ fields, parent }: AnyResource): readonly (readonly [string, Field])[] =>
  Object.entries(fields as Fields).filter(
    ([name, { setBy }]) => setBy !== 'weir' && name !== parent?.field,
  ) as unknown as readonly (readonly [string, Field])[]

/** The body once for each empty optional member below the top, with its path. */
function* withEmptyMembers(
  schema: TSchema,
  value: unknown,
  path: string,
): Generator<readonly [path: string, value: unknown]> {
  const { properties = {}, required = [], items } = shapeOf(schema)
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries())
      for (const [at, changed] of withEmptyMembers(items!, entry, `${path}[${index}]`))
        yield [at, value.with(index, changed)]
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(properties)) {
    const present = (value as Body)[name]
    for (const [at, changed] of withEmptyMembers(member, present, `${path}.${name}`))
      yield [at, { ...value, [name]: changed }]
    if (required.includes(name) || present !== undefined) continue
    for (const empty of absentValues(member)) {
      yield [`${path}.${name}: ${JSON.stringify(empty)}`, { ...value, [name]: empty }]
    }
  }
}

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g

/** The fields of a shown resource that clients set, without times and its id. */
function settings(resource: AnyResource, shown: Body): unknown {
  const names = ofClient(resource).flatMap(([name, field]) =>
    field.shown === 'hidden' ? [] : [field.shown.name ?? name],
  )
  const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, shown[name]])))
  return JSON.parse(text.replaceAll(isoTime, 'a time').replaceAll(String(shown['id']), 'its id'))
}

t.test('empty values', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const client = await api.account()
  const account = client.accountId
  await runAdminCommand(store.parts, { command: 'account grant', account, right: 'abuse_reports' })
  const estate = new Estate(client, 'empty')

  for (const resource of servedResources) {
    const { kind, operations = allOperations } = resource

    t.test(`${kind}: an empty optional field of a new one is absent`, async (t) => {
      const operations = client.at(await estate.collection(resource))
      const body = await estate.body(kind)
      const made = async (sent: Body) =>
        settings(resource, await operations.create(sent, { validateOnly: true }))
      for (const [name, field] of ofClient(resource)) {
        // The body has one of the choices, which are told apart by `api/rules-by-list`.
        if (field.required || field.isChoice || field.fields !== undefined) continue
        const { [name]: _, ...without } = body
        const expected = await made(without)
        for (const empty of absentValues(field.schema))
          t.strictSame(
            await made({ ...without, [name]: empty }),
            expected,
            `${name}: ${JSON.stringify(empty)}`,
          )
      }
      const expected = await made(body)
      for (const [name, field] of ofClient(resource)) {
        for (const [path, value] of withEmptyMembers(field.schema, body[name], name))
          t.strictSame(await made({ ...body, [name]: value }), expected, path)
      }
    })

    if (!operations.includes('update')) continue
    t.test(
      `${kind}: an empty field of an update clears what is optional, and says nothing else`,
      async (t) => {
        const { id } = await estate.one(kind)
        const of = client.at(await estate.collection(resource))
        const present = await of.get(String(id))
        for (const [name, field] of ofClient(resource)) {
          if (field.fields !== undefined || field.shown === 'hidden') continue
          const isKept = field.required || field.isChoice === true
          const isCleared = field.setBy === 'client' && !isKept
          const values = isKept ? emptyValues(field.schema) : absentValues(field.schema)
          for (const empty of values.filter((value) => isCleared || value !== null)) {
            const updated = await of.update(String(id), { [name]: empty }, { validateOnly: true })
            const { [field.shown.name ?? name]: value, ...others } = updated
            const { [field.shown.name ?? name]: before, ...othersBefore } = present
            t.strictSame(others, othersBefore, `${name}: ${JSON.stringify(empty)} changes nothing else`)
            const { fallback } = field
            if (!isCleared) t.strictSame(value, before, `${name}: ${JSON.stringify(empty)} says nothing`)
            else if (fallback !== null && field.reference === undefined) t.strictSame(value, fallback, name)
            else t.notOk(Array.isArray(value) ? value.length : value, `${name} is cleared`)
          }
        }
      },
    )
  }

  t.test('fields of other services of the family are absent while they are empty', async (t) => {
    const domains = client.at('/reserved_domains')
    for (const empty of [[], null, '', 0]) {
      const { id } = await domains.create({ domain: 'foreign.example', resolves_to: empty })
      await domains.update(id, { resolves_to: empty })
      await domains.delete(id)
    }
    const resolves = { domain: 'foreign.example', resolves_to: [{ value: 'eu' }] }
    t.match(await refused(400, client.domain.create(resolves)), /A domain has no field "resolves_to"/)
    t.match(
      await refused(400, client.at('/ip_policies').create({ resolves_to: [] })),
      /An IP policy has no field "resolves_to"/,
      'for other kinds they are unknown',
    )
  })

  t.test('a managed certificate with empty choices gets the defaults', async (t) => {
    const certificate_management_policy = { authority: '', private_key_type: '' }
    const body = { domain: 'managed.example', certificate_management_policy }
    const made = await client.at('/reserved_domains').create(body)
    t.strictSame(made.certificate_management_policy, { authority: 'letsencrypt', private_key_type: 'rsa' })
  })
})
