/** Several accounts: resources of another account do not exist, for any request and in any place. */
import t from 'tap'
import { now } from '../../../src/ground/core/clock.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { allOperations } from '../../../src/words/resource/kind/define.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { Estate, type ReferenceField, referenceFields, servedResources, sharedDescription } from './estate.js'
import {
  type Body,
  bodyFor,
  filled,
  operationsOn,
  otherOperations,
  pathsToOthers,
  unknownId,
  withoutIds,
} from './operations.js'

/** The resources that records may name are tested in `published-records.test.ts` and `otlp.test.ts`. */
const publishing = ['/records', '/v1/logs']
/** Their bodies name no resource: `targets.test.ts`, `list-preview.test.ts`. */
const ofTargets = ['/event_destinations/setup', '/event_destinations/send_test_event', '/ip_lists/preview']

const dayMs = 24 * 60 * 60_000

t.test('accounts know nothing of each other', async (t) => {
  const store = await openTestStore(t)
  await shapeLogTables(store.parts.clickhouse, { retentionMs: dayMs, bytesMax: 2 ** 30 })
  const api = await store.api()
  const estate = async (name: string): Promise<Estate> => {
    const client = await api.account(name)
    const command = { command: 'account grant', account: client.accountId, right: 'abuse_reports' }
    await runAdminCommand(api.parts, command)
    const made = new Estate(client, name)
    for (const { kind } of servedResources) await made.one(kind)
    return made
  }
  const mine = await estate('mine')
  const theirs = await estate('theirs')
  const me = mine.client
  const asked = async (method: string, path: string, body?: unknown) =>
    withoutIds(
      await me.raw.send(method, path, body === undefined ? {} : { body }),
      `${path} ${JSON.stringify(body)}`,
    )
  const everything = () =>
    Promise.all(
      [mine, theirs].flatMap((each) =>
        servedResources.map(async (resource) =>
          each.client.raw.get(`${await each.collection(resource)}/${await each.id(resource.kind)}`),
        ),
      ),
    )
  const counts = () =>
    [mine, theirs].map(({ client }) => store.parts.store.view.state.countsOf(client.accountId))
  const before = { everything: await everything(), counts: counts() }

  t.test("another account's id in a path is unknown, for every operation", async (t) => {
    for (const { method, path, hasBody, isRehearsable } of operationsOn(api)) {
      const right = hasBody ? await bodyFor(mine, method, path) : undefined
      for (const [foreign, unknown] of await pathsToOthers(path, mine, theirs)) {
        for (const body of hasBody ? [right, {}, { unheard: 'of' }] : [undefined]) {
          const answer = await asked(method, foreign, body)
          t.match(answer, { status: 404 }, `${method} ${path}`)
          t.strictSame(answer, await asked(method, unknown, body), `${method} ${path}`)
        }
      }
      if (!isRehearsable) continue
      const own = `${await filled(path, (kind) => mine.id(kind))}?validate_only=true`
      const { status, body } = await me.raw.send(method, own, right === undefined ? {} : { body: right })
      t.not(status, 404, `${method} ${path} finds what is one's own`)
      if (right === undefined || body.error_code === 'ERR_CONFLICT') continue
      t.equal(status < 300, true, `${method} ${path} takes its example: ${body.msg}`)
    }
  })

  t.test(
    "another account's id in a body is an unknown one, in every field that names something",
    async (t) => {
      let fields = 0
      for (const resource of servedResources) {
        const own = await mine.body(resource.kind)
        const single = `${await mine.collection(resource)}/${await mine.id(resource.kind)}`
        const { operations = allOperations } = resource
        for (const field of referenceFields(resource)) {
          fields += 1
          const { module, name, many, kind, isChangeable } = field
          const naming = (id: string) => withReference(own, field, id)
          const attempts = [
            { method: 'POST', path: await mine.collection(resource), part: (body: Body) => body },
          ]
          if (isChangeable && operations.includes('update'))
            attempts.push({ method: 'PATCH', path: single, part: (body) => pick(body, module ?? name) })
          if (module !== undefined)
            attempts.push({
              method: 'PUT',
              path: `${single}/${module}`,
              part: (body) => body[module] as Body,
            })
          for (const { method, path, part } of attempts) {
            const where = `${method} ${path}: ${module ?? ''} ${name}`
            const answer = await asked(method, path, part(naming(await theirs.id(kind))))
            const place = module === undefined || method === 'PUT' ? name : `${module}.${name}`
            t.match(answer, { status: 404, msg: `"${place}${many ? '[0]' : ''}" names` }, where)
            t.strictSame(answer, await asked(method, path, part(naming(unknownId(kind)))), where)
            const right = await me.raw.send(method, `${path}?validate_only=true`, {
              body: part(naming(await mine.id(kind))),
            })
            t.not(right.status, 404, `${where}: one's own is found`)
          }
        }
      }
      t.ok(fields > 0)
    },
  )

  t.test("lists, filters and descriptions find only the caller's resources", async (t) => {
    for (const resource of servedResources) {
      const { path, listName, kind, operations = allOperations, fields } = resource
      if (!operations.includes('list')) continue
      const queries = ['', '?filter=id%20!=%20""', `?before_id=${resource.idPrefix}${'z'.repeat(26)}`]
      if (fields['description'] !== undefined)
        queries.push(
          `?description=${encodeURIComponent(sharedDescription)}`,
          `?filter=description=="${encodeURIComponent(sharedDescription)}"`,
        )
      queries.push(`?filter=id=="${await theirs.id(kind)}"`)
      for (const query of queries) {
        const ids = (await me.raw.get(`${path}${query}`))[listName].map(({ id }: { id: string }) => id)
        t.equal(ids.includes(await mine.id(kind)), !query.includes(await theirs.id(kind)), `${path}${query}`)
        t.notOk(ids.includes(await theirs.id(kind)), `${path}${query}`)
      }
    }
  })

  t.test(
    "operations without a resource in their path show what is one's own, whatever they are asked",
    async (t) => {
      const records = { mine: 'record-of-mine', theirs: 'record-of-theirs' }
      const logged = (estate: Estate, recordId: string, edgeId: string) =>
        decisionRow({ accountId: estate.client.accountId, recordId, edgeId, at: now() - 1_000 })
      const edges = { mine: await mine.id('tcp_edge'), theirs: await theirs.id('tcp_edge') }
      const rows = [logged(mine, records.mine, edges.mine), logged(theirs, records.theirs, edges.theirs)]
      await store.parts.clickhouse.insertBlocks('decisions', [rowBytes(rows)])
      const asked = await Promise.all(
        ['ip_policy', 'event_destination', 'event_subscription', 'api_key'].map((kind) => theirs.id(kind)),
      )
      asked.push(theirs.client.accountId, edges.theirs, records.theirs)
      const conn = { client_ip: '192.0.2.1' }
      const subscription = await mine.body('event_subscription')
      /** Operations with a body, and a body that names a resource. */
      const naming: Readonly<Record<string, [kind: string, body: (id: string) => Body]>> = {
        '/decide': ['tcp_edge', (edge_id) => ({ type: 'tcp_connection', conn, edge_id })],
        '/policy_tests/run': [
          'tcp_edge',
          (edge_id) => ({
            tests: [{ given: { type: 'tcp_connection', conn, edge_id }, expect: { decision: 'allow' } }],
          }),
        ],
        '/tries': ['tcp_edge', (id) => ({ removes: [id] })],
        '/batch': ['tcp_edge', (id) => ({ requests: [{ method: 'DELETE', path: `/edges/tcp/${id}` }] })],
        '/event_subscriptions/try': [
          'event_destination',
          (id) => ({ ...subscription, destination_ids: [id] }),
        ],
      }
      for (const { method, path, query } of otherOperations(api)) {
        const named = naming[path]
        if (named !== undefined) {
          const [kind, body] = named
          const answers = [await theirs.id(kind), unknownId(kind)].map(async (id) =>
            withoutIds(await me.raw.send('POST', path, { body: body(id) }), id),
          )
          t.strictSame(await answers[0], await answers[1], `${method} ${path}`)
          continue
        }
        if (method === 'post' && [...publishing, ...ofTargets].includes(path)) continue
        t.equal(method, 'get', `${method} ${path} needs a check of its own here`)
        const queries = query.flatMap(({ name, schema }) =>
          (schema?.enum ?? asked).map((value) => [name, value]),
        )
        for (const [name, value] of [[], ...queries]) {
          const uri = name === undefined ? path : `${path}?${name}=${encodeURIComponent(value!)}`
          const { status, text } = await me.raw.send('GET', uri)
          t.ok(status < 500, `${uri} is answered`)
          const foreign = asked.filter((id) => id !== value && text.includes(id))
          t.strictSame(foreign, [], `${uri} shows nothing of others`)
        }
      }
      const found = async (uri: string) => (await me.raw.send('GET', uri)).text
      t.ok((await found('/decisions')).includes(records.mine))
      t.ok((await found('/stats?by=edge')).includes(edges.mine))
      t.equal((await me.raw.send('GET', `/decisions?edge_id=${edges.theirs}`)).status, 404)
      t.equal((await me.raw.send('GET', `/records/${records.mine}`)).status, 200)
      t.equal((await me.raw.send('GET', `/records/${records.theirs}`)).status, 404)
    },
  )

  t.test("changes are the caller's own, with any filter", async (t) => {
    const theirIds = await Promise.all(servedResources.map(({ kind }) => theirs.id(kind)))
    const [theirChange] = (await theirs.client.raw.get('/changes?limit=1')).changes
    const queries = [
      '',
      `?filter=${encodeURIComponent(`id == '${theirs.client.accountId}'`)}`,
      `?filter=operation_id=="${theirChange.operation_id}"`,
      `?before_version=${theirChange.version + 1}`,
      `?before_version=${theirChange.version}&before_id=${theirChange.id}`,
      '?since=2000-01-01T00:00:00Z',
    ]
    for (const query of queries) {
      const { text } = await me.raw.send('GET', `/changes${query}`)
      for (const id of [...theirIds, theirs.client.accountId])
        t.notOk(text.replace(/"next_page_uri".*/, '').includes(id), `/changes${query} without ${id}`)
    }
    const own = (await me.raw.get('/changes')).changes.map(({ id }: { id: string }) => id)
    for (const { kind } of servedResources) t.ok(own.includes(await mine.id(kind)), kind)
  })

  t.test('a conflict over a unique value does not reveal its owner', async (t) => {
    for (const resource of servedResources) {
      if (resource.claims === undefined || resource.claimsAreDrawn) continue
      const theirBody = await theirs.body(resource.kind)
      const withoutReferences = Object.fromEntries(
        Object.entries(theirBody).filter(([name]) =>
          [...referenceFields(resource)].every((field) => (field.module ?? field.name) !== name),
        ),
      )
      const answer = await asked('POST', await mine.collection(resource), withoutReferences)
      t.match(answer, { status: 400, code: 'ERR_CONFLICT' }, resource.kind)
    }
    const reserved = String((await theirs.one('reserved_addr'))['addr'])
    const free = reserved.replace(/:\d+$/, ':9')
    const serving = async (hostport: string) => {
      const answer = await asked('POST', '/edges/tcp', { hostports: [hostport] })
      return JSON.parse(JSON.stringify(answer).replaceAll(hostport, 'HOSTPORT'))
    }
    t.match(await serving(reserved), { status: 400 })
    t.strictSame(
      await serving(reserved),
      await serving(free),
      "another account's address is one that nobody reserved",
    )
  })

  t.test('an idempotency key belongs to its account', async (t) => {
    const headers = { 'idempotency-key': 'the same' }
    const made = await Promise.all(
      [mine, theirs].map(({ client }) => client.raw.send('POST', '/ip_policies', { body: {}, headers })),
    )
    t.strictSame(
      made.map(({ status }) => status),
      [201, 201],
    )
    t.not(made[0]!.body.id, made[1]!.body.id)
    for (const [at, { client }] of [mine, theirs].entries()) await client.ipPolicy.delete(made[at]!.body.id)
  })

  t.test('nothing was changed by any of this', async (t) => {
    t.strictSame({ everything: await everything(), counts: counts() }, before)
  })
})

const pick = (body: Body, name: string): Body => ({ [name]: body[name] })

/** The body with another id in one of its references. */
function withReference(body: Body, { module, name, many }: ReferenceField, id: string): Body {
  const value = many ? [id] : id
  if (module === undefined) return { ...body, [name]: value }
  return { ...body, [module]: { ...(body[module] as Body), [name]: value } }
}
