/** Data of a later version of Weir: a start refuses it, says why and what to do, and changes nothing. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bucketNames } from '../../src/delivery/wire/names.js'
import { dataFormat } from '../../src/ground/core/files/data-format.js'
import { metaKey } from '../../src/words/view/keys.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'

const later = { format: dataFormat + 1, version: '9.8.7' }

t.test('data of a later version', { timeout: 300_000 }, async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'format.json')
  const refused = async (what: RegExp): Promise<void> => {
    for (const args of [['serve'], ['account', 'list']]) {
      const running = run('programs/main.js', args, { WEIR_DATA_DIR: dir, WEIR_PORT: '0' })
      const { code } = await running.ended
      t.equal(code, 1, args.join(' '))
      t.match(running.output(), what, args.join(' '))
      t.match(
        running.output(),
        /Start Weir 9\.8\.7 or later\. To go back, restore the backup/,
        args.join(' '),
      )
    }
  }
  const weir = await startWeir(dir)
  t.teardown(() => weir.stop())
  const made = await weir.api.ipPolicy.create({ description: 'kept' })
  const nats = await weir.nats()
  const bucket = await nats.findBucket(bucketNames.config)
  await until('the configuration has its format', async () => {
    const entry = await bucket!.get(metaKey)
    return JSON.parse(Buffer.from(entry!.value!).toString()).format === dataFormat
  })
  const { value, revision } = (await bucket!.get(metaKey))!
  const present = JSON.parse(Buffer.from(value!).toString())
  await bucket!.replace(metaKey, JSON.stringify({ ...present, ...later }), revision)
  t.equal((await weir.api.ipPolicy.get(made.id)).description, 'kept', 'roles that run go on')
  await weir.stop()
  await refused(/The configuration in NATS was written by Weir 9\.8\.7 in format/)

  writeFileSync(file, JSON.stringify(later))
  await refused(/The data directory .+ \(WEIR_DATA_DIR\) was written by Weir 9\.8\.7 in format/)
  t.strictSame(JSON.parse(readFileSync(file, 'utf8')), later)
})
