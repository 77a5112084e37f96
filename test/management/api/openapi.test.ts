/** The API's document: complete and consistent. */

import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import t from 'tap'
import { Compile } from 'typebox/compile'
import { parseCidr } from '../../../src/ground/core/address/cidr.js'
import { parseHostport } from '../../../src/ground/core/address/hostport.js'
import { errorCodes, statusOf } from '../../../src/ground/core/errors.js'
import { newId } from '../../../src/ground/core/ids.js'
import { subscribableKinds } from '../../../src/words/event/check-source.js'
import { componentName } from '../../../src/words/resource/fields/id-schema.js'
import { allOperations, isServed } from '../../../src/words/resource/kind/define.js'
import { resources } from '../../../src/words/resource/registry.js'
import { openTestStore } from '../../harness/api.js'
import { Checks } from '../../harness/checks.js'
import { resolved } from '../../harness/openapi.js'

/** Needs no API key. */
/** Questions about targets and sources that are not stored. */
const ofTargets = /^\/event_destinations\/(setup|send_test_event)$|^\/ip_lists\/preview$/
const session = '/console/session'

t.test('the OpenAPI document', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const { payload } = await api.app.inject('/openapi.json')
  const document = resolved(JSON.parse(payload))
  const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

  t.test('version and headers of every request', async (t) => {
    t.equal(document.openapi, '3.1.0')
    t.strictSame(document.security, [{ key: [] }])
    t.match(document.components.securitySchemes, { key: { type: 'http', scheme: 'bearer' } })
    const { Version } = document.components.parameters
    t.match(Version, { in: 'header', name: 'Service-Version', required: true })
    t.match(Version.schema, { enum: ['2'], default: '2' }, 'tools fill it in')
  })

  t.test('valid OpenAPI 3.1', async (t) => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(JSON.parse(payload))
    t.equal(valid, true, JSON.stringify(errors))
    t.equal(validator.version, '3.1')
    const broken = JSON.parse(payload.replaceAll('"operationId":"get_tcp_edge"', '"operationId":5'))
    t.equal((await new Validator().validate(broken)).valid, false, 'a mistake would be found')
  })

  t.test('tags have descriptions, fields their bounds', async (t) => {
    const tags: { name: string; description: string }[] = document.tags
    const described = tags.filter(({ description }) => description.endsWith('.')).map(({ name }) => name)
    for (const { operation } of operations)
      for (const tag of operation.tags ?? []) t.ok(described.includes(tag), tag)
    const { description, metadata } = document.components.schemas.EventSubscription.properties
    t.match(description.description, /At most 255 characters\./)
    t.match(metadata.description, /At most 4096 characters\./)
    const shared = JSON.parse(payload).components.schemas
    t.strictSame(shared.Metadata['x-max-bytes'], 4096)
    t.equal(payload.includes('"maxBytes"'), false, 'JSON Schema has no such keyword')
    const { hostports } = document.components.schemas.TcpEdgeCreate.properties
    t.match(hostports.anyOf[0], { maxItems: 100, uniqueItems: true })
    t.match(shared.EventSubscriptionCreate.properties.description.anyOf[0], { maxLength: 255 })
    t.match(
      document.components.schemas.IpPolicy.properties.metadata.description,
      /At most 4096 bytes in UTF-8\./,
    )
  })

  t.test('the introduction', async (t) => {
    const { description } = document.info
    for (const heading of ['Paging', 'Filters', 'Errors', 'Limits', 'Repeating a request', 'Trying a change'])
      t.match(description, `## ${heading}\n`)
    for (const code of errorCodes) t.match(description, `\`${code}\` | ${statusOf(code)} |`)
  })

  t.test('patterns accept every value that the API accepts', async (t) => {
    const { schemas } = JSON.parse(payload).components
    const patternOf = (name: string) => new RegExp(schemas[name].pattern, 'u')
    const port = fc.integer({ min: 1, max: 65_535 })
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.string(),
    )
    const hostport = fc.tuple(host, port).map(([name, number]) => `${name}:${number}`)
    const range = fc.oneof(
      fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 33 })),
      fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 129 })),
    )
    const cidr = fc.oneof(
      range.map(([address, bits]) => `${address}/${bits}`),
      fc.constantFrom(
        '0.0.0.0/0',
        '::/0',
        '::1/128',
        '192.0.2.0/24',
        '2001:db8::/32',
        '::ffff:192.0.2.0/120',
        '192.0.2.0',
        '2001:db8::1',
      ),
    )
    const isTaken = (text: string) => parseCidr(text, { hostBits: 'refuse' }).ok
    fc.assert(fc.property(cidr, (text) => !isTaken(text) || patternOf('Cidr').test(text)))
    fc.assert(fc.property(hostport, (text) => !parseHostport(text).ok || patternOf('Hostport').test(text)))
    for (const text of ['a.example:022', 'a.example', 'a b:22']) t.notMatch(text, patternOf('Hostport'))
    for (const text of ['192.0.2', '192.0.2.0/33', '::/129', 'x/8']) t.notMatch(text, patternOf('Cidr'))
    for (const { kind, idPrefix } of resources.filter(isServed))
      t.match(newId(idPrefix), patternOf(`${componentName(kind)}Id`), kind)
    t.equal(payload.includes('x-documented'), false, 'keywords that only declarations need are left out')
  })

  t.test('shared schemas occur once', async (t) => {
    const { schemas } = JSON.parse(payload).components
    const names = ['Problem', 'Ref', 'BackendModule', 'TrafficPolicies', 'TcpEdgeList', 'Hostport', 'Cidr']
    for (const name of names) t.ok(schemas[name], name)
    for (const name of names) {
      const text = JSON.stringify(schemas[name].properties ?? schemas[name].pattern)
      t.equal(payload.split(text).length, 2, `${name} is written once`)
    }
    t.strictSame(schemas.EventKind.enum, subscribableKinds())
    t.equal(schemas.EventSource.properties.type.$ref, '#/components/schemas/EventKind')
  })

  t.test('every kind of event has a schema', async (t) => {
    const kinds = Object.keys(document.webhooks)
    t.strictSame(kinds.toSorted(), [...subscribableKinds(), 'test.v0'].toSorted())
    for (const kind of kinds) {
      const { schema } = document.webhooks[kind].post.requestBody.content['application/json']
      t.equal(schema.properties.event_type.const, kind)
      t.ok(schema.properties.object.properties, kind)
    }
  })

  t.test('every operation is described', async (t) => {
    const described = new Set(operations.map(({ path, method }) => `${method} ${path}`))
    const routes = [
      ['create', 'post', ''],
      ['list', 'get', ''],
      ['get', 'get', '/{id}'],
      ['update', 'patch', '/{id}'],
      ['delete', 'delete', '/{id}'],
    ] as const
    for (const { path, operations: some = allOperations } of resources) {
      for (const [operation, method, end] of routes) {
        const route = `${method} ${path}${end}`
        t.equal(described.has(route), some.includes(operation), route)
      }
    }
    for (const path of ['/edges/tcp/{id}', '/edges/https/{edge_id}/routes/{id}'])
      for (const method of ['get', 'put', 'delete'])
        t.ok(described.has(`${method} ${path}/ip_restriction`), `${method} ${path}`)
    for (const method of ['get', 'patch', 'delete'])
      t.ok(described.has(`${method} /event_subscriptions/{subscription_id}/sources/{type}`))
    t.ok(described.has('post /event_destinations/{id}/send_test_event'))
    t.ok(described.has('get /event_destinations/{id}/status'))
    const tags = new Set(operations.flatMap(({ operation }) => operation.tags ?? []))
    for (const tag of ['API keys', 'IP policies', 'TCP edges']) t.ok(tags.has(tag), tag)
    const ids = operations.map(({ operation }) => operation.operationId)
    t.equal(new Set(ids).size, ids.length, 'each has an id of its own')
    for (const id of ['list_ip_policies', 'list_tcp_edges', 'list_event_sources', 'list_api_keys'])
      t.ok(ids.includes(id), id)
    for (const id of ids.filter((each) => each.startsWith('list_'))) t.match(id, /s$/)
  })

  t.test('every operation lists path parameters, answers and errors', async (t) => {
    const checks = new Checks()
    for (const { path, method, operation } of operations) {
      const name = `${method} ${path}`
      checks.ok(Boolean(operation.summary) && operation.tags?.length === 1, name)
      const named = (operation.parameters ?? []).filter((each) => each.in === 'path')
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, id]) => id)
      checks.equal(named.map((each) => each.name).toSorted(), inPath.toSorted(), name)
      const [first, ...others] = Object.keys(operation.responses)
      const ofBodies = operation.requestBody === undefined ? [] : ['413', '415']
      const refusals = ['400', '401', '403', '404', ...ofBodies, '429', '431', '500', '503', '504']
      // A write that can also be tried is accepted then. No one may be signed in. A draft may be outdated, or what a batch
      // expects; a name may be kept by another account.
      const mayConflict =
        path === promotion ||
        path === '/batch' ||
        /^\/(edges\/(tcp|https)|reserved_domains)(\/[^/]*)?(\/restore)?$/.test(path)
      const isOwn = (status: string): boolean =>
        status === '202' || (path === session && status === '204') || (mayConflict && status === '409')
      checks.equal(
        others.filter((status) => !isOwn(status)),
        refusals,
        name,
      )
      checks.match(first, /^20[0124]$/, name)
      for (const [status, response] of Object.entries(operation.responses)) {
        checks.ok(response.description !== 'Default Response', name)
        checks.equal(response.content !== undefined, status !== '204', `${name} ${status}`)
      }
      checks.equal(operation.requestBody !== undefined, bodied(method, path), `${name} takes a body or none`)
      for (const status of ['201', '202']) {
        const created = operation.responses[status]
        if (created !== undefined && path !== session)
          t.match(created.headers, { Location: { schema: { format: 'uri' } } }, name)
      }
    }
    checks.report(t)
  })

  t.test('a body is required if an empty one is refused', async (t) => {
    const me = await api.account()
    for (const { path, method, operation } of operations) {
      if (operation.requestBody === undefined || path.includes('{')) continue
      const { status } = await me.raw.send(method.toUpperCase(), path)
      const isRefused = status === 400 || path === '/abuse_reports'
      t.equal(operation.requestBody.required, isRefused, `${method} ${path}`)
    }
    const edge = await me.tcpEdge.create({})
    const single = document.paths['/edges/tcp/{id}']
    t.equal(single.patch.requestBody.required, false)
    t.equal((await me.raw.send('PATCH', `/edges/tcp/${edge.id}`)).status, 200)
    const module = document.paths['/edges/tcp/{id}/policies'].put
    t.equal(module.requestBody.required, true)
    t.equal((await me.raw.send('PUT', `/edges/tcp/${edge.id}/policies`)).status, 400)
  })

  t.test('members that may be null are nullable in the schema', async (t) => {
    const me = await api.account()
    const { id: policy } = await me.ipPolicy.create({})
    const { id: backend } = await me.tunnelGroupBackend.create({})
    const body = {
      description: null,
      metadata: null,
      hostports: null,
      backend: { enabled: null, backend_id: backend },
      ip_restriction: { enabled: null, ip_policy_ids: [policy] },
      policies: { enabled: null, inbound: null, outbound: null },
    }
    const edge = await me.tcpEdge.create(body)
    const schemaOf = (operation: Operation) =>
      operation.requestBody?.content['application/json']?.schema ?? {}
    const requests: [string, string, object][] = [
      ['/edges/tcp', 'post', body],
      ['/edges/tcp/{id}', 'patch', body],
      ['/edges/tcp/{id}/policies', 'put', body.policies],
      ['/edges/tcp/{id}/backend', 'put', body.backend],
      [
        '/ip_policies/{id}/rules',
        'put',
        { rules: [{ cidr: '192.0.2.0/24', action: 'deny', metadata: null }] },
      ],
    ]
    for (const [path, method, sent] of requests) {
      const check = Compile(schemaOf(document.paths[path][method]))
      t.equal(check.Check(sent), true, `${method} ${path}`)
      t.equal(check.Check({ ...sent, unknown: null }), false)
      const at = path.replace('{id}', path.startsWith('/ip_policies') ? policy : edge.id)
      t.ok((await me.raw.send(method.toUpperCase(), at, { body: sent })).status < 300, `${method} ${path}`)
    }
  })

  t.test('sessions of the web console need no key and no version', (t) => {
    const { post, get, delete: end } = document.paths[session]
    t.strictSame(
      [post, get, end].map(({ security }) => security),
      [[], [{ session: [] }], [{ session: [] }]],
    )
    t.match(document.components.securitySchemes.session, {
      type: 'apiKey',
      in: 'cookie',
      name: 'weir_console',
    })
    const parameters = [post, get, end].map(({ parameters = [] }) =>
      parameters.map(({ name }: { name: string }) => name),
    )
    t.strictSame(parameters, [['Weir-Console'], [], ['Weir-Console']])
    for (const { description = '' } of [post, get, end]) t.notMatch(description, 'The key needs')
    t.end()
  })

  t.test('every operation lists its query and header parameters', async (t) => {
    const checks = new Checks()
    const takes = (operation: Operation, place: string): string[] =>
      (operation.parameters ?? []).flatMap((each) => (each.in === place ? [each.name] : []))
    for (const { path, method, operation } of operations.filter((each) => each.path !== session)) {
      const name = `${method} ${path}`
      const isAction = /\/(send_test_event|replay|refresh)$|^\/(replays|dead_letters)\//.test(path)
      const isIngest = method === 'post' && (path === '/records' || path === '/v1/logs')
      const isQuestion =
        path === '/decide' ||
        isIngest ||
        ofTargets.test(path) ||
        /\/(try|check|run)$/.test(path) ||
        /^\/tries(\/|$)/.test(path)
      checks.equal(
        takes(operation, 'header'),
        [...(method === 'post' && !isQuestion ? ['Idempotency-Key'] : []), 'Service-Version'],
        name,
      )
      const isRehearsed = method !== 'get' && !isAction && !isQuestion
      checks.equal(takes(operation, 'query').includes('validate_only'), isRehearsed, name)
    }
    for (const { path, method, operation } of operations)
      for (const { name, description = '' } of operation.parameters ?? [])
        checks.match(description, /\.$/, `${method} ${path} ${name} is described`)
    const edges = operations.find(({ path, method }) => `${method} ${path}` === 'get /edges/tcp')!
    checks.equal(takes(edges.operation, 'query'), ['limit', 'before_id', 'filter', 'description'])
    t.match((edges.operation.parameters ?? []).find(({ name }) => name === 'before_id')?.schema, {
      pattern: '^edgtcp_[0-9A-Za-z]{1,64}$',
    })
    checks.report(t)
  })

  t.test('every reference resolves, and every schema compiles', async (t) => {
    const schemas: Record<string, object> = document.components.schemas
    for (const [, name] of payload.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
      if (!(name !== undefined && name in schemas)) t.fail(`There is no schema ${name}.`)
    for (const [name, schema] of Object.entries(schemas)) t.ok(Compile(schema), name)
    t.equal(/"\$ref":"(?!#\/components\/(schemas|parameters|responses)\/)/.test(payload), false)
  })
})

const promotion = '/challengers/{id}/promote'

const bodied = (method: string, path: string): boolean =>
  ['post', 'patch', 'put'].includes(method) &&
  (ofTargets.test(path) ||
    !/\/(send_test_event|check|restore|pause|resume|promote|discard|refresh)$/.test(path))

interface Parameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly schema?: object
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: object }>>
  }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: object; readonly headers?: object }>
  >
}
