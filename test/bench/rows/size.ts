/**
 * A large configuration: 10,000 edges with five policies each, 100,000 rules and 1,000 subscriptions of one account. The
 * walk of records that are spread evenly over the edges, against the same with 10 edges. Every policy has an expression
 * of its own; each edge was evaluated before, so the walk does not compile.
 *
 * Then the same configuration in `weir serve`, made through the API: a start with it against one with an empty data
 * directory, in turns; what the pipeline and the service of decisions keep resident after the last of these starts; and
 * how long after the request to close a port of an edge decisions over NATS follow it.
 */

import { PackWriter } from '../../../src/delivery/wire/pack.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView, type TrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { untilInUse } from '../../harness/in-use.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow } from '../../harness/tree.js'
import type { RunningWeir } from '../../harness/weir.js'
import { deny, noGeo, noYield, TestConfiguration } from '../../judging/evaluate/configuration.js'
import { type BenchRow, type Measure, median } from '../bench.js'
import { residentOf } from '../memory-meter.js'
import { createEstate, msUntilSeen, startTimed } from '../systems/estate.js'
import { withClosers } from '../systems/system.js'
import { accountId, closedFields, messages, storedAtMs } from '../walk/input.js'

const rulesMax = 100_000
const subscriptionsMax = 1_000
const policyId = 'ipp_01K0WEIRBENCH0000000000009'
const edgeIdOf = (edge: number): string => `edgtcp_${String(edge).padStart(26, '0')}`

function configurationWith(edges: number): TestConfiguration {
  const given = new TestConfiguration(accountId)
  const denied = (n: number) => `!${224 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.0/24`
  given.ipPolicy(policyId, '0.0.0.0/0', ...Array.from({ length: rulesMax - 1 }, (_, n) => denied(n)))
  // Each edge is parsed from a text of its own, as from an entry of the bucket.
  const tcpEdge: typeof given.tcpEdge = (...edge) =>
    given.tcpEdge(...(JSON.parse(JSON.stringify(edge)) as typeof edge))
  for (let edge = 0; edge < edges; edge += 1)
    tcpEdge(edgeIdOf(edge), {
      account_id: accountId,
      ip_restriction: { enabled: true, ip_policy_ids: [policyId] },
      policies: {
        enabled: true,
        inbound: Array.from({ length: 5 }, (_, n) => ({
          name: `Closed port ${n}`,
          expressions: [`conn.server_port == ${10_000 + n} && conn.client_port > ${edge}`],
          actions: [deny],
        })),
        outbound: [],
      },
    })
  for (let n = 0; n < subscriptionsMax; n += 1)
    given.subscription(`esb_${String(n).padStart(26, '0')}`, {
      account_id: accountId,
      sources: [
        {
          type: 'tcp_connection_closed.v0',
          filter: n === 0 ? 'conn.server_port in [22, 443]' : `conn.server_name == 'host-${n}.example'`,
          fields: closedFields,
        },
      ],
    })
  return given
}

/** As many records as there can be edges, so that every edge has the same share. */
const recordCount = 10_000

function messagesFor(edges: number): readonly Buffer[] {
  const texts = messages.flatMap((message) => message.toString().split('\n'))
  const record = (n: number): string => {
    const {
      record_id: _,
      edge_id: __,
      ...rest
    } = JSON.parse(texts[n % texts.length]!) as Record<string, unknown>
    const record_id = `01K0WEIR${String(n).padStart(18, '0')}`
    return JSON.stringify({ record_id, edge_id: edgeIdOf((n * 7_919) % edges), ...rest })
  }
  return Array.from({ length: recordCount / 100 }, (_, message) =>
    Buffer.from(Array.from({ length: 100 }, (_, line) => record(message * 100 + line)).join('\n')),
  )
}

