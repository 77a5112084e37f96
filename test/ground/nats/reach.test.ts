/** When the reason of a lost connection is looked for. */
import t from 'tap'
import { LostReason } from '../../../src/ground/nats/reach.js'

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

t.test('a lost connection is looked for until it is back, and never after its end', (t) => {
  const before = timers()
  const lost = new LostReason({ servers: ['127.0.0.1:1'], name: 'a test', replicas: 1 })
  lost.lost()
  lost.lost()
  t.equal(timers(), before + 1, 'once')
  lost.back()
  t.equal(timers(), before)
  lost.lost()
  lost.end()
  // The library reports a connection that is closed as one that is lost.
  lost.lost()
  t.equal(timers(), before)
  t.end()
})
