/** Members of a target that a kind declares, and the secrets among them. */
import t from 'tap'
import {
  optional,
  secretsIn,
  secretText,
  targetOptions,
  withoutSecrets,
  withSecrets,
} from '../../../../src/delivery/deliver/kind/target-options.js'
import { mapOf, objectOf, Type } from '../../../../src/ground/core/schema.js'
import { compileCheck } from '../../../../src/ground/core/schema-check.js'

const options = targetOptions({
  headers: optional(mapOf(Type.String(), { maxProperties: 4 })),
  secret_headers: optional(mapOf(secretText(), { maxProperties: 4 })),
  auth: optional(
    objectOf({
      bearer: optional(objectOf({ token: secretText() })),
      basic: optional(objectOf({ username: Type.String(), password: secretText({ charsMax: 8 }) })),
    }),
  ),
  hosts: optional(Type.Array(Type.String())),
})

const whole = {
  headers: { 'X-Team': 'edge' },
  secret_headers: { 'X-Key': 'k1', 'X-Other': 'k2' },
  auth: { basic: { username: 'weir', password: 'p' } },
  hosts: ['a', 'b'],
}

const shown = {
  headers: { 'X-Team': 'edge' },
  secret_headers: { 'X-Key': null, 'X-Other': null },
  auth: { basic: { username: 'weir', password: null } },
  hosts: ['a', 'b'],
}

t.test('secrets leave a target and come back to their places', async (t) => {
  const secrets = secretsIn(options, whole)
  t.strictSame(secrets, {
    'secret_headers.X-Key': 'k1',
    'secret_headers.X-Other': 'k2',
    'auth.basic.password': 'p',
  })
  t.strictSame(withoutSecrets(options, whole), shown)
  t.strictSame(withSecrets(options, shown, secrets), whole)
})

t.test('the secrets that there must be are known without them', async (t) => {
  const cases: [given: object, secrets: object][] = [
    [{}, {}],
    [{ auth: { bearer: {} } }, { 'auth.bearer.token': null }],
    [{ auth: { bearer: { token: null } } }, { 'auth.bearer.token': null }],
    [{ auth: { bearer: null } }, {}],
    [{ secret_headers: {} }, {}],
    [shown, { 'secret_headers.X-Key': null, 'secret_headers.X-Other': null, 'auth.basic.password': null }],
  ]
  for (const [given, secrets] of cases)
    t.strictSame(secretsIn(options, given as never), secrets, JSON.stringify(given))
})

t.test('a secret is bounded, and no refusal repeats it', async (t) => {
  const check = compileCheck(options.schema)
  const cases: [secret: string, refusal: RegExp][] = [
    ['hush\nx', /control characters/],
    ['hush hush hush', /8/],
    ['', /1/],
  ]
  for (const [password, refusal] of cases) {
    const found = check({ auth: { basic: { username: 'u', password } } }, 'target.http')
    t.match(found, refusal)
    t.notMatch(found, 'hush')
  }
  t.equal(check(whole, 'target.http'), undefined)
  t.equal(check(shown, 'target.http'), undefined, 'a target can be sent back as it is shown')
})
