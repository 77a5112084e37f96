/**
 * The model of nats-server against a real one: random histories of what clients do are played to both, by the same library,
 * and the client must see the same.
 */
import { connect } from '@nats-io/transport-node'
import fc from 'fast-check'
import t from 'tap'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { history } from './histories.js'
import { play } from './player.js'
import { ModelServer } from './server.js'
import { connectTo } from './transport.js'

const world = {
  now: () => Date.now(),
  after: (ms: number, fn: () => void) => {
    const timer = setTimeout(fn, ms)
    return { stop: () => clearTimeout(timer) }
  },
  random: Math.random,
}

t.test('clients of the model see what they would of a nats-server, whatever they do', async (t) => {
  const own = new OwnNats(tempDir(t))
  await own.start()
  t.teardown(() => own.stop())
  const real = await connect({ servers: own.url })
  t.teardown(() => real.close())
  const { version } = real.info!
  if (version.startsWith('2.9.')) {
    t.pass('the model is like a current server', { skip: `this is nats-server ${version}` })
    return
  }
  const model = new ModelServer(world)
  t.teardown(() => model.close())
  const modelled = await connectTo((end) => model.connect(end), {})
  t.teardown(() => modelled.close())
  let runs = 0
  await fc.assert(
    fc.asyncProperty(history, async (played) => {
      runs += 1
      const run = `h${runs}`
      const [expected, found] = [await play(real, played, run), await play(modelled, played, run)]
      if (JSON.stringify(expected) !== JSON.stringify(found)) {
        const at = expected.findIndex((each, n) => JSON.stringify(each) !== JSON.stringify(found[n]))
        throw new Error(
          `${JSON.stringify(played.stream)} ${JSON.stringify(expected[at])}\nmodel: ${JSON.stringify(found[at])}`,
        )
      }
    }),
    { numRuns: 150 },
  )
  t.pass(`${runs} histories`)
})
