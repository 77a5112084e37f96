/**
 * Weir in an account of NATS whose limits are reached: readiness names what is concerned and the limit, and all goes on when
 * there is room.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { OwnNats } from '../harness/own-nats.js'
import { isReady, readyOf } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { token } from './deployment.js'

t.setTimeout(600_000)

const gibibyte = 1024 ** 3

interface Limits {
  readonly max_file?: number
  readonly max_streams?: number
  readonly max_consumers?: number
}

const accountWith = (limits: Limits): string =>
  `accounts { W { jetstream: ${JSON.stringify({ max_file: 10 * gibibyte, ...limits })}, users: [{ user: w, password: w }] } }
no_auth_user: w
`

async function open(t: Test) {
  const nats = new OwnNats(tempDir(t), [], accountWith({}))
  await nats.start()
  t.teardown(() => nats.kill())
  const env = {
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_STORAGE_MAX: '64MiB',
    WEIR_PIPELINES: '1',
    NATS_URL: nats.url,
  }
  const weir = await startWeir(tempDir(t), env)
  t.teardown(() => weir.stop())
  const connection = await connect({ servers: nats.url })
  t.teardown(() => connection.close())
  const manager = await jetstreamManager(connection)
  const untilReady = () =>
    until('all roles are ready', () => isReady(weir.url)).catch(async (error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(await readyOf(weir.url))}`)
    })
  await untilReady()
  const untilNamed = async (part: string, says: RegExp): Promise<void> => {
    let last: unknown
    const isNamed = async (): Promise<boolean> => {
      const ready = await readyOf(weir.url)
      last = ready
      // Those of another process than the API's have its name before them.
      const parts = Object.entries(ready.failing)
      return ready.status === 503 && parts.some(([name, text]) => name.endsWith(part) && says.test(text))
    }
    await until(`${part} is named`, isNamed).catch((error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(last)} ${weir.process.output().slice(-2_000)}`)
    })
  }
  return { api: weir.api, nats, manager, untilReady, untilNamed }
}

/** Calls until the account takes no more; resolves with how many it took. */
async function fill(make: (index: number) => Promise<unknown>): Promise<number> {
  for (let made = 0; ; made += 1) {
    try {
      await make(made)
    } catch {
      return made
    }
  }
}

t.test('consumers', async (t) => {
  const { nats, manager, ...on } = await open(t)
  const stream = 'WEIR_RECORDS'
  const consumers = await manager.consumers.list(stream).next()
  // The limit of an account is that of each of its streams.
  await nats.reload(accountWith({ max_consumers: consumers.length }))
  const other = () => manager.consumers.add(stream, { durable_name: 'other', ack_policy: 'explicit' })
  await t.rejects(other(), { message: /maximum consumers limit/ })
  // Its place is taken before the pipeline notices.
  await Promise.all([manager.consumers.delete(stream, 'pipeline'), takenAtOnce(other)])
  await on.untilNamed(
    `consumers of ${stream}`,
    /nats-server at 127\.0\.0\.1:\d+ .*such as pipeline.*maximum consumers limit reached\. Raise max_consumers of the account/,
  )
  await nats.reload(accountWith({}))
  await on.untilReady()
})

t.test('watchers of a bucket', async (t) => {
  const { api, nats, manager, ...on } = await open(t)
  const stream = 'KV_weir_config'
  const [watching, ...others] = await manager.consumers.list(stream).next()
  await nats.reload(accountWith({ max_consumers: others.length + 1 }))
  const other = () => manager.consumers.add(stream, { durable_name: 'other', ack_policy: 'explicit' })
  await t.rejects(other(), { message: /maximum consumers limit/ })
  await Promise.all([manager.consumers.delete(stream, watching!.name), takenAtOnce(other)])
  // Its watcher misses a change. That of the API would have to show it: a write is then answered otherwise.
  await Promise.allSettled([api.ipPolicy.create({})])
  await on.untilNamed(
    `consumers of ${stream}`,
    /such as one of a watcher, .*maximum consumers limit reached\. Raise max_consumers of the account/,
  )
  await nats.reload(accountWith({}))
  await on.untilReady()
})

/** Repeats a call until it succeeds, without a pause. */
async function takenAtOnce(call: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const done = await call().then(
      () => true,
      () => false,
    )
    if (done) return
  }
}

t.test('streams', async (t) => {
  const { nats, manager, ...on } = await open(t)
  const { streams } = await manager.getAccountInfo()
  const add = (index: number) => manager.streams.add({ name: `OTHER_${index}`, subjects: [`other.${index}`] })
  await nats.reload(accountWith({ max_streams: streams + 2 }))
  const made = await fill(add)
  await Promise.all([manager.streams.delete('WEIR_AUDIT_IN'), takenAtOnce(() => add(made))])
  await on.untilNamed(
    'WEIR_AUDIT_IN',
    /is missing\. It can't be made again: .*maximum number of streams reached\. Raise max_streams of the account/,
  )
  await removeOthers(manager, made + 1)
  await on.untilReady()
})

async function removeOthers(manager: JetStreamManager, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1)
    await manager.streams.delete(`OTHER_${index}`).catch(() => {})
}

t.test('storage', async (t) => {
  const { nats, ...on } = await open(t)
  await nats.reload(accountWith({ max_file: 8192 }))
  await on.untilNamed('nats-account', /account of NATS is full.*Raise its limit \(max_file/)
  await on.untilNamed(
    'nats-store',
    /nats-server at 127\.0\.0\.1:\d+ stores nothing: .*Raise max_file of the account/,
  )
  await nats.reload(accountWith({}))
  await on.untilReady()
})
