/** A record that kills the process that evaluates it: it is found, and its neighbours are processed. */
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { deadLetterStream, deadRecordsSubject } from '../../src/delivery/wire/names.js'
import { recordsStream } from '../harness/first-partition.js'
import { compiled } from '../harness/processes.js'
import { processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  checkRepeats,
  expectedEvents,
  openDeployment,
  publish,
  record,
  untilArrived,
} from './deployment.js'

/** Deaths, acknowledgement waits and restarts come before quarantine. */
const patienceMs = 200_000

t.test('lethal records are dead-lettered, their neighbours are processed', async (t) => {
  const preload = pathToFileURL(compiled('test/integration/lethal-records.js'))
  const deployment = await openDeployment(t, { NODE_OPTIONS: `--import ${preload}` })
  const nats = await deployment.weir.nats()
  const pipelines = () =>
    processesBelow(deployment.weir.process.pid)
      .filter(({ role }) => role === 'pipeline')
      .map(({ pid }) => pid)
  const [first] = pipelines()
  const lethal = (n: number) => record('run', n).replace(`run-${n}`, `ends-whoever-parses-it-${n}`)

  await publish(nats, 'run', 0, 100)
  const lines = [record('run', 100), lethal(1), record('run', 101), 'no json', lethal(2), record('run', 102)]
  const { sequence } = await nats.publish('weir.records.eu.node-1', lines.join('\n'))
  await publish(nats, 'run', 103, 200)
  await untilArrived(deployment, expectedEvents(200), patienceMs)
  await until(
    'the bad ones are dead-lettered',
    async () => (await nats.subjectCounts(deadLetterStream, '>'))[deadRecordsSubject] === 3,
  )

  const reasons = { 2: /did not survive it: SIGKILL/, 4: /not JSON/, 5: /did not survive it: SIGKILL/ }
  const found = new Map<number, { data: string; reason: string; stream: string; sequence: string }>()
  for (let next = 1; found.size < 3; ) {
    const dead = (await nats.nextMessage(deadLetterStream, deadRecordsSubject, next))!
    next = dead.sequence + 1
    found.set(Number(dead.headers.get('Weir-Line')), {
      data: Buffer.from(dead.data).toString(),
      reason: dead.headers.get('Weir-Reason'),
      stream: dead.headers.get('Weir-Stream'),
      sequence: dead.headers.get('Weir-Sequence'),
    })
  }
  for (const [line, reason] of Object.entries(reasons)) {
    const original = { data: lines[Number(line) - 1], stream: recordsStream, sequence: String(sequence) }
    t.match(found.get(Number(line)), { ...original, reason }, `line ${line}`)
  }

  t.equal((await arrivedRecords(deployment)).size, 200, 'every neighbour arrived')
  await checkRepeats(t, deployment)
  await checkBooks(t, deployment, 200, 3)

  const survivors = pipelines()
  t.not(survivors[0], first, 'it was the pipeline that died')
  await publish(nats, 'run', 200, 300)
  await untilArrived(deployment, expectedEvents(300))
  t.strictSame(pipelines(), survivors, 'and it dies no more')
})
