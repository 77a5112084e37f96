/** The words of forms: a member without words would be shown by its name in the schema. */
import t from 'tap'
import { destinationKinds } from '../../../src/delivery/deliver/kinds.js'
import { shapeOf, type TSchema } from '../../../src/ground/core/schema.js'

/** The paths of all members below a schema. */
function* paths(schema: TSchema, parent = ''): Generator<string> {
  for (const [name, member] of Object.entries(shapeOf(schema).properties ?? {})) {
    yield `${parent}${name}`
    yield* paths(member, `${parent}${name}.`)
  }
}

const awsPaths = ['auth', 'auth.role', 'auth.role.role_arn', 'auth.creds'].concat(
  ['aws_access_key_id', 'aws_secret_access_key'].map((name) => `auth.creds.${name}`),
)

t.test('every member of every kind has words, and no words are of a member that is gone', async (t) => {
  for (const { name, address, aws, options, setup } of destinationKinds) {
    const members = [
      address.field,
      ...(aws !== undefined ? awsPaths : []),
      ...(aws?.packing === undefined ? [] : ['packing']),
      ...(options === undefined ? [] : paths(options.schema)),
    ]
    t.strictSame(Object.keys(setup?.words ?? {}).sort(), members.sort(), name)
    for (const [path, { label, choices }] of Object.entries(setup?.words ?? {})) {
      t.notMatch(label, /_|^$/, `${name}.${path} has the words of people`)
      const values = options && valuesAt(options.schema, path)
      if (choices !== undefined && values !== undefined)
        t.strictSame(Object.keys(choices).sort(), [...values].sort(), `${name}.${path}`)
    }
  }
})

function valuesAt(schema: TSchema, path: string): readonly string[] | undefined {
  const found = path
    .split('.')
    .reduce<TSchema | undefined>((at, name) => at && shapeOf(at).properties?.[name], schema)
  return found && shapeOf(found).enum?.map(String)
}

t.test('tiles are told apart, are drawn, and begin with members that exist', async (t) => {
  const forms = destinationKinds.flatMap((kind) => (kind.setup?.forms ?? []).map((form) => ({ kind, form })))
  t.equal(new Set(forms.map(({ form }) => form.id)).size, forms.length)
  t.equal(new Set(forms.map(({ form }) => form.mark)).size, forms.length)
  for (const { kind, form } of forms) {
    t.match(form.mark, /^[MLHVCSQTAZmlhvcsqtaz0-9 .,-]+$/, form.id)
    for (const member of Object.keys(form.begin ?? {}))
      t.ok(member in (kind.options?.schema.properties ?? {}), `${form.id}: ${member}`)
  }
})
