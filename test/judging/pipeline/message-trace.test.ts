/** Messages that are traced, and the packs that get their events. */
import t from 'tap'
import { tracesPerPackMax } from '../../../src/delivery/wire/pack-trace.js'
import {
  installTracing,
  type Span,
  type SpanStart,
  type TraceContext,
} from '../../../src/ground/core/telemetry/tracing.js'
import type { PulledMessage } from '../../../src/ground/nats/pulled-message.js'
import { messageTrace } from '../../../src/judging/pipeline/message-trace.js'
import { OpenPack } from '../../../src/judging/pipeline/open-pack.js'

interface Begun extends SpanStart {
  readonly name: string
  readonly ends: (string | undefined)[]
}

/** Spans of those that name a parent. */
function tracedIn(test: { teardown(close: () => void): void }): Begun[] {
  const begun: Begun[] = []
  const begin = (name: string, start: SpanStart): Span | undefined => {
    if (start.parent === undefined) return undefined
    const ends: (string | undefined)[] = []
    begun.push({ ...start, name, ends })
    const context: TraceContext = { traceparent: positionOf(begun.length) }
    const end = (fault?: string): void => void ends.push(fault)
    return { context, traceId: '', spanId: '', set: () => {}, link: () => {}, end }
  }
  installTracing({ begin, current: () => undefined, within: (_span, work) => work() })
  test.teardown(() => installTracing(undefined))
  return begun
}

/** The position of a span. */
const positionOf = (span: number): string => `00-${'a'.repeat(32)}-${String(span).padStart(16, '0')}-01`

const messageWith = (headers: Readonly<Record<string, string>>): PulledMessage => ({
  subject: 'weir.records.eu.n1',
  data: Buffer.from('{}'),
  sequence: 7,
  deliveries: 1,
  storedAtMs: 0,
  pending: 0,
  headers: { get: (name) => headers[name] ?? '' },
  reply: '',
})

const message = (trace: ReturnType<typeof messageTrace>) => ({
  sequence: 7,
  since: '',
  packsOpen: 0,
  isRouted: false,
  stored: () => {},
  trace,
})

t.test('while no traces are made, no header is looked at', (t) => {
  const headers = {
    get: () => {
      throw new Error('It was looked at.')
    },
  }
  t.equal(messageTrace({ ...messageWith({}), headers }, 'WEIR_TEST'), undefined)
  t.end()
})

for (const malformed of [
  'x',
  positionOf(1).toUpperCase(),
  positionOf(0),
  positionOf(1).replace('a'.repeat(32), '0'.repeat(32)),
  positionOf(1).replace('00-', 'ff-'),
  `${positionOf(1)}-${'x'.repeat(61)}`,
  `${positionOf(1)}\n`,
])
  t.test(`a header that is no position: ${JSON.stringify(malformed)}`, (t) => {
    tracedIn(t)
    t.equal(messageTrace(messageWith({ traceparent: malformed }), 'WEIR_TEST'), undefined)
    t.end()
  })

t.test('a message goes on with its trace, or has none', (t) => {
  const begun = tracedIn(t)
  t.equal(messageTrace(messageWith({}), 'WEIR_TEST'), undefined)
  const trace = messageTrace(messageWith({ Traceparent: positionOf(99), tracestate: 'a=b' }), 'WEIR_TEST')
  trace?.evaluating()
  trace?.end('given back')
  t.match(begun, [
    { name: 'receive', parent: { traceparent: positionOf(99), tracestate: 'a=b' }, ends: ['given back'] },
    { name: 'evaluate', parent: { traceparent: positionOf(1) }, ends: ['given back'] },
  ])
  t.end()
})

t.test('a pack follows a bounded number of messages, and each once', (t) => {
  const begun = tracedIn(t)
  const pack = new OpenPack('ed_1')
  t.equal(pack.takeSpans(), undefined, 'most follow none')
  for (let n = 0; n < tracesPerPackMax + 8; n += 1) {
    const one = message(messageTrace(messageWith({ traceparent: positionOf(n + 1) }), 'WEIR_TEST'))
    for (let part = 0; part < 3; part += 1) pack.trace(one)
  }
  t.equal(pack.takeSpans()?.length, tracesPerPackMax)
  const produced = begun.filter(({ name }) => name === 'produce')
  t.equal(produced.length, tracesPerPackMax)
  t.equal(
    new Set(produced.map(({ parent }) => parent?.traceparent)).size,
    tracesPerPackMax,
    'of as many messages',
  )
  const next = message(messageTrace(messageWith({ traceparent: positionOf(1_000) }), 'WEIR_TEST'))
  pack.trace(next)
  t.equal(pack.takeSpans()?.length, 1, 'the next pack follows others')
  t.end()
})
