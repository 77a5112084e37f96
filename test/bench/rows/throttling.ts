/**
 * A lane over HTTP with the real SDK against the AWS emulator: a share of the records of each request fails at any rate,
 * and a shard takes 1,000 records a second. Seconds, not turns: this is about a rate, not about the cost of work.
 */

import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { AwsDestination } from '../../../src/delivery/deliver/aws/aws-kind.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { openEmulator } from '../../../src/outside/emulator/emulator.js'
import type { FaultSpec } from '../../../src/outside/emulator/wire.js'
import { someEvents } from '../../delivery/deliver/events.js'
import { roomForAll } from '../../delivery/deliver/fake-lane.js'
import type { BenchRow } from '../bench.js'

const key = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }
const name = 'weir'
const packEveryMs = 100
const packsInHandMax = 16
/** Until the pace is found; it does not count. */
const startMs = 5_000

interface Situation {
  readonly eventsPerSecond: number
  readonly recordsPerSecond: number | null
  readonly fault?: FaultSpec
}

/** Events accepted a second, after the start. */
async function acceptedPerSecond(
  { eventsPerSecond, recordsPerSecond, fault }: Situation,
  forMs: number,
): Promise<number> {
  const emulator = await openEmulator()
  const { world } = emulator
  world.addKey(key)
  const { arn, ledger } = world.addResource({
    service: 'kinesis',
    name,
    recordsPerSecond,
    bytesPerSecond: null,
    requestsPerSecond: null,
    keep: 'counts',
  })
  if (fault !== undefined) world.faults.add(fault)
  const { accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key } = key
  const creds = { aws_access_key_id, aws_secret_access_key }
  const destination: AwsDestination = {
    id: 'ed_1',
    accountId: 'ac_1',
    kind: 'kinesis',
    address: arn,
    auth: { creds },
    packing: 'none',
    options: {},
  }
  const lane = new Lane(destination, {
    open: (config) =>
      openSender(config, {
        aws: { endpointUrl: emulator.url, ambientCredentials: key },
        clock: new AwsClock(),
        requestTimeoutMs: 15_000,
        networks: new ReachableNetworks(),
        kinds: { kinesis: { requestBytesMax: 5_242_880 } },
      }),
    deadLetter: async () => {},
    budget: roomForAll,
  })
  const begunMs = monotonicMs()
  const elapsedMs = (): number => monotonicMs() - begunMs
  const eventsPerPack = (eventsPerSecond * packEveryMs) / 1_000
  let [offered, inHand, counted, countedFromMs] = [0, 0, 0, 0]
  while (elapsedMs() < startMs + forMs) {
    const isDue = offered < elapsedMs() / packEveryMs
    if (isDue && lane.wanted(packsInHandMax - inHand) > 0) {
      inHand += 1
      void lane.deliver(someEvents(eventsPerPack, `p${offered}-`)).finally(() => {
        inHand -= 1
      })
      offered += 1
    } else await sleep(5)
    if (countedFromMs === 0 && elapsedMs() >= startMs) {
      counted = ledger.counts().events
      countedFromMs = elapsedMs()
    }
  }
  const perSecond = ((ledger.counts().events - counted) * 1_000) / (elapsedMs() - countedFromMs)
  await lane.close()
  await emulator.close()
  return perSecond
}

export const row: BenchRow = {
  name: 'throttling',
  mustReach: '65 % of what is offered where 30 % of the records fail, 90 % of the limit of a shard',
  async run({ quick }) {
    const forMs = quick ? 5_000 : 20_000
    const fault: FaultSpec = { effect: { type: 'fail_records' }, probability: 0.3 }
    const failing = await acceptedPerSecond({ eventsPerSecond: 1_500, recordsPerSecond: null, fault }, forMs)
    const limited = await acceptedPerSecond({ eventsPerSecond: 1_500, recordsPerSecond: 1_000 }, forMs)
    return {
      measures: [
        {
          name: 'of 1,500 events/s offered, 30 % of the records of each request failing',
          ratio: failing / 1_500,
          bound: { atLeast: 0.65 },
        },
        { name: 'of a shard limit of 1,000/s used', ratio: limited / 1_000, bound: { atLeast: 0.9 } },
      ],
      nsPerOperation: {},
    }
  },
}
