/** A secret in a wrong place is not repeated in any error, log line or audit event. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { grantRight } from '../../../src/management/write/accounts.js'
import { resources } from '../../../src/words/resource/registry.js'
import { openTestStore } from '../../harness/api.js'
import type { HttpAnswer, RequestParts } from '../../harness/raw-client.js'
import { Estate, servedResources } from './estate.js'

type Json = unknown

// --- secrets ---

const base64 = (bytes: number): string => randomBytes(bytes).toString('base64')

/** Secrets that are recognized by their form, in any place. */
const forms: readonly (() => string)[] = [
  () => `weir_${randomBytes(32).toString('base64url')}`,
  // Both cases and a digit, like nearly every secret access key.
  () => `aA0${base64(30).slice(3)}`,
  () => `-----BEGIN PRIVATE KEY-----\n${base64(48)}\n-----END PRIVATE KEY-----`,
]

/** A secret without a known form: recognized by the name of its field, or never shown because the field is unknown. */
const opaque = (): string => `opaque ${randomBytes(6).toString('hex')} secret`

/** The part of a secret that must not be found, as JSON or plain. */
const traceOf = (secret: string): string => secret.replaceAll(/-----\w+ PRIVATE KEY-----|\n/g, '')

// --- bodies with a secret in them ---

/** With `--full`, each place gets every shape; otherwise one of each sort, the next place the next ones. */
const isFull = process.argv.includes('--full')
let place = 0
const ofThisPlace = <T>(shapes: readonly T[]): readonly T[] =>
  isFull ? shapes : [shapes[place % shapes.length]!]

/** Ways to put a secret into one place of the body. */
function* misplacedAt(value: Json, form: () => string): Generator<{ secret: string; value: Json }> {
  place += 1
  const shapes: ((secret: string) => Json)[] = [
    (secret) => secret,
    (secret) => [secret],
    (secret) => ({ note: secret }),
    (secret) => [[{ deep: [secret] }]],
  ]
  for (const shape of ofThisPlace(shapes)) {
    const secret = form()
    yield { secret, value: shape(secret) }
  }
  const named: ((secret: string) => object)[] = [
    (secret) => ({ note: secret }),
    (secret) => ({ aws_secret_access_key: secret }),
    (secret) => ({ private_key_pem: [secret] }),
    (secret) => ({ token: { of: secret } }),
  ]
  for (const members of ofThisPlace(named)) {
    const secret = opaque()
    if (Array.isArray(value)) yield { secret, value: [...value, members(secret)] }
    else if (typeof value === 'object' && value !== null)
      yield { secret, value: { ...value, ...members(secret) } }
  }
}

/** The body with a secret at each of its places, one after the other. */
function* misplaced(body: Json, form: () => string): Generator<{ secret: string; value: Json }> {
  yield* misplacedAt(body, form)
  if (typeof body !== 'object' || body === null) return
  for (const [key, member] of Object.entries(body)) {
    for (const { secret, value } of misplaced(member, form)) {
      if (Array.isArray(body)) yield { secret, value: Object.assign([...body], { [key]: value }) }
      else yield { secret, value: { ...body, [key]: value } }
    }
  }
}

// --- operations ---

interface Schema {
  readonly $ref?: string
  readonly examples?: readonly Json[]
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
}

