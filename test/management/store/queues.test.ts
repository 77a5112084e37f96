/** Work of one name runs one after the other, whatever becomes of it; other names do not wait. */
import t from 'tap'
import { Queue, Queues } from '../../../src/management/store/queues.js'

t.test('work of one name, and of another', async (t) => {
  const queues = new Queues()
  const log: string[] = []
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const first = queues.inTurn('ac_1', async () => {
    log.push('first begins')
    await gate
    log.push('first ends')
    throw new Error('first failed')
  })
  const second = queues.inTurn('ac_1', async () => log.push('second'))
  await queues.inTurn('ac_2', async () => log.push('of another name'))
  t.strictSame(log, ['first begins', 'of another name'])
  const idle = queues.idle().then(() => log.push('idle'))
  open()
  await t.rejects(first, { message: 'first failed' }, 'its caller gets the error')
  await second
  await idle
  t.strictSame(log.slice(2), ['first ends', 'second', 'idle'], 'work after a failure runs, too')
})

t.test('work that is added by work of the same name', async (t) => {
  const queues = new Queues()
  const log: string[] = []
  let later: Promise<unknown> = Promise.resolve()
  await queues.inTurn('ac_1', async () => {
    later = queues.inTurn('ac_1', async () => log.push('later'))
    log.push('now')
  })
  await later
  t.strictSame(log, ['now', 'later'])
  await queues.idle()
})

t.test('a queue goes on after work that failed', async (t) => {
  const queue = new Queue()
  const log: string[] = []
  const failed = queue.inTurn(async () => {
    log.push('first')
    throw new Error('first failed')
  })
  const second = queue.inTurn(async () => log.push('second'))
  t.strictSame(log, [], 'work begins in a later turn')
  await t.rejects(failed, { message: 'first failed' })
  await second
  t.strictSame(log, ['first', 'second'])
})
