/** Why a connection does not come about: what is a refusal, and when the reason of a lost one is looked for. */
import t from 'tap'
import { isLoginTaken, LostReason } from '../../../src/ground/nats/reach.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

t.test('a lost connection is looked for until it is back, and never after its end', (t) => {
  const before = timers()
  const lost = new LostReason({ servers: ['127.0.0.1:1'], name: 'a test', replicas: 1 }, () => {})
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

t.test('a login that comes too late is not one that is refused', async (t) => {
  const asked = (server: OwnNats, login: string) =>
    isLoginTaken({
      servers: [server.url.replace('//', `//${login}@`)],
      name: 'a test',
      replicas: 1,
      isUpNow: true,
    })
  const open = async (authorization: string): Promise<OwnNats> => {
    const server = new OwnNats(tempDir(t), [], `authorization { user: a, password: b${authorization} }`)
    await server.start()
    t.teardown(() => server.stop())
    return server
  }
  const usual = await open('')
  t.equal(await asked(usual, 'a:b'), true)
  t.equal(await asked(usual, 'a:c'), false)
  const hasty = await open(', timeout: 0.000001')
  await t.rejects(asked(hasty, 'a:b'), /Authentication Timeout/)
})
