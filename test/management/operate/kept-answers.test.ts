/** Answers that are kept: asked for once, however many wait, and again when they are old. */
import t from 'tap'
import { KeptAnswers } from '../../../src/management/operate/kept-answers.js'

/** Timers keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

t.test(
  'callers share a question, each account has its own, and an old answer is asked for again',
  async (t) => {
    const asked: string[] = []
    const kept = new KeptAnswers({ keepMs: 1e9, waitMs: 1e6 }, async (id) => `${id} ${asked.push(id)}`)
    t.strictSame(await Promise.all(['a', 'b', 'a'].map((id) => kept.of(id))), ['a 1', 'b 2', 'a 1'])
    t.equal(await kept.of('a'), 'a 1')
    const old = new KeptAnswers({ keepMs: -1, waitMs: 1e6 }, async (id) => `${id} ${asked.push(id)}`)
    t.equal(await old.of('c'), 'c 3')
    t.equal(await old.of('c'), 'c 4')
  },
)

t.test('a failure is kept like an answer', async (t) => {
  let asks = 0
  const kept = new KeptAnswers({ keepMs: 1e9, waitMs: 1e6 }, async () => {
    asks += 1
    throw new Error('away')
  })
  for (const _ of [1, 2]) await t.rejects(kept.of('a'), { message: 'away' })
  t.equal(asks, 1)
})

t.test('a slow source is not asked again while it works, and its late answer is used', async (t) => {
  let asks = 0
  let answer = (_: string): void => {}
  const kept = new KeptAnswers({ keepMs: 1e9, waitMs: 20 }, () => {
    asks += 1
    return new Promise<string>((resolve) => {
      answer = resolve
    })
  })
  for (const _ of [1, 2]) await t.rejects(kept.of('a'), { code: 'ERR_UNAVAILABLE', message: /within 0.02 s/ })
  answer('late')
  t.equal(await kept.of('a'), 'late')
  t.equal(asks, 1)
})

t.test('the account that was asked for longest ago makes room', async (t) => {
  const asked: string[] = []
  const kept = new KeptAnswers({ keepMs: 1e9, waitMs: 1e6 }, async (id) => asked.push(id))
  for (let index = 0; index <= 1_000; index += 1) await kept.of(`a${index}`)
  t.equal(await kept.of('a1'), 2, 'still kept')
  t.equal(await kept.of('a0'), 1_002, 'asked again')
})
