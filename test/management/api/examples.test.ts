/**
 * The examples of the API reference: requests succeed when they are sent with real ids, and answers match those of the
 * API.
 */
import t from 'tap'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { type AnyResource, isServed } from '../../../src/words/resource/kind/define.js'
import { exampleId } from '../../../src/words/resource/kind/examples.js'
import { resources } from '../../../src/words/resource/registry.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { idleDestinations } from '../../harness/idle-status.js'
import { AnswerCheck, resolved } from '../../harness/openapi.js'
import { until } from '../../harness/weir.js'

interface Media {
  readonly example?: unknown
  readonly schema?: { readonly examples?: readonly unknown[] }
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

const exampleOf = ({ example, schema }: Media = {}): unknown => example ?? schema?.examples?.[0]

interface Described {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

const mediaType = 'application/json'
/** The first type of the body, and its example. */
function bodyOf({ operation }: Described): { type: string | undefined; example: unknown } {
  const [[type, media] = []] = Object.entries(operation.requestBody?.content ?? {})
  return { type, example: exampleOf(media) }
}

const served = resources.filter(isServed)

/** Resources created from the examples, one of each kind, when other examples need them. */
class Examples {
  readonly #client: Caller
  readonly #operations: readonly Described[]
  readonly #made = new Map<string, Promise<string>>()

  constructor(client: Caller, operations: readonly Described[]) {
    this.#client = client
    this.#operations = operations
  }

  /** The id of the kind's resource, which is created if necessary. */
  id(resource: AnyResource): Promise<string> {
    const made = this.#made.get(resource.kind) ?? this.#make(resource)
    this.#made.set(resource.kind, made)
    return made
  }

  async #make({ path }: AnyResource): Promise<string> {
    const creation = this.#operations.find((each) => each.path === path && each.method === 'post')
    return (await this.send(creation!)).id
  }

  /** Sends the example of an operation; fails if the answer is not a success. */
  async send(described: Described) {
    const { path, method } = described
    const { type, example } = bodyOf(described)
    const body = await this.#withIds(example)
    const url = await this.#filled(path)
    const headers = type === undefined ? {} : { 'content-type': type }
    const answer = await this.#client.raw.send(method.toUpperCase(), url, { body, headers })
    // An account runs one trial at a time.
    if (answer.status === 202 && path.endsWith('/try'))
      await until(
        'the trial has ended',
        async () => (await this.#client.trial(answer.body.id)).state !== 'running',
      )
    if (answer.status < 300) return answer.body
    throw new Error(`${method} ${url} ${JSON.stringify(body)} → ${answer.status} ${answer.text}`)
  }

  /** The path with real ids, and the type of an existing source. */
  async #filled(path: string): Promise<string> {
    let filled = path.replace('{type}', 'tcp_connection_closed.v0')
    for (const [parameter] of path.matchAll(/\{\w*id\}/g)) {
      const collection = path.slice(0, path.indexOf(parameter) - 1)
      const resource = served.find((each) => each.path === collection)
      if (resource === undefined) throw new Error(`No kind has the path ${collection}.`)
      filled = filled.replace(parameter, await this.id(resource))
    }
    return filled
  }

  /** The value with real ids instead of those of examples. */
  async #withIds(value: unknown): Promise<unknown> {
    if (typeof value === 'string' && value.endsWith(exampleId(''))) {
      const resource = served.find(({ idPrefix }) => value.startsWith(idPrefix))
      return this.id(resource!)
    }
    if (Array.isArray(value)) return Promise.all(value.map((each) => this.#withIds(each)))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(async ([name, each]) => [name, await this.#withIds(each)])
    return Object.fromEntries(await Promise.all(entries))
  }
}

t.test('examples', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api({
    destinations: {
      ...idleDestinations,
      sendTestEvent: async () => ({ eventId: 'ev_1' }),
    },
  })
  const client = await api.account()
  const account = client.accountId
  await runAdminCommand(store.parts, { command: 'account grant', account, right: 'abuse_reports' })
  const document = resolved(api.app.swagger()) as unknown as {
    paths: Record<string, Record<string, Operation>>
  }
  const operations: Described[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const withBody = operations.filter(({ operation }) => operation.requestBody !== undefined)
  const examples = new Examples(client, operations)

  t.test('every body has an example', async (t) => {
    for (const described of withBody) t.ok(bodyOf(described).example, `${described.method} ${described.path}`)
  })

  t.test('examples of create requests work', async (t) => {
    for (const resource of served) t.ok(await examples.id(resource), resource.kind)
  })

  t.test('all other examples work', async (t) => {
    const collections = new Set(served.map(({ path }) => path))
    // Nothing is set aside here: `dead-letters.test.ts` sends a corrected record. `console-session.test.ts` signs in by a
    // token.
    const elsewhere = ['/dead_letters/{id}/resend', '/console/session']
    const rest = withBody.filter(
      ({ path, method }) => (method !== 'post' || !collections.has(path)) && !elsewhere.includes(path),
    )
    for (const described of rest) {
      await examples.send(described)
      t.pass(`${described.method} ${described.path}`)
    }
  })

  t.test('every answer has an example that matches its schema', async (t) => {
    const check = new AnswerCheck(document)
    for (const { path, method, operation } of operations) {
      const [status = '', response] = Object.entries(operation.responses)[0]!
      if (response?.content === undefined) continue
      const [[type, media] = []] = Object.entries(response.content)
      const body = exampleOf(media)
      t.ok(body, `${method} ${path}`)
      // A stream is read where it is tested.
      if (type !== mediaType) continue
      const { uri } = body as { uri?: string }
      const headers = { 'operation-id': 'op_1', 'content-type': mediaType, location: uri }
      check.check(method, path, { status: Number(status), headers, text: JSON.stringify(body), body })
    }
  })
})
