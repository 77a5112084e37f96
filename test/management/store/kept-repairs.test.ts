/** Repairs of many accounts at once, as after NATS was lost: each account costs ClickHouse nothing by itself. */
import t from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { emptyChange, type Head } from '../../../src/management/store/change/change.js'
import { Heads } from '../../../src/management/store/change/heads.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const repair: Head = {
  version: 8,
  change: { ...emptyChange, id: 'chg_1', at: 1_000, counts: {}, stored: 8, isRepair: true },
  recent: ['chg_1'],
}

const server = new OwnNats(tempDir(t))
t.teardown(() => server.stop())
await server.start()
const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
t.teardown(() => nats.close())
const bucket = await nats.openBucket('heads', 2 ** 20)
const carriedOut: string[] = []
const asked: string[] = []
const heads = new Heads({
  bucket,
  bytesMax: () => 10_000,
  occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry: createRegistry() }),
  carryOut: async (accountId) => void carriedOut.push(accountId),
  maySweep: () => true,
  known: async (accountId, highest) => {
    if (highest === undefined) asked.push(accountId)
    return { highest: highest ?? 5, seen: 0 }
  },
})
t.teardown(() => heads.leftBehind.close())
await heads.leftBehind.open()

t.test('an account without a head is looked up only if its version is not known', async (t) => {
  t.equal((await heads.finished('ac_1', 7)).version, 1_007)
  t.strictSame(asked, [])
  t.equal((await heads.finished('ac_1')).version, 1_005)
  t.strictSame(asked, ['ac_1'])
})

t.test('a repair is swept only when whoever began it leaves it', async (t) => {
  const leave = heads.leftBehind.keepRepairs(['ac_kept'])
  for (const accountId of ['ac_kept', 'ac_left']) await bucket.put(accountId, JSON.stringify(repair))
  await until('the other one is carried out', () => carriedOut.includes('ac_left'))
  // The sweep that carried it out is over before the next one, which carries out this one.
  await bucket.put('ac_later', JSON.stringify(repair))
  await until('a later one is carried out', () => carriedOut.includes('ac_later'))
  t.strictSame([...new Set(carriedOut)], ['ac_left', 'ac_later'])
  leave()
  await until('it is carried out', () => carriedOut.includes('ac_kept'))
})
