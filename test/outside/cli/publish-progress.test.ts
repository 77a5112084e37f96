import t from 'tap'
import { Progress } from '../../../src/outside/cli/publish/publish-progress.js'
import { Report } from '../../../src/outside/cli/publish/publish-report.js'
import { until } from '../../harness/weir.js'

t.test('the rate is that of the last seconds, and time is left by it', (t) => {
  const progress = new Progress()
  const size = 100_000
  const at = (second: number, stored: number, offset: number) =>
    progress.text({ stored, refused: 2 }, { offset, size }, 1_000_000 + 1000 * second)
  t.equal(at(0, 0, 0), '0 records stored, 2 refused, 0 % of the file')
  t.equal(at(1, 50, 500), '50 records stored, 2 refused, 50/s, 0 % of the file, 3 min left')
  for (let second = 2; second <= 20; second += 1)
    at(second, 50 + 1000 * (second - 1), 500 + 2000 * (second - 1))
  t.equal(at(21, 20_050, 40_500), '20050 records stored, 2 refused, 1000/s, 40 % of the file, 30 s left')
  t.end()
})

t.test('while nothing comes, it says for how long', (t) => {
  const progress = new Progress()
  const at = (second: number, stored: number) =>
    progress.text({ stored, refused: 0 }, undefined, 1000 * second)
  at(0, 0)
  at(1, 500)
  t.equal(at(2, 500), '500 records stored, 0 refused, 250/s')
  for (let second = 3; second < 31; second += 1) at(second, 500)
  t.equal(at(31, 500), '500 records stored, 0 refused, nothing new for 30 s')
  t.equal(at(32, 610), '610 records stored, 0 refused, 11/s', 'and it goes on at once')
  t.end()
})

t.test('a file that is read to its end has no time left', (t) => {
  const progress = new Progress()
  progress.text({ stored: 0, refused: 0 }, { offset: 0, size: 10 }, 0)
  const text = progress.text({ stored: 10, refused: 0 }, { offset: 10, size: 10 }, 1000)
  t.equal(text, '10 records stored, 0 refused, 10/s, 100 % of the file')
  t.equal(
    progress.text({ stored: 10, refused: 0 }, { offset: 0, size: 0 }, 2000),
    '10 records stored, 0 refused, 5/s',
    'nor does an empty one have a share',
  )
  t.end()
})

t.test('without a terminal, a line is written from time to time while lines come', async (t) => {
  const written = t.capture(process.stderr, 'write', () => true)
  const report = new Report('combined', undefined, { tellEveryMs: 5, lineEveryMs: 10 })
  const lines = () => written().flatMap(({ args: [text] }) => String(text))
  const seen: string[] = []
  const look = () => {
    seen.push(...lines())
    return seen
  }
  report.reads(() => ({ offset: 5, size: 10 }))
  report.read = 1
  report.stored = 1
  await until('a line is written', () => look().length === 1)
  report.read = 2
  report.stored = 2
  await until('another one is', () => look().length === 2)
  await report.close()
  t.match(seen[0], /^weir: 1 records stored, 0 refused, .*50 % of the file\.\n$/)
  t.match(seen[1], /^weir: 2 records stored, 0 refused, .*50 % of the file.*\.\n$/)
})
