/** Answers over NATS: every request gets one, even if the answering process has a defect. */
import { connect } from '@nats-io/transport-node'
import t from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

t.test('an error in a reply is answered and reported, and the next request is answered', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const lines: Record<string, unknown>[] = []
  const logger = createLogger('test', 'debug', { write: (line: string) => lines.push(JSON.parse(line)) })
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger, registry })
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1, occurrences })
  t.teardown(() => nats.close())
  const recurse = (depth: number): number => 1 + recurse(depth + 1)
  const replies: Record<string, () => string | Uint8Array | Promise<string>> = {
    error: () => {
      throw new Error('secret of the inside')
    },
    stack: () => String(recurse(0)),
    rejection: () => Promise.reject(new TypeError('secret of the inside')),
    text: () => {
      throw 'secret of the inside'
    },
    'an answer that no message holds': () => new Uint8Array(8 * 1024 * 1024),
  }
  const answering = nats.answer(
    'ask',
    'one',
    (request) => replies[Buffer.from(request).toString()]?.() ?? 'fine',
  )
  t.teardown(() => answering.close())
  const ask = async (text: string) => Buffer.from(await nats.request('ask', text, 60_000)).toString()
  for (const name of Object.keys(replies)) {
    lines.length = 0
    const answer = JSON.parse(await ask(name))
    t.strictSame(Object.keys(answer), ['error_code', 'msg'], name)
    t.equal(answer.error_code, 'ERR_INTERNAL', name)
    t.notMatch(answer.msg, /secret/, name)
    const [id] = /op_\w+/.exec(answer.msg) ?? []
    t.match(lines, [{ operation_id: id, path: 'ask', level: 50 }], name)
    t.equal(await ask('something else'), 'fine', name)
  }
  t.match(await metricsText(registry), /\nweir_nats_requests_failed_total 5\n/)
})

t.test(
  'a request whose reply subject is a call of JetStream, or a subject of Weir, is not answered',
  async (t) => {
    const server = new OwnNats(tempDir(t))
    await server.start()
    t.teardown(() => server.stop())
    const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
    const asking = await connect({ servers: server.url })
    t.teardown(() => Promise.all([nats.close(), asking.close()]))
    const answered: string[] = []
    for (const subject of ['$KV.>', '$JS.API.STREAM.PURGE.x', 'weir.>', 'inbox.>'])
      asking.subscribe(subject, { callback: (_, message) => void answered.push(message.subject) })
    nats.answer('ask', 'one', () => 'an answer')
    await nats.flush()
    for (const reply of ['$KV.weir_config.x', '$JS.API.STREAM.PURGE.x', 'weir.deliveries.x', 'inbox.x'])
      asking.publish('ask', '', { reply })
    await until('the honest one is answered', () => answered.length > 0)
    t.strictSame(answered, ['inbox.x'])
  },
)
