/** Messages that are no records, and records that kill the process that reads them, between good ones. */
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { encodingHeader } from '../../../src/delivery/wire/names.js'
import { deadRecords, lettersOf } from '../../harness/dead-records.js'
import { compiled } from '../../harness/processes.js'
import { until } from '../../harness/weir.js'
import type { Scenario, Traffic } from '../scenario.js'
import type { Site, Worker } from '../site.js'

const subject = 'weir.records.eu.node-1'
const mebibyte = 1024 * 1024

const bad: readonly { readonly name: string; readonly data: Buffer | string; readonly encoding?: string }[] =
  [
    { name: 'no JSON', data: 'this is no record' },
    { name: 'binary', data: Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 37) % 251)) },
    { name: 'brackets', data: '['.repeat(100_000) },
    { name: 'a line as long as a message may be', data: `{"record_id":"${'x'.repeat(900_000)}"` },
    { name: 'a bomb', data: gzipSync(Buffer.alloc(64 * mebibyte, 0x7b)), encoding: 'gzip' },
    { name: 'no gzip', data: 'this is not compressed', encoding: 'gzip' },
  ]
const times = 20

/** Dead letters, once there are as many as the books say there are bad records, and nothing waits. */
async function lettersAt({ site }: Traffic, atLeast: number): Promise<number> {
  let letters = 0
  await until(`${atLeast} dead letters`, async () => {
    letters = lettersOf(await deadRecords(site.nats))
    return letters >= atLeast
  })
  return letters
}

export const badMessages: Scenario = {
  name: 'bad-messages',
  fault: 'messages that are no JSON, binary, brackets, as long as they may be, a bomb in gzip, no gzip',
  passesWhen: 'each is dead letters with a sentence; the good ones between them are delivered, once',
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    publisher.pace(1_000)
    const count = run.count(times)
    for (let n = 0; n < count; n += 1)
      for (const { data, encoding } of bad) {
        const headers = encoding === undefined ? {} : { [encodingHeader]: encoding }
        await site.nats.publish(subject, data, { headers })
      }
    const messages = count * bad.length
    await lettersAt(traffic, messages)
    await publisher.fillUp(run.size.records)
    await traffic.untilIdle()
    const letters = await lettersAt(traffic, messages)
    const figures = { 'bad messages': String(messages), 'dead letters': letters.toLocaleString('en') }
    return traffic.judge({ repeatsMax: () => 0, bad: letters, badMessages: messages }, figures)
  },
}

const lethals = 5

/** Starts a pipeline again whenever it dies, until it is told to stop. */
class KeptAlive {
  deaths = 0
  #isOver = false

  constructor({ site }: Traffic, worker: Worker) {
    void this.#keep(site, worker)
  }

  async #keep(site: Site, worker: Worker): Promise<void> {
    for (;;) {
      await worker.running.ended
      if (this.#isOver) return
      this.deaths += 1
      await site.restart(worker)
    }
  }

  end(): void {
    this.#isOver = true
  }
}

export const lethalRecords: Scenario = {
  name: 'lethal-records',
  fault: 'records that kill the process that reads them',
  passesWhen: 'each alone is a dead letter after three tries; all others are delivered',
  run: async (run) => {
    const preload = pathToFileURL(compiled('test/integration/lethal-records.js'))
    const traffic = await run.open({ env: { NODE_OPTIONS: `--import ${preload}` } })
    const { site, publisher } = traffic
    const keeping = site.ofRole('pipeline').map((worker) => new KeptAlive(traffic, worker))
    site.closers.teardown(() => {
      for (const each of keeping) each.end()
    })
    publisher.pace(200)
    const count = run.count(lethals)
    for (let n = 0; n < count; n += 1) {
      const conn = { client_ip: '203.0.113.7', server_port: 22 }
      const lethal = {
        record_id: `ends-whoever-parses-it-${n}`,
        type: 'tcp_connection',
        edge_id: site.edgeId,
        conn,
      }
      await site.nats.publish(subject, JSON.stringify(lethal))
      await lettersAt(traffic, n + 1)
    }
    for (const each of keeping) each.end()
    const deaths = keeping.reduce((sum, each) => sum + each.deaths, 0)
    const figures = { 'lethal records': String(count), 'pipelines died': `${deaths} times` }
    const expected = { repeatsMax: () => Number.POSITIVE_INFINITY, bad: count, badMessages: count }
    return traffic.judge(expected, figures)
  },
}
