/**
 * A deployment of 20,000 accounts with five edges and five destinations each, 99 % of which get no events. What a record
 * costs, all processes together, against a deployment of two such accounts: once with traffic of as few accounts, so that
 * only the size differs, and once with that of 1,000 accounts, each of which has a destination of its own, so that packs and
 * requests are smaller as well. The latter also against a deployment of 1,000 accounts. How long a start takes, and what
 * each role keeps resident.
 */

import type { BenchRow, Measure } from '../bench.js'
import { residentOf } from '../memory-meter.js'
import { hostNameOf, type LargeDeployment, openLargeDeployment } from '../systems/large-deployment.js'
import { withClosers } from '../systems/system.js'
import {
  costOf,
  nsPerRecord,
  publishingAs,
  type TakesTurns,
  Throughput,
  takeTurns,
} from '../systems/throughput.js'
import { usualServer } from '../systems/traffic.js'

const ofEach = 5
const few = 2
const sizes = { full: { accounts: 20_000, busy: 1_000 }, quick: { accounts: 400, busy: 20 } }
const startMsMax = 60_000
const residentBytesMax = 1024 ** 3
const idleBytesMax = 4 * 1024

/** Records of the edges of so many accounts, in turn. */
function trafficOf(accounts: number): (message: string) => { data: string } {
  let edge = 0
  return (message) => ({
    data: message.replaceAll(usualServer, () => hostNameOf(edge++ % (accounts * ofEach))),
  })
}

function residentBytesOf({ processes }: LargeDeployment): ReadonlyMap<string, number> {
  const all = processes()
  return new Map(
    [...new Set(all.map(({ role }) => role))].map((role) => {
      const { privateBytes, fileBytes } = residentOf(all.filter((one) => one.role === role))
      return [role, privateBytes + fileBytes]
    }),
  )
}

function sizeMeasures(large: LargeDeployment, small: LargeDeployment, destinations: number): Measure[] {
  const [resident, least] = [residentBytesOf(large), residentBytesOf(small)]
  const idleBytes = ((resident.get('deliver') ?? Infinity) - (least.get('deliver') ?? 0)) / destinations
  return [
    { name: 'a start, of 60 s', ratio: large.startMs / startMsMax, bound: { atMost: 1 } },
    ...[...resident].map(
      ([role, bytes]): Measure => ({
        name: `memory of ${role}, of 1 GiB`,
        ratio: bytes / residentBytesMax,
        bound: { atMost: 1 },
      }),
    ),
    {
      name: 'memory of deliver for each destination, of 4 KiB',
      ratio: idleBytes / idleBytesMax,
      bound: { atMost: 1 },
    },
  ]
}

export const row: BenchRow = {
  name: 'deployment',
  mustReach:
    'with 20,000 accounts, 100,000 edges and 100,000 destinations, a record costs at most 1.3 times what it costs with 10 edges; a start takes 60 s; a role 1 GiB',
  run: (tools) =>
    withClosers(async (closers) => {
      const { accounts, busy } = tools.quick ? sizes.quick : sizes.full
      const small = await openLargeDeployment(closers, { accounts: few, ofEach })
      const busyAlone = await openLargeDeployment(closers, { accounts: busy, ofEach })
      const large = await openLargeDeployment(closers, { accounts, ofEach })
      const sized = sizeMeasures(large, small, accounts * ofEach)
      const names = {
        small: `${few * ofEach} edges`,
        large: `${accounts * ofEach} edges`,
        busy: `${accounts * ofEach} edges, ${busy} busy destinations`,
        busyAlone: `${busy * ofEach} edges, ${busy} busy destinations`,
      }
      const [ofSmall, ofBusyAlone, ofLarge] = [small, busyAlone, large].map(
        (system) => new Throughput(system, { encode: trafficOf(few) }),
      ) as [Throughput, Throughput, Throughput]
      for (const throughput of [ofSmall, ofBusyAlone, ofLarge]) await throughput.warmUp(['packed'], tools)
      const systems = new Map<string, TakesTurns>([
        [names.small, ofSmall],
        [names.large, ofLarge],
        [names.busy, publishingAs(ofLarge, { encode: trafficOf(busy) })],
        [names.busyAlone, publishingAs(ofBusyAlone, { encode: trafficOf(busy) })],
      ])
      const turns = await takeTurns(systems, 'packed', {
        // Packs of 1,000 destinations are up to five seconds apart.
        records: tools.quick ? 50_000 : 300_000,
        turns: tools.quick ? 2 : 5,
      })
      const cost = (name: string): number => costOf(turns.get(name)!)
      return {
        measures: [
          {
            name: 'CPU per record, by size alone',
            ratio: cost(names.large) / cost(names.small),
            bound: { atMost: 1.3 },
          },
          {
            name: `CPU per record, ${busy} busy destinations`,
            ratio: cost(names.busy) / cost(names.small),
            bound: { atMost: 1.3 },
          },
          {
            name: `CPU per record, ${busy} busy destinations, of as many without the others`,
            ratio: cost(names.busy) / cost(names.busyAlone),
            bound: { atMost: 1.3 },
          },
          ...sized,
        ],
        nsPerOperation: {
          ...Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
          [`a start with ${names.large}, to ready`]: large.startMs * 1e6,
        },
      }
    }),
}