function walk(view: TrafficView, records: readonly Buffer[]): number {
  const writer = new PackWriter()
  let evaluated = 0
  for (const bytes of records) {
    const context = { view, geo: noGeo, buffers: { packOf: () => writer } }
    evaluated += processMessage({ bytes, storedAtMs }, context).counts.evaluated.tcp_connection
  }
  writer.take()
  if (evaluated !== recordCount) throw new Error(`Only ${evaluated} records were evaluated.`)
  return recordCount
}

const edgesMax = 10_000
const residentRoles = ['pipeline', 'decide']
const residentBytesMax = 300 * 1024 ** 2
const seenMs = 1_000
const changes = 5

interface Deployed {
  readonly emptyMs: number
  readonly readyMs: number
  readonly residentBytes: Readonly<Record<string, number>>
  readonly seenMs: number
}

const residentBytesOf = ({ process }: RunningWeir): Record<string, number> =>
  Object.fromEntries(
    processesBelow(process.pid)
      .filter(({ role }) => residentRoles.includes(role))
      .map((one) => {
        const { privateBytes, fileBytes } = residentOf([one])
        return [one.role, privateBytes + fileBytes]
      }),
  )

const measureDeployed = (turns: number): Promise<Deployed> =>
  withClosers(async (closers) => {
    const dataDir = tempDir(closers)
    let { weir } = await startTimed(dataDir)
    closers.teardown(() => weir.stop())
    const ids = await createEstate(weir, { edges: edgesMax, subscriptions: subscriptionsMax })
    const [emptyMs, readyMs]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < turns; turn += 1) {
      await weir.stop()
      const empty = await startTimed(tempDir(closers))
      await empty.weir.stop()
      emptyMs.push(empty.readyMs)
      const started = await startTimed(dataDir)
      weir = started.weir
      readyMs.push(started.readyMs)
    }
    await untilInUse(weir)
    const residentBytes = residentBytesOf(weir)
    const nats = await weir.nats()
    const waits: number[] = []
    for (let n = 0; n < changes; n += 1) waits.push(await msUntilSeen(weir, nats, { n, id: ids[n]! }))
    return { emptyMs: median(emptyMs), readyMs: median(readyMs), residentBytes, seenMs: median(waits) }
  })

const deployedMeasures = (deployed: Deployed): Measure[] => [
  { name: 'start, of an empty one', ratio: deployed.readyMs / deployed.emptyMs, bound: { atMost: 2.5 } },
  ...residentRoles.map((role) => ({
    name: `memory of ${role}, of 300 MiB`,
    // A role that is not there misses its bound.
    ratio: (deployed.residentBytes[role] ?? Number.POSITIVE_INFINITY) / residentBytesMax,
    bound: { atMost: 1 },
  })),
  { name: 'a change is seen, of 1 s', ratio: deployed.seenMs / seenMs, bound: { atMost: 1 } },
]

export const row: BenchRow = {
  name: 'size',
  mustReach:
    'with 10,000 edges, a record costs at most 1.2 times what it costs with 10; a start 2.5 empty ones; 300 MiB per role; a change is seen in 1 s',
  async run(bench) {
    const contender = async (edges: number) => {
      const view = await buildTrafficView(configurationWith(edges), undefined, noYield)
      const records = messagesFor(edges)
      return () => walk(view, records)
    }
    const times = await bench.compare({
      '10 edges': await contender(10),
      '10,000 edges': await contender(edgesMax),
    })
    const ratio = times['10,000 edges'] / times['10 edges']
    const deployed = await measureDeployed(bench.quick ? 1 : 3)
    return {
      measures: [
        { name: 'cost with 10,000 edges', ratio, bound: { atMost: 1.2 } },
        ...deployedMeasures(deployed),
      ],
      nsPerOperation: {
        ...times,
        'an empty start, to ready': deployed.emptyMs * 1e6,
        'a start with 10,000 edges, to ready': deployed.readyMs * 1e6,
        'a change, until it is seen': deployed.seenMs * 1e6,
      },
    }
  },
}
