/** The output of the very first start, as a person sees it. */
import { join } from 'node:path'
import t from 'tap'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { startWeir } from '../../harness/weir.js'

/** The number of this level in the log. */
const info = 30

const weir = (env: Readonly<Record<string, string>>) => run('programs/main.js', ['serve'], env)

t.test('the first start', async (t) => {
  const dataDir = join(tempDir(t), 'data')
  const env = { WEIR_LOG_LEVEL: 'info', WEIR_RETENTION: '24h' }
  const first = await startWeir(dataDir, env, '', weir)
  t.teardown(() => first.stop())
  await first.process.line(/^metrics: /)
  const output = first.process.output()

  t.match(
    output,
    /^(─+)\nThe first account.*\n\naccount: ac_\w+\nAPI key: weir_[\w-]+\n\n(?:.+\n)+\1$/m,
    'the key is in a frame, on a line of its own',
  )
  t.equal(output.split(first.token).length, 2, 'the key is printed once')
  t.match(output, new RegExp(`weir key create --account ${first.accountId}\n`), 'and how to get another one')

  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  const logged = lines.map(
    (line) =>
      JSON.parse(line) as { readonly level: number; readonly msg: string; readonly settings?: object },
  )
  t.ok(logged.length >= 4, 'the log is JSON in a pipe')
  t.ok(
    logged.filter(({ level, msg }) => level > info && msg.includes('nats-server')).length <= 1,
    'one warning at most',
  )
  t.strictSame(
    logged.flatMap(({ settings }) => (settings === undefined ? [] : [settings])),
    [
      {
        WEIR_PORT: '0',
        WEIR_DATA_DIR: dataDir,

        WEIR_RETENTION: '24h',
      },
    ],
    'settings that differ from the defaults, with units',
  )
  await first.stop()

  const second = run('programs/main.js', ['serve'], { WEIR_DATA_DIR: dataDir, WEIR_PORT: '0' })
  t.teardown(() => second.stop())
  await second.line(/^metrics: /)
  t.notMatch(second.output(), /API key|─/, 'the second start shows no key')
})
