/** How often the janitor looks at the streams of input. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { auditInStream, auditStream } from '../../../src/delivery/wire/names.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { Janitor, lookAgainAfterMs } from '../../../src/judging/pipeline/janitor.js'
import { recordsStream } from '../../harness/first-partition.js'

const mebibyte = 1024 * 1024

t.test('a stream is looked at before it can be nearly full, however fast it grows', async (t) => {
  t.equal(lookAgainAfterMs(0), 0, 'a nearly full one at once')
  t.equal(lookAgainAfterMs(512 * mebibyte), 1_000)
  t.equal(lookAgainAfterMs(2_048 * mebibyte), 4_000)
  t.equal(lookAgainAfterMs(1024 ** 5), 10_000, 'an empty one from time to time')
})

t.test('a nearly full stream is looked at every second, the others are not', async (t) => {
  const looks = new Map<string, number>()
  const nats = {
    streamInfo: async (name: string) => {
      looks.set(name, (looks.get(name) ?? 0) + 1)
      const bytes = name === auditStream ? 8_000 * mebibyte : 0
      return {
        state: { bytes, messages: 1, first_seq: 1, last_seq: 1 },
        config: { max_bytes: 8_192 * mebibyte },
      }
    },
    consumerInfo: async () => undefined,
  }
  const janitor = new Janitor({
    partitions: onePartition,
    nats: nats as never,
    ledger: undefined as never,
    occurrences: undefined as never,
    destinationOf: () => undefined,
    catchUps: { keptFrom: () => 0 },
  })
  t.teardown(() => janitor.close())
  while ((looks.get(auditStream) ?? 0) < 3) await sleep(50)
  t.ok(looks.get(auditStream)! >= 3, `${looks.get(auditStream)} looks`)
  t.equal(looks.get(auditInStream), 1)
  t.equal(looks.get(recordsStream), 1)
})
