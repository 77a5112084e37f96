/** Targets of destinations: one of them, its keys in the right places, and what becomes of the secret. */
import t from 'tap'
import { compileCheck } from '../../src/core/schema-check.js'
import { chosenTarget } from '../../src/resource/destination-target.js'
import { eventDestination } from '../../src/resource/event-destination.js'
import { targetShown } from '../harness/targets.js'
import { links, refusalOf, tools } from './lookups.js'

const stream_arn = 'arn:aws:kinesis:eu-west-1:123456789012:stream/events'
const role = { role_arn: 'arn:aws:iam::123456789012:role/weir' }
const keyId = 'AKIAIOSFODNN7EXAMPLE'
const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
const creds = (aws_access_key_id: string, aws_secret_access_key?: string) => ({
  creds: { aws_access_key_id, ...(aws_secret_access_key && { aws_secret_access_key }) },
})
const kinesis = (auth: object) => ({ kinesis: { stream_arn, auth } })

t.test('keys in the wrong place', async (t) => {
  const check = compileCheck(eventDestination.fields.target.schema)
  const cases: [name: string, auth: object, refusal: RegExp | undefined][] = [
    ['a role', { role }, undefined],
    ['a pair of keys', creds(keyId, secret), undefined],
    ['keys of a service that speaks the protocol', creds('minio', 'minio123'), undefined],
    ['a secret as the id', creds(secret, secret), /swapped/],
    ['a long secret of another service', creds('aB3'.repeat(10), 'x'), /swapped/],
    ['an id as the secret', creds(keyId, keyId), /the form is that of an access key id/],
    ['a line break copied with the secret', creds(keyId, `${secret}\n`), /white space/],
    ['a space in the id', creds('AKIA IOSFODNN', secret), /letters, digits and underscores/],
    ['a user instead of a role', { role: { role_arn: 'arn:aws:iam::123456789012:user/x' } }, /role_arn/],
  ]
  for (const [name, auth, refusal] of cases) {
    const found = check(kinesis(auth), 'target')
    if (refusal === undefined) t.equal(found, undefined, name)
    else t.match(found, refusal, name)
    if (found !== undefined) t.notMatch(found, secret.slice(0, 12), `${name}: no secret is repeated`)
  }
})

t.test('exactly one target', async (t) => {
  const logs = { log_group_arn: 'arn:aws:logs:eu-west-1:123456789012:log-group:x' }
  t.match(
    refusalOf(() => chosenTarget({})),
    '"target" names no target',
  )
  t.match(
    refusalOf(() => chosenTarget({ kinesis: null })),
    '"target" names no target',
  )
  const two = { ...kinesis({ role }), cloudwatch_logs: logs } as never
  t.match(
    refusalOf(() => chosenTarget(two)),
    'names 2 targets (kinesis, cloudwatch_logs)',
  )
  t.match(chosenTarget(kinesis({ role })), { kind: 'kinesis', address: stream_arn, packing: 'none' })
})

const derive = (target: object, previous?: object) =>
  eventDestination.derive?.(
    { account_id: 'ac_1', id: 'ed_1', target } as never,
    previous as never,
    tools,
  ) as Record<string, unknown>

t.test('the secret is sealed, and kept while the key id stays', async (t) => {
  const stored = derive(kinesis(creds(keyId, secret)))
  t.match(stored, { sealed_secret: `sealed(${secret})`, secret_digest: `digest(${secret})` })
  t.strictSame(stored['target'], kinesis(creds(keyId)), 'the target is stored without it')
  const cases: [name: string, auth: object, want: object | RegExp][] = [
    ['the same secret again', creds(keyId, secret), {}],
    ['no secret, the same id', creds(keyId), {}],
    ['another secret', creds(keyId, 'other'), { sealed_secret: 'sealed(other)' }],
    ['a role instead', { role }, { sealed_secret: null, secret_digest: null }],
    ['no secret, another id', creds('AKIAOTHER'), /lacks "aws_secret_access_key"/],
    ['both', { role, ...creds(keyId) }, /exactly one of role and creds, and has 2/],
    ['neither', {}, /exactly one of role and creds, and has 0/],
  ]
  for (const [name, auth, want] of cases) {
    if (want instanceof RegExp)
      t.match(
        refusalOf(() => derive(kinesis(auth), stored)),
        want,
        name,
      )
    else {
      const { sealed_secret, secret_digest } = derive(kinesis(auth), stored)
      t.match(
        { sealed_secret, secret_digest },
        Object.keys(want).length === 0 ? { sealed_secret: undefined } : want,
        name,
      )
    }
  }
  const firehose = {
    firehose: {
      delivery_stream_arn: 'arn:aws:firehose:eu-west-1:123456789012:deliverystream/x',
      auth: { role },
    },
  }
  t.match(
    refusalOf(() => derive(firehose, stored)),
    "can't be changed",
  )
})

t.test('responses name every kind and never the secret', async (t) => {
  const { render } = eventDestination.fields.target.shown
  const auth = { role: null, creds: { aws_access_key_id: keyId, aws_secret_access_key: null } }
  t.match(
    (render as (value: unknown, of: typeof links) => unknown)(kinesis(creds(keyId)), links),
    targetShown({ kinesis: { stream_arn, auth } }),
  )
})
