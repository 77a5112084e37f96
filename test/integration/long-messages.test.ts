/**
 * Messages of many records that each cost many steps, next to messages of one: the former pause, and the latter pass them.
 * Pipelines are killed meanwhile. Nothing is lost, and the books balance.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { untilInUse } from '../harness/in-use.js'
import { killRole } from '../harness/tree.js'
import {
  arrivedRecords,
  checkBooks,
  checkRepeats,
  expectedEvents,
  openDeployment,
  publish,
  untilArrived,
} from './deployment.js'

const long = { messages: 6, records: 1_000 }
const single = 300
/** A message takes longer: a pipeline is killed in the middle of one, soon after the next one began with it. */
const underLoadMs = 700

/** It never matches, and each takes a good part of a record's steps. */
const slow = (n: number): string => `matches(conn.server_name + '.' + conn.server_name, '(a|b|ssh|.)*x${n}$')`

t.test('long messages and short ones, while pipelines are killed', async (t) => {
  const deployment = await openDeployment(t, { WEIR_PIPELINES: '2', WEIR_DELIVERERS: '1' })
  const { api, process } = deployment.weir
  const { inbound } = await api.tcpEdge.policies.get(deployment.edgeId)
  const costly = Array.from({ length: 10 }, (_, n) => ({
    name: `slow ${n}`,
    expressions: [slow(n)],
    actions: [{ type: 'deny' as const }],
  }))
  await api.tcpEdge.policies.put(deployment.edgeId, { inbound: [...costly, ...inbound] })
  await untilInUse(deployment.weir)
  const nats = await deployment.weir.nats()
  const all = long.messages * long.records + single
  const publishing = Promise.all([
    publish(nats, 'run', 0, all - single, long.records),
    publish(nats, 'run', all - single, all, 1),
  ])
  for (let kill = 0; kill < 3; kill += 1) {
    await sleep(underLoadMs)
    t.ok((await killRole(process.pid, 'pipeline')) > 0, 'a pipeline is killed')
  }
  await publishing
  await untilArrived(deployment, expectedEvents(all))
  t.equal((await arrivedRecords(deployment)).size, all, 'every record arrived')
  await checkRepeats(t, deployment)
  await checkBooks(t, deployment, all)
})
