/** `weir publish --until-end` and `--history`: a log is loaded once, to its end, and says that it is of the past. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { historyOf } from '../../../src/delivery/wire/names.js'
import { recordsStream, recordsSubjects } from '../../harness/first-partition.js'
import { lineOf, linesOf, openPublishing, stored } from '../../harness/published-log.js'

t.test(
  'a file is read to its end, also a compressed one, and what was written since comes with the next run',
  async (t) => {
    const { nats, dir, start } = await openPublishing(t)
    const path = join(dir, 'access.log')
    const args = ['--node', 'n1', '--server-name', 'www.example.com', '--until-end', '--json']
    const countsOf = async (...more: string[]) => {
      const running = start(...args, ...more)
      const { code } = await running.ended
      t.equal(code, 0, running.output())
      const { read, stored } = JSON.parse((await running.line(/^\{.*\}$/))[0])
      return { read, stored }
    }
    writeFileSync(path, `${linesOf(0, 1_234)}${lineOf(1_234).trimEnd()}`)
    t.strictSame(await countsOf('--file', path), { read: 1_235, stored: 1_235 }, 'the last line needs no end')
    t.equal((await stored(nats)).length, 1_235)
    t.strictSame(await countsOf('--file', path), { read: 0, stored: 0 })
    appendFileSync(path, `\n${lineOf(1_235)}`)
    t.strictSame(await countsOf('--file', path), { read: 1, stored: 1 })
    const old = join(dir, 'access.log.2.gz')
    writeFileSync(old, gzipSync(linesOf(5_000, 700)))
    t.strictSame(await countsOf('--file', old), { read: 700, stored: 700 })
    t.strictSame(await countsOf('--file', old), { read: 0, stored: 0 })
    const missing = start(...args, '--file', join(dir, 'missing.log'))
    t.not((await missing.ended).code, 0)
    t.match(missing.output(), /missing\.log does not exist/)
  },
)

t.test('records of the past say so, and are stored although the same lines came before', async (t) => {
  const { nats, dir, start } = await openPublishing(t)
  const path = join(dir, 'access.log')
  writeFileSync(path, linesOf(0, 100))
  const past = (at: string, ...more: string[]) => [
    ...[
      '--file',
      path,
      '--position',
      join(dir, at),
      '--node',
      'n1',
      '--server-name',
      'a.example',
      '--until-end',
    ],
    ...more,
  ]
  const runs = [[], ['--history'], ['--history', '--deliver']]
  for (const [at, more] of runs.entries()) t.equal((await start(...past(String(at), ...more)).ended).code, 0)
  const words: (string | undefined)[] = []
  for (let from = 1; ; ) {
    const message = await nats.nextMessage(recordsStream, recordsSubjects, from)
    if (message === undefined) break
    words.push(historyOf(message.headers))
    from = message.sequence + 1
  }
  t.strictSame(words, [undefined, 'log', 'deliver'])
  t.equal(new Set((await stored(nats)).map(({ record_id }) => record_id)).size, 100)
  const alone = start('--deliver', '--server-name', 'a.example')
  t.not((await alone.ended).code, 0)
  t.match(alone.output(), /--deliver belongs to --history/)
})
