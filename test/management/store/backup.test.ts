/** Backups without servers: the order of what is copied, dead letters that leave meanwhile, and archives that are no backups. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { type BackupOptions, makeBackup } from '../../../src/management/store/backup/backup.js'
import type { RowPage } from '../../../src/management/store/backup/copied-rows.js'
import { openBackup } from '../../../src/management/store/backup/restore.js'
import { tempDir } from '../../harness/temp-dir.js'

const letters = 'WEIR_DEADLETTER'

/** `left`: how many dead letters leave in each round. */
function source(t: Test, left: readonly number[], pages: Readonly<Record<string, RowPage>> = {}) {
  const order: string[] = []
  let messages = 10
  let round = 0
  const nats = {
    streamInfo: async () => ({ state: { messages, last_seq: 10, bytes: 100 } }),
    copies: {
      async consumer(stream: string) {
        order.push(`position of ${stream}`)
        return { config: { durable_name: 'pipeline' }, firstSequence: 4 }
      },
      async snapshot(stream: string) {
        order.push(stream)
        if (stream === letters) {
          messages -= left[round] ?? 0
          round += 1
        }
        const chunks = (async function* () {
          yield Buffer.from(`${stream} `)
          yield Buffer.from('of the server')
        })()
        return { config: { name: stream }, state: { messages: 1, bytes: 100 }, chunks }
      },
    },
  }
  const options: BackupOptions = {
    path: join(tempDir(t), 'backup'),
    nats: nats as never,
    partitions: partitionsUpTo(1),
    resources: Object.keys(pages).map((kind) => ({ kind })) as never,
    keyFingerprint: 'a fingerprint',
    versions: async () => {
      order.push('versions')
      return { ac_1: 5 }
    },
    counts: async () => ({}),
    page: async (kind) => {
      order.push(kind)
      return pages[kind]!
    },
    progressed: () => {},
  }
  return { order, options }
}

t.test('what moves is copied before what takes it over, and positions before what they are in', async (t) => {
  const { order, options } = source(t, [], { tcp_edge: { rows: [], next: undefined } })
  await makeBackup(options)
  t.same(order, [
    'KV_weir_idempotency',
    'versions',
    ...['position of WEIR_RECORDS', 'WEIR_RECORDS', 'position of WEIR_AUDIT', 'WEIR_AUDIT'],
    ...['position of WEIR_AUDIT_IN', 'WEIR_AUDIT_IN', 'KV_weir_behind', 'WEIR_DELIVERIES', letters],
    ...['KV_weir_key_use', 'tcp_edge'],
  ])
})

t.test('the share is that of streams as they are stored, and of kinds', async (t) => {
  const page: RowPage = { rows: [], next: undefined }
  const { options } = source(t, [1, 0], { tcp_edge: page, ip_policy: page })
  const streamInfo = async () => ({ state: { messages: 10, last_seq: 10, bytes: 4 * 1024 * 1024 } })
  const shares: number[] = []
  await makeBackup({
    ...options,
    nats: { ...options.nats, streamInfo } as never,
    counts: async () => ({ tcp_edge: 0, ip_policy: 0 }),
    page: async (kind) => {
      // Not more often is it told.
      await sleep(250)
      return options.page(kind, undefined)
    },
    progressed: (_what, done, of) => shares.push(Math.round((100 * done) / of)),
  })
  const [first = 100, ...later] = shares
  t.ok(first <= 10, 'of the first stream')
  t.strictSame(
    later.slice(-2),
    [90, 100],
    'eight streams, which were copied twice, and a kind; and the other',
  )
})

t.test('dead letters that leave meanwhile', async (t) => {
  for (const [left, rounds, letters_left] of [
    [[], 1, 0],
    [[2], 2, 0],
    [[1, 1, 1], 3, 1],
  ] as const) {
    const { order, options } = source(t, left)
    const manifest = await makeBackup(options)
    t.equal(
      order.filter((name) => name === letters).length,
      rounds,
      `${left.length} rounds in which some left`,
    )
    t.equal(manifest.letters_left, letters_left)
    const [file] = manifest.streams.find(({ config }) => config.name === letters)!.files
    t.match(file?.name, new RegExp(`\\.${rounds}\\.`), 'the copy of the last round counts')
  }
})

t.test('rows of later changes, and of accounts that are newer, are left out', async (t) => {
  const row = (account_id: string, version: number) => ({ account_id, id: 'x', version })
  const rows = [row('ac_1', 4), row('ac_1', 5), row('ac_1', 6), row('ac_2', 1)]
  const { options } = source(t, [], { tcp_edge: { rows, next: undefined } })
  const { kinds } = await makeBackup(options)
  t.match(kinds, [{ kind: 'tcp_edge', rows: 2 }])
})

t.test('one that fails leaves nothing', async (t) => {
  const { options } = source(t, [])
  const failing = { ...options, versions: () => Promise.reject(new Error('ClickHouse is away.')) }
  await t.rejects(makeBackup(failing), /ClickHouse is away/)
  t.notOk(existsSync(options.path))
  t.notOk(existsSync(`${options.path}.partial`))
})

t.test('every file is needed, and as it was', async (t) => {
  const row = { account_id: 'ac_1', id: 'x', version: 1 }
  const { options } = source(t, [], { tcp_edge: { rows: [row], next: undefined } })
  await makeBackup(options)
  const open = () => openBackup(options.path, () => {}).reader.close()
  open()
  const names = readdirSync(options.path, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.includes('.'),
  )
  t.ok(names.length >= 10)
  for (const name of names) {
    const path = join(options.path, name)
    const bytes = readFileSync(path)
    for (const changed of [
      Buffer.from(bytes).fill(bytes[0]! ^ 1, 0, 1),
      bytes.subarray(1),
      Buffer.concat([bytes, bytes]),
    ]) {
      writeFileSync(path, changed)
      const named = name.startsWith('manifest') ? 'manifest' : name
      t.throws(open, new RegExp(named.replaceAll('.', '\\.')), name)
    }
    writeFileSync(path, bytes)
  }
  open()
  writeFileSync(join(options.path, 'manifest.json'), '{}')
  t.throws(open, /manifest.json is damaged/)
})
