import { memoryUsage } from 'node:process'
import { mock } from 'node:test'
import t from 'tap'
import { MemoryReturn } from '../../../../src/management/http/bounds/bounded-work.js'
import { until } from '../../../harness/weir.js'

/** As `http/bounds/bounded-work.ts` has it. */
const quietMs = 1_000

t.test('garbage is given back once the last of several large bodies is done', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let collections = 0
  const memory = new MemoryReturn(() => {
    collections += 1
  })
  const [first, second] = [memory.begin(), memory.begin()]
  first()
  mock.timers.tick(quietMs)
  t.equal(collections, 0, 'not while another is under way')
  second()
  memory.begin()()
  mock.timers.tick(quietMs - 1)
  t.equal(collections, 0, 'another one may follow')
  mock.timers.tick(1)
  t.equal(collections, 1)
  mock.timers.tick(quietMs)
  t.equal(collections, 1, 'bodies that follow one another are cleaned up after together')
})

t.test('objects that became old are collected, although nothing else is allocated', async (t) => {
  let objects: object[] | undefined = Array.from({ length: 1_000_000 }, (_, n) => ({ n, text: `a ${n}` }))
  const before = memoryUsage().heapUsed
  t.equal(objects.length, 1_000_000)
  objects = undefined
  new MemoryReturn().begin()()
  await until('less memory', () => memoryUsage().heapUsed < before - 40 * 2 ** 20)
})