interface Content {
  readonly schema: Schema
  readonly example?: Json
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

const methods = ['get', 'post', 'put', 'patch', 'delete']

t.test('misplaced secrets', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api({ trustedProxies: ['10.0.0.0/8'] })
  const me = await api.account()
  await grantRight(store.parts.store, me.accountId, 'abuse_reports')
  const estate = new Estate(me, 'misplaced')
  const document = api.app.swagger() as unknown as Document
  const refusedWith = new Set<string>()

  const check = (what: string, secret: string, answer: HttpAnswer): void => {
    if (answer.status < 400) return
    refusedWith.add(traceOf(secret))
    const spellings = [traceOf(secret), encodeURIComponent(secret.replaceAll('\n', ' '))]
    const isTold = spellings.some((spelling) => answer.text.includes(spelling))
    if (isTold || answer.status >= 500) t.fail(`${what}: ${answer.status} ${answer.text}`)
    // A part of a batch has a member of that name.
    if (/"body"/.test(answer.body.msg) && !what.startsWith('POST /batch'))
      t.fail(`${what} names no field: ${answer.text}`)
  }
  const send = async (method: string, path: string, secret: string, sent: RequestParts): Promise<void> =>
    check(`${method} ${path} ${JSON.stringify(sent)}`, secret, await me.raw.send(method, path, sent))

  /** The path with ids of existing resources. */
  const pathOf = async (template: string): Promise<string> => {
    let path = template
    const own = resources
      .filter((resource) => template.startsWith(`${resource.path}/{`))
      .toSorted((one, other) => other.path.length - one.path.length)[0]
    if (own?.parent !== undefined)
      path = path.replace(`{${own.parent.field}}`, await estate.id(own.parent.kind))
    if (own !== undefined) path = path.replace(/\{(id|subscription_id)\}/, await estate.id(own.kind))
    return path.replaceAll(/\{\w+\}/g, (name) =>
      name === '{type}' ? 'tcp_connection_closed.v0' : 'edghts_x',
    )
  }

  /** The example of the operation's body, and one with ids of existing resources. */
  const bodiesOf = async (method: string, template: string, { requestBody }: Operation): Promise<Json[]> => {
    const content = requestBody?.content['application/json']
    const named = content?.schema.$ref?.split('/').at(-1)
    const { examples = [] } =
      (named === undefined ? content?.schema : document.components?.schemas?.[named]) ?? {}
    const [listed] = Object.values(content?.examples ?? {})
    const example = content?.example ?? listed?.value ?? examples[0]
    if (content !== undefined) t.ok(example !== undefined, `${method} ${template} has an example`)
    const made = servedResources.find(({ path }) => method === 'post' && path === template)
    return [example ?? {}, ...(made === undefined ? [] : [await estate.body(made.kind)])]
  }

  await t.test('in every body of every operation', { timeout: 600_000 }, async (t) => {
    for (const { kind } of servedResources) await estate.one(kind)
    let sent = 0
    for (const [template, operations] of Object.entries(document.paths)) {
      const path = await pathOf(template)
      for (const [method, operation] of Object.entries(operations)) {
        if (!methods.includes(method) || /^\/(docs|openapi|healthz|readyz|metrics)/.test(template)) continue
        for (const body of await bodiesOf(method, template, operation)) {
          const form = (): string => forms[sent % forms.length]!()
          for (const { secret, value } of misplaced(body, form)) {
            sent += 1
            await send(method.toUpperCase(), path, secret, { body: JSON.stringify(value) })
          }
        }
      }
    }
    t.ok(sent > (isFull ? 2_000 : 600), `${sent} bodies`)
  })

  await t.test('of any form, in the fields beside those for secrets', async (t) => {
    const target = (auth: Json, more: object = {}) => ({
      target: { kinesis: { stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x', auth, ...more } },
    })
    const creds = (aws_access_key_id: Json) => ({
      creds: { aws_access_key_id, aws_secret_access_key: 'x' },
    })
    const role = { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } }
    const bodies: Readonly<Record<string, readonly ((secret: Json) => Json)[]>> = {
      '/event_destinations': [
        (secret) => secret,
        (secret) => ({ target: secret }),
        (secret) => ({ target: { kinesis: secret } }),
        (secret) => ({ target: { firehose: { delivery_stream_arn: secret, auth: role } } }),
        (secret) => target(role, { stream_arn: secret }),
        (secret) => target(role, { packing: secret }),
        (secret) => target(secret),
        (secret) => target({ creds: secret }),
        (secret) => target({ role: secret }),
        (secret) => target({ role: { role_arn: secret } }),
        (secret) => target(creds(secret)),
      ],
      '/api_keys': [
        (secret) => ({ rights: secret }),
        (secret) => ({ rights: [secret] }),
        (secret) => ({ rights: ['read', secret] }),
        (secret) => ({ rights: [secret, secret] }),
      ],
    }
    const id = await estate.id('event_destination')
    for (const [path, shapes] of Object.entries(bodies))
      for (const shape of shapes)
        for (const wrap of [(secret: string) => secret, (secret: string) => [secret]]) {
          const secret = opaque()
          const body = JSON.stringify(shape(wrap(secret)))
          for (const [method, at] of [
            ['POST', path],
            ['PATCH', path === '/api_keys' ? `${path}/${await estate.id('api_key')}` : `${path}/${id}`],
          ] as const) {
            const answer = await me.raw.send(method, at, { body })
            t.equal(answer.status, 400, `${method} ${at} ${body}`)
            check(`${method} ${at} ${body}`, secret, answer)
          }
        }
  })

  await t.test('in a read-only field', async () => {
    const secret = opaque()
    const path = `/tls_certificates/${await estate.id('tls_certificate')}`
    await send('PATCH', path, secret, { body: JSON.stringify({ private_key_pem: secret }) })
  })

  await t.test('in bodies that are not JSON', async () => {
    for (const form of forms) {
      const secret = form()
      const text = JSON.stringify(secret)
      for (const body of [
        `{"token": ${text}`,
        text.slice(1),
        `{${text}: 1, ${text}: 2}`,
        `{"a": [${text}, "\\ud800"]}`,
        `{"a": "${secret.replaceAll('\n', '\\n')}\\ud800"}`,
      ])
        await send('POST', '/ip_policies', secret, { body })
    }
  })

  await t.test('in headers, paths and queries', async () => {
    for (const form of [...forms, opaque]) {
      const secret = form().replaceAll('\n', ' ')
      const encoded = encodeURIComponent(secret)
      const headers = [
        { authorization: secret },
        { authorization: `Basic ${secret}` },
        { authorization: `Bearer ${secret}` },
        { 'service-version': secret },
        { 'x-api-key': secret, authorization: undefined },
      ]
      for (const given of headers) await send('GET', '/ip_policies', secret, { headers: given })
      if (form === opaque) continue
      for (const name of ['content-type', 'content-encoding', 'x-forwarded-for'])
        await send('POST', '/ip_policies', secret, {
          body: '{',
          headers: { [name]: secret },
          from: '10.0.0.1',
        })
      await send('POST', '/ip_policies', secret, {
        body: '{}',
        headers: { 'idempotency-key': `${secret}${' x'.repeat(200)}` },
      })
      const paths = [
        `/ip_policies/${encoded}`,
        `/${encoded}`,
        `/ip_policies?token=${encoded}`,
        `/ip_policies?limit=${encoded}`,
        `/ip_policies?before_id=${encoded}`,
        `/ip_policies?filter=${encoded}`,
        `/ip_policies?filter=${encodeURIComponent(`description == "${secret}" +`)}`,
        `/ip_policies?filter=id.${encoded}`,
      ]
      for (const path of paths) await send('GET', path, secret, {})
      await send('POST', `/ip_policies?validate_only=${encoded}`, secret, { body: '{}' })
    }
  })

  t.ok(refusedWith.size > (isFull ? 2_000 : 600), `${refusedWith.size} refused requests`)
  const audits = JSON.stringify(await api.audits(me.accountId))
  for (const [where, text] of [
    ['the log', api.log()],
    ['audit events', audits],
  ] as const) {
    const leaked = [...refusedWith].filter((secret) => text.includes(secret))
    t.strictSame(leaked, [], `${where} has none`)
  }
})
