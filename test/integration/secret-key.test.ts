/** The secret key is replaced while events are delivered with secrets that it seals, and processes are killed meanwhile. */
import { join } from 'node:path'
import t from 'tap'
import { Sealer } from '../../src/ground/core/seal.js'
import { secretKeys } from '../../src/management/process/secret-key.js'
import { secretBelongsTo } from '../../src/words/resource/destination-secrets.js'
import { run } from '../harness/processes.js'
import { processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { openDeployment, record } from './deployment.js'

const perMessage = 50

t.test('a new key', async (t) => {
  const { weir, dataDir, emulator, destinations } = await openDeployment(t, { WEIR_DECISION_LOG: 'off' })
  const data = { dir: dataDir, secretKey: undefined }
  const command = async (...args: string[]): Promise<string> => {
    const running = run('programs/main.js', args, { WEIR_DATA_DIR: dataDir })
    await running.ended
    return running.output()
  }
  const progress = async (verb: string) => {
    const output = await command('secret-key', verb, '--json')
    t.match(output, /^\{.*\}$/, `secret-key ${verb}`)
    return JSON.parse(output)
  }
  const nats = await weir.nats()
  let sent = 0
  const publish = async (): Promise<void> => {
    const lines = Array.from({ length: perMessage }, (_, n) => record('run', sent + n))
    await nats.publish('weir.records.eu.node-1', lines.join('\n'))
    sent += perMessage
  }
  const delivered = (what: string) =>
    until(what, async () => {
      const { unique } = await emulator.client.counts({ service: 'kinesis', name: 'all' })
      return unique === sent
    })
  const kill = (role: string): void => {
    for (const each of processesBelow(weir.process.pid).filter((one) => one.role === role))
      process.kill(each.pid, 'SIGKILL')
  }
  const untilAnswered = () =>
    until(
      'the API answers',
      async () => (await fetch(`${weir.url}/readyz`).catch(() => undefined))?.ok === true,
    )

  await publish()
  await delivered('events arrive with the first key')
  const before = secretKeys(data)
  t.match(await progress('status'), { state: 'done', keys: 1, earlier: 0 })
  t.match(await command('secret-key', 'drop'), /There is no other key/)
  const began = progress('rotate')
  await publish()
  t.match(await began, { keys: 2 })
  kill('api')
  await publish()
  await untilAnswered()
  t.match(await progress('rotate'), { keys: 2 }, 'the rotation is finished, and no third key made')
  await weir.api.eventDestination.update(destinations.all, { description: 'of two keys' })
  await publish()
  await until(
    'nothing is sealed with the earlier key',
    async () => (await progress('status')).state === 'done',
  )
  t.match(await progress('status'), { keys: 2, earlier: 0, unreadable: 0 })
  t.match(await progress('drop'), { state: 'done', keys: 1, earlier: 0, unreadable: 0 })
  const after = secretKeys(data)
  t.equal(after.length, 1)
  t.notSame(after, before)
  await delivered('nothing was lost')

  const sealer = new Sealer(after)
  const sql =
    'SELECT account_id, id, sealed_secret FROM event_destination_versions WHERE sealed_secret IS NOT NULL'
  const rows = (await command('sql', sql, '--json'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.ok(rows.length > 3, 'earlier versions are among them')
  for (const row of rows)
    t.match(sealer.unseal(row.sealed_secret, secretBelongsTo(row)), emulator.key.secretAccessKey)

  kill('deliver')
  kill('api')
  await untilAnswered()
  await publish()
  await delivered('processes that have only the new key deliver')
  t.match(await progress('status'), { state: 'done', keys: 1 })
  t.notMatch(weir.process.output(), after[0]!.toString('base64'))
})

t.test('without a service', async (t) => {
  const dir = join(t.testdir(), 'data')
  const running = run('programs/main.js', ['secret-key', 'rotate'], { WEIR_DATA_DIR: dir })
  t.match(await running.ended, { code: 4 })
  t.match(running.output(), /No Weir runs on this data directory/)
})
