/** Messages that take long let others pass: who puts events into packs, and when. */
import t from 'tap'
import { yieldTurn } from '../../../src/ground/core/clock.js'
import { LongWalks } from '../../../src/judging/pipeline/long-walks.js'
import { until } from '../../harness/weir.js'

/** An intake of messages that have so many sections each; what was done, in order. */
function open() {
  const walks = new LongWalks()
  const done: string[] = []
  let inside = 0
  const section = async (name: string): Promise<void> => {
    inside += 1
    t.equal(inside, 1, `${name} is alone`)
    await yieldTurn()
    inside -= 1
    done.push(name)
  }
  const walk = async (name: string, sections: number): Promise<void> => {
    try {
      for (let n = 1; n <= sections; n += 1) {
        if (n > 1) await walks.pause()
        await section(`${name}${n}`)
      }
    } finally {
      walks.end()
    }
  }
  const all: Promise<void>[] = []
  const take = async (name: string, sections: number): Promise<void> => {
    await walks.turn()
    const processing = walk(name, sections)
    all.push(processing)
    await walks.processedOrAside(processing)
  }
  return { walks, done, take, ended: () => Promise.all(all) }
}

t.test('a message passes a long one after its first section', async (t) => {
  const { done, take, ended } = open()
  await take('long', 5)
  await take('next', 1)
  await ended()
  t.strictSame(done.slice(0, 1), ['long1'])
  t.ok(done.indexOf('next1') <= 2, done.join(' '))
  t.strictSame(
    done.filter((name) => name.startsWith('long')),
    ['long1', 'long2', 'long3', 'long4', 'long5'],
  )
})

t.test('long ones go on by themselves while nothing comes, each in turn', async (t) => {
  const { done, take } = open()
  await take('a', 3)
  await take('b', 3)
  await until('both have ended', () => done.length === 6)
  t.ok(Math.abs(done.indexOf('a3') - done.indexOf('b3')) <= 2, done.join(' '))
})

t.test('while messages come without a pause, long ones go on, too', async (t) => {
  const { done, take, ended } = open()
  await take('long', 4)
  const begunMs = performance.now()
  for (let n = 0; !done.includes('long4') && performance.now() - begunMs < 30_000; n += 1)
    await take(`m${n}.`, 1)
  t.ok(done.includes('long4'))
  await ended()
})

t.test('however many are long, all end, and the intake goes on', async (t) => {
  const { done, take, ended } = open()
  for (let n = 0; n < 100; n += 1) await take(`w${n}.`, 3)
  await ended()
  t.equal(done.length, 300)
})

t.test('a walk that fails lets the others go on', async (t) => {
  const { walks, done, take, ended } = open()
  await walks.turn()
  const failing = (async () => {
    try {
      await yieldTurn()
      await walks.pause()
      throw new Error('The stream is gone.')
    } finally {
      walks.end()
    }
  })().catch(() => {})
  await walks.processedOrAside(failing)
  await take('long', 3)
  await failing
  await ended()
  t.equal(done.length, 3)
})

t.test('a walk whose first section takes no turn of the event loop steps aside, too', async (t) => {
  const { walks, done, take, ended } = open()
  await walks.turn()
  let isOver = false
  const walk = async (): Promise<void> => {
    await walks.pause()
    isOver = true
    walks.end()
  }
  await walks.processedOrAside(walk())
  await until('it went on by itself', () => isOver)
  await take('next', 2)
  await ended()
  t.strictSame(done, ['next1', 'next2'])
})
