/** How the demo waits: for as long as anything moves. */
import t from 'tap'
import { untilFound } from '../../../src/outside/demo/patience.js'

/** The results of the looks, one after the other; the last one again and again. */
const looks = (...seen: ({ found: string } | { situation: string } | Error)[]) => {
  let count = 0
  return async () => {
    const one = seen[Math.min(count++, seen.length - 1)]!
    if (one instanceof Error) throw one
    return one
  }
}

const at = (situation: string) => ({ situation })

t.test('it is found after looks that failed and situations that changed', async (t) => {
  const look = looks(new Error('busy'), at('1 of 2'), new Error('busy'), at('2 of 2'), { found: 'all' })
  t.equal(await untilFound(look, { everyMs: 1 }), 'all')
})

t.test('a standstill ends it, with the situation', async (t) => {
  const options = { everyMs: 1, patienceMs: 20 }
  await t.rejects(untilFound(looks(at('1 of 2'), at('2 of 3')), options), {
    message: 'Nothing moves any more: 2 of 3',
  })
  await t.rejects(untilFound(looks(new Error('no responders')), options), {
    message: 'Nothing moves any more: no responders',
  })
})

t.test('what moves is waited for longer than a standstill', async (t) => {
  let count = 0
  const look = async () => {
    count += 1
    return count > 30 ? { found: count } : at(`${count} of 30`)
  }
  t.equal(await untilFound(look, { everyMs: 5, patienceMs: 50 }), 31)
})
