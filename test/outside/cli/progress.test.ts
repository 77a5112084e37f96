/** The line that shows how far a command is. */
import t from 'tap'
import { clearLine, ProgressLine } from '../../../src/outside/cli/progress.js'
import { extentOf } from '../../../src/outside/cli/try/try.js'
import type { Trial } from '../../../src/words/shape/trial.js'

/** A terminal, or what is none, and what was written to it. */
function output(isTTY: boolean) {
  const written: string[] = []
  return { isTTY, write: (text: string) => written.push(text), written }
}

t.test('on a terminal, what lasts shows its share and the time that is left', (t) => {
  const terminal = output(true)
  const line = new ProgressLine(0, terminal)
  t.ok(line.isWatched)
  line.show('begun', { done: 0, of: 400 }, 500)
  line.show('soon', { done: 10, of: 400 }, 1_500)
  t.strictSame(terminal.written, [], 'nothing in the first two seconds')
  line.show('10 of 400', { done: 20, of: 400 }, 2_500)
  t.equal(terminal.written.pop(), `${clearLine}10 of 400, 5 %, 38 s left`)
  line.show('stuck', { done: 20, of: 400 }, 30_000)
  t.equal(terminal.written.pop(), `${clearLine}stuck, 5 %`, 'no guess if nothing was seen for long')
  line.show('all', { done: 400, of: 400 }, 31_000)
  t.equal(terminal.written.pop(), `${clearLine}all, 100 %`)
  line.show('more than there was', { done: 500, of: 400 }, 32_000)
  t.equal(terminal.written.pop(), `${clearLine}more than there was, 100 %`)
  line.show('how much is not known', undefined, 33_000)
  t.equal(terminal.written.pop(), `${clearLine}how much is not known`)
  line.show('hostile \u001b[2J', { done: 0, of: 0 }, 34_000)
  t.equal(terminal.written.pop(), `${clearLine}hostile \uFFFD[2J`)
  line.end()
  line.end()
  t.strictSame(terminal.written, [clearLine], 'the line is removed, once')
  t.end()
})

t.test('what is shown many times a second costs little', (t) => {
  const terminal = output(true)
  const line = new ProgressLine(0, terminal)
  const of = 100_000
  for (let done = 0; done < of; done += 1) line.show('many', { done, of }, 3_000 + done / 100)
  t.ok(terminal.written.length <= 11, `${terminal.written.length} lines in a second`)
  t.equal(terminal.written.at(1), `${clearLine}many, 10 %, 1 s left`)
  line.end()
  line.show('again, above which something else was printed', { done: 0, of: 0 }, 4_000)
  t.match(terminal.written.at(-1), /again/, 'what was removed is shown at once')
  t.end()
})

t.test('a file or a pipe gets nothing', (t) => {
  const file = output(false)
  const line = new ProgressLine(0, file)
  t.notOk(line.isWatched)
  line.show('10 of 400', { done: 10, of: 400 }, 60_000)
  line.end()
  t.strictSame(file.written, [])
  t.end()
})

t.test('a trial is as far as what it read, not as the times of its records', (t) => {
  const at = '2026-11-20T12:59:59Z'
  const trial = { since: '2026-11-20T12:00:00Z', until: '2026-11-20T13:00:00Z' } as Trial
  t.strictSame(extentOf({ ...trial, progress: { records: 1, bytes: 1, at, share: 0.25 } }), {
    done: 0.25,
    of: 1,
  })
  t.equal(extentOf({ ...trial, progress: { records: 0, bytes: 0, at: null, share: 0 } }), undefined)
  t.end()
})
