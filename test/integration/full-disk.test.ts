/** `weir serve` while the disk of its nats-server is full, and afterwards. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isReady, readyOf } from '../harness/pages.js'
import { mountSmallDisk } from '../harness/small-disk.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { record, token } from './deployment.js'

t.test('full while records come, then with room again', async (t) => {
  const dataDir = tempDir(t)
  const dir = join(dataDir, 'nats')
  mkdirSync(dir)
  const disk = mountSmallDisk(t, '24m', dir)
  if (typeof disk === 'string') return void t.pass(disk, { skip: disk })
  const env = { WEIR_BOOTSTRAP_TOKEN: token, WEIR_STORAGE_MAX: '256MiB' }
  const weir = await startWeir(dataDir, env)
  t.teardown(() => weir.stop())
  const nats = await weir.nats()
  const wide = record('run', 0).replace('{', `{"note":"${'x'.repeat(60_000)}",`)
  const message = Array.from({ length: 8 }, () => wide).join('\n')
  const publishOnce = () => nats.publish('weir.records.eu.node-1', message, { triesMax: 1 })
  const fill = async (): Promise<void> => {
    for (;;) await publishOnce()
  }
  await t.rejects(fill(), 'no more records are acknowledged')
  const namesStream = async (): Promise<boolean> => {
    const { status, failing } = await readyOf(weir.url)
    return status === 503 && /WEIR_RECORDS.*Make room/.test(failing['nats-server'] ?? '')
  }
  await until('readiness names the stream and what to do', namesStream)

  disk.resize('256m')
  await until('all roles are ready', () => isReady(weir.url))
  await until('a record is stored', () =>
    publishOnce().then(
      () => true,
      () => false,
    ),
  )
  const isMade = () =>
    weir.api.ipPolicy.create({}).then(
      () => true,
      () => false,
    )
  await until('a change is made', isMade)
})
