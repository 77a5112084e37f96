/** An installation without the embedded ClickHouse, whose package is optional: what works, and what says that it is missing. */
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { startClickhouseFront } from '../../harness/clickhouse-front.js'
import { type Running, runFile } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { startWeir } from '../../harness/weir.js'

/** The built programs in a package of their own, with the packages of this checkout that are not left out. */
function installation(t: Test, leftOut: readonly string[]): string {
  const dir = tempDir(t)
  for (const path of ['package.json', 'config', 'src/weir.mjs', 'src/delivery/nats-server', 'dist/programs'])
    cpSync(path, join(dir, path), { recursive: true })
  symlinkSync(resolve('dist/geo'), join(dir, 'dist', 'geo'))
  symlinkSync(resolve('dist/console'), join(dir, 'dist', 'console'))
  symlinkSync(resolve('dist/playground'), join(dir, 'dist', 'playground'))
  symlinkSync(resolve('dist/reference'), join(dir, 'dist', 'reference'))
  mkdirSync(join(dir, 'node_modules'))
  for (const name of readdirSync('node_modules'))
    if (!leftOut.includes(name)) symlinkSync(resolve('node_modules', name), join(dir, 'node_modules', name))
  return join(dir, 'src', 'weir.mjs')
}

const sentence =
  /^weir: The embedded ClickHouse is not installed \(there is no .+\): set CLICKHOUSE_URL to the address of a ClickHouse server, or install it as docs\/install\.md says\.$/

t.test('without a server of ClickHouse: one sentence, and nothing is made', async (t) => {
  const weir = installation(t, ['chdb', '@chdb'])
  for (const words of [['serve'], ['account', 'list']]) {
    const dataDir = join(tempDir(t), 'data')
    const running = runFile(weir, words, { WEIR_DATA_DIR: dataDir, WEIR_PORT: '0', NATS_URL: '' })
    t.teardown(() => running.kill())
    t.strictSame(await running.ended, { code: 1, signal: null }, words.join(' '))
    t.match(running.output(), sentence, words.join(' '))
    t.match(running.output(), 'no package chdb')
    if (words[0] === 'serve') t.notOk(existsSync(dataDir), 'no data directory')
  }
})

t.test('a platform for which chdb has no library', async (t) => {
  const dir = tempDir(t)
  cpSync('node_modules/chdb', join(dir, 'chdb'), { recursive: true })
  const weir = installation(t, ['chdb', '@chdb'])
  symlinkSync(join(dir, 'chdb'), join(weir, '..', '..', 'node_modules', 'chdb'))
  const running = runFile(weir, ['serve'], { WEIR_DATA_DIR: join(dir, 'data'), WEIR_PORT: '0', NATS_URL: '' })
  t.teardown(() => running.kill())
  t.strictSame(await running.ended, { code: 1, signal: null })
  t.match(running.output(), sentence)
  t.match(running.output(), `no library of the package chdb for ${process.platform}-${process.arch}`)
})

t.test('with a server of ClickHouse, everything works', async (t) => {
  const dir = tempDir(t)
  const front = await startClickhouseFront(join(dir, 'front'))
  t.teardown(() => front.process.stop())
  const program = installation(t, ['chdb', '@chdb'])
  const env = { CLICKHOUSE_URL: front.url, WEIR_SECRET_KEY: randomBytes(32).toString('base64') }
  const start = (more: Readonly<Record<string, string>>): Running => runFile(program, ['serve'], more)
  const weir = await startWeir(join(dir, 'data'), env, '', start)
  t.teardown(() => weir.stop())
  const { id } = await weir.api.ipPolicy.create({ description: 'kept by the server' })
  t.match(await weir.api.ipPolicy.get(id), { description: 'kept by the server' })
})
