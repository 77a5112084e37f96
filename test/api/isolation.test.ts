/** Several accounts: resources of another account do not exist, for any request and in any place. */
import t from 'tap'
import { runAdminCommand } from '../../src/process/admin.js'
import { type AnyResource, allOperations } from '../../src/resource/define.js'
import { resourceOf } from '../../src/resource/registry.js'
import { shapeLogTables } from '../../src/store/log-tables.js'
import { openTestStore, type TestApi } from '../harness/api.js'
import type { HttpAnswer } from '../harness/raw-client.js'
import { Estate, type ReferenceField, referenceFields, servedResources, sharedDescription } from './estate.js'

const neverMade = '00000000000000000000000000'

/** The kind whose ids follow these segments in a path. */
const kindBehind = (path: string): AnyResource | undefined =>
  servedResources.find((resource) => resource.path === path)

/** A path with its parameters filled in; `idOf` knows the kinds, and other parameters keep their one value. */
async function filled(path: string, idOf: (kind: string) => Promise<string> | string): Promise<string> {
  const values = [...path.matchAll(/\{(\w+)\}/g)].map(async ({ 0: name, index }) => {
    const resource = kindBehind(path.slice(0, index - 1))
    return [name, resource === undefined ? otherParameters[name] : await idOf(resource.kind)] as const
  })
  let result = path
  for (const [name, value] of await Promise.all(values)) {
    if (value === undefined) throw new Error(`The parameter ${name} of ${path} has no value here: add one.`)
    result = result.replace(name, value)
  }
  return result
}

const otherParameters: Readonly<Record<string, string>> = {
  '{type}': 'tcp_connection_closed.v0',
  '{record_id}': neverMade,
  // Of a trial.
  '{id}': `try_${neverMade}`,
}

const unknownId = (kind: string): string => `${resourceOf(kind).idPrefix}${neverMade}`

const anyId = /\b([a-z]+_)[0-9A-Za-z]{26}\b/g

/** The answer without the requested ids; fails if it names any other id. */
function withoutIds({ status, body }: HttpAnswer, asked: string): object {
  for (const [id] of body.msg.matchAll(anyId))
    if (!asked.includes(id)) throw new Error(`An answer names ${id}, which was not requested: ${body.msg}`)
  return { status, code: body.error_code, msg: body.msg.replaceAll(anyId, '$1…') }
}

/** Bodies of operations that do not belong to a kind. */
const otherBodies: Readonly<Record<string, Body>> = {
  'post /event_subscriptions/{subscription_id}/sources': { type: 'log.v0' },
  'patch /event_subscriptions/{subscription_id}/sources/{type}': { filter: null },
  'post /ip_restrictions/{id}/try': { enforced: false },
  'put /ip_policies/{id}/rules': { rules: [{ cidr: '198.51.100.0/24', action: 'deny' }] },
}

/** A body that the operation accepts. */
async function bodyFor(estate: Estate, method: string, path: string): Promise<Body> {
  const other = otherBodies[`${method} ${path}`]
  if (other !== undefined) return other
  const made = kindBehind(path)
  if (method === 'post' && made !== undefined) return estate.body(made.kind)
  const [, collection = '', module] = /^(.*?)\/\{id\}(?:\/(\w+))?(?:\/try)?$/.exec(path) ?? []
  const resource = kindBehind(collection)
  if (method === 'patch' && resource !== undefined) return { description: 'changed' }
  const value = resource === undefined ? undefined : (await estate.body(resource.kind))[module ?? '']
  if ((method === 'put' || path.endsWith('/try')) && value !== undefined) return value as Body
  throw new Error(`There is no example of a body for ${method} ${path}: add one here.`)
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly hasBody: boolean
  readonly isRehearsable: boolean
}

/** Every operation of the API's document with a resource in its path. */
const operationsOn = (api: TestApi): Operation[] =>
  Object.entries(api.app.swagger().paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, { requestBody?: object; parameters?: { name: string }[] }>)
      .filter(() => path.includes('{'))
      .map(([method, { requestBody, parameters = [] }]) => ({
        method,
        path,
        hasBody: requestBody !== undefined,
        isRehearsable: parameters.some(({ name }) => name === 'validate_only'),
      })),
  )

/** The same paths twice: with ids of another account, and with ids that do not exist. */
async function pathsToOthers(path: string, mine: Estate, theirs: Estate): Promise<[string, string][]> {
  const kinds = [...path.matchAll(/\{\w+\}/g)].flatMap(
    ({ index }) => kindBehind(path.slice(0, index - 1))?.kind ?? [],
  )
  const last = kinds.at(-1)
  /** The caller's own parent with a child of another account. */
  const below = (id: string) => filled(path, (kind) => (kind === last ? id : mine.id(kind)))
  const pairs: [string, string][] = [
    [await filled(path, (kind) => theirs.id(kind)), await filled(path, unknownId)],
  ]
  if (last !== undefined && kinds.length > 1)
    pairs.push([await below(await theirs.id(last)), await below(unknownId(last))])
  return pairs
}

t.test('accounts know nothing of each other', async (t) => {
  const store = await openTestStore(t)
  await shapeLogTables(store.parts.clickhouse, { retentionMs: 60_000, bytesMax: 2 ** 30 })
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

type Body = Readonly<Record<string, unknown>>

const pick = (body: Body, name: string): Body => ({ [name]: body[name] })

/** The body with another id in one of its references. */
function withReference(body: Body, { module, name, many }: ReferenceField, id: string): Body {
  const value = many ? [id] : id
  if (module === undefined) return { ...body, [name]: value }
  return { ...body, [module]: { ...(body[module] as Body), [name]: value } }
}
