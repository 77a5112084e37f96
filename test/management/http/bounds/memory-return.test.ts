import { memoryUsage } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { MemoryReturn } from '../../../../src/management/http/bounds/bounded-work.js'
import { until } from '../../../harness/weir.js'

t.test('garbage is given back once the last of several large bodies is done', async (t) => {
  let collections = 0
  const memory = new MemoryReturn(() => {
    collections += 1
  })
  const [first, second] = [memory.begin(), memory.begin()]
  first()
  await sleep(1_500)
  t.equal(collections, 0, 'not while another is under way')
  second()
  memory.begin()()
  await until('a collection', () => collections === 1)
  await sleep(1_500)
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
