/**
 * Schemas of answers are exact: answers have no undocumented field, and an optional field is sometimes absent. Every test
 * that calls the API checks that required fields are present.
 */
import t from 'tap'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { componentName } from '../../../src/words/resource/fields/id-schema.js'
import { type AnyResource, isServed } from '../../../src/words/resource/kind/define.js'
import { resources } from '../../../src/words/resource/registry.js'
import { openTestStore } from '../../harness/api.js'
import { certificateBody, fixturePem } from '../../harness/certificates.js'
import { type Document, resolved } from '../../harness/openapi.js'
import { Estate } from './estate.js'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

const served = resources.filter(isServed)

/** Parts of names that the subject or issuer of a certificate may lack. */
const nameless: Readonly<Record<string, readonly object[]>> = {
  tls_certificate: ['ed25519', 'ecdsa'].map((name) => certificateBody(name)),
  certificate_authority: [{ ca_pem: fixturePem('nameless-authority') }],
}

/** Members of which one must be given: the one that a body without optional members has. */
const chosen: Readonly<Record<string, string>> = { ip_policy_rule: 'cidr', bouncer: 'ip_policy_ids' }

/** The body without optional members. */
const bare = ({ kind, fields }: AnyResource, body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => fields[name]?.required || name === chosen[kind]))

/** The record that a policy test gives may have members that Weir does not know. */
const given = 'given'

/** Paths of objects that may have members beyond the schema. */
function* openObjects(schema: Schema, path: string): Generator<string> {
  if (schema.type === 'object' && schema.additionalProperties === undefined) yield path
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    if (name !== given) yield* openObjects(member, `${path}.${name}`)
  if (schema.items !== undefined) yield* openObjects(schema.items, `${path}[]`)
  for (const choice of schema.anyOf ?? []) yield* openObjects(choice, path)
}

type Members = Readonly<Record<string, unknown>>

/** Paths of optional members that every value has. */
function* neverLeftOut(schema: Schema, values: readonly unknown[], path: string): Generator<string> {
  const objects = values.filter((value): value is Members => typeof value === 'object' && value !== null)
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const isOptional = !schema.required?.includes(name)
    if (isOptional && objects.length > 0 && objects.every((each) => name in each)) yield `${path}.${name}`
    const below = objects.flatMap((each) => (name in each ? [each[name]] : []))
    yield* neverLeftOut(member, below, `${path}.${name}`)
  }
  if (schema.items !== undefined) {
    const entries = values.filter(Array.isArray).flat()
    yield* neverLeftOut(schema.items, entries, `${path}[]`)
  }
  for (const choice of schema.anyOf ?? []) yield* neverLeftOut(choice, values, path)
}

t.test('answers and their schemas', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const document = resolved(api.app.swagger()) as unknown as Document

  t.test('schemas of answers allow no undocumented members', async (t) => {
    // Requests for decisions, and what tests give, are records, which may have members that Weir does not know.
    const requests = /^(HttpRequest|TcpConnection)(Decision|Given)$/
    const shared = Object.entries(document.components.schemas).filter(([name]) => !requests.test(name))
    const ofOperations = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId, responses }) =>
        Object.entries(responses).flatMap(([status, { content = {} }]) =>
          Object.values(content).map(({ schema }) => [`${operationId} ${status}`, schema ?? {}] as const),
        ),
      ),
    )
    t.ok(ofOperations.length > 100)
    t.strictSame(
      [...shared, ...ofOperations].flatMap(([name, schema]) => [...openObjects(schema, name)]),
      [],
    )
  })

  t.test('every optional member is absent from some answer', async (t) => {
    const estate = async (name: string): Promise<Estate> => {
      const client = await api.account(name)
      const account = client.accountId
      await runAdminCommand(store.parts, { command: 'account grant', account, right: 'abuse_reports' })
      return new Estate(client, name)
    }
    const [rich, poor] = [await estate('rich'), await estate('poor')]
    for (const resource of served) {
      const { kind } = resource
      const schema: Schema = document.components.schemas[componentName(kind)] ?? {}
      const bodies = [bare(resource, await poor.body(kind)), ...(nameless[kind] ?? [])]
      const path = await poor.collection(resource)
      const shown: object[] = [await rich.one(kind)]
      for (const body of bodies) shown.push(await poor.client.at(path).create(body))
      t.strictSame([...neverLeftOut(schema, shown, kind)], [])
    }
  })
})
