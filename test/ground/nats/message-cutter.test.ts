/** Bytes of a server, cut by the library alone and past it: the same messages, in the same order, however the bytes come. */
import { Kind, Parser } from '@nats-io/nats-core/internal'
import fc from 'fast-check'
import t from 'tap'
import { MessageCutter, type PullRequest } from '../../../src/ground/nats/message-cutter.js'

/** Subscriptions: of the open request, of one that has ended, and of something else. */
const sids = { open: 7, ended: 8, other: 19 }
const head = (sid: number, rest: string): string => `MSG weir.records.eu.node-1 ${sid} ${rest}`
const reply = '$JS.ACK.WEIR_RECORDS.pipelines.1.41.57.1790000000123999999.12'

function withHeader(sid: number, to: string, data: string): string {
  const header = 'NATS/1.0\r\nWeir-Encoding: gzip\r\n\r\n'
  const size = header.length + Buffer.byteLength(data)
  return `H${head(sid, `${to}${header.length} ${size}`)}\r\n${header}${data}\r\n`
}
const plain = (sid: number, to: string, data: string): string =>
  `${head(sid, `${to}${Buffer.byteLength(data)}`)}\r\n${data}\r\n`

const data = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', '\r\n', 'MSG a 7 b 1\r\n'),
)
const to = fc.constantFrom(`${reply} `, `${reply} `, `${reply} `, '$JS.ACK.too.short ', '')
const sid = fc.constantFrom(sids.open, sids.open, sids.open, sids.ended, sids.other)
const frame = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(sid, to, data).map((parts) => plain(...parts)) },
  { weight: 3, arbitrary: fc.tuple(sid, to, data).map((parts) => withHeader(...parts)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('PING\r\n', 'PONG\r\n', '+OK\r\n', "-ERR 'no'\r\n", 'INFO {}\r\n'),
  },
)
const traffic = fc.record({
  frames: fc.array(frame, { maxLength: 20 }),
  /** Where chunks end, as shares of all bytes. */
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
  asked: fc.nat(25),
})

const open = (asked: number): PullRequest => ({
  sub: { sid: sids.open },
  pending: { msgs: asked },
  received: 0,
  done: false,
  monitor: null,
})

/** What comes, in order. The library takes a message of the request as its callback does. */
function heard(chunks: readonly Buffer[], request: PullRequest, past: boolean) {
  const all: unknown[] = []
  const parser = new Parser({
    push: (event) => {
      if (typeof event === 'function') return
      if (event.kind !== Kind.MSG) return void all.push(event.kind)
      const { msg, data = new Uint8Array() } = event
      const hdr = Math.max(0, msg!.hdr)
      const parts = [msg!.subject, msg!.reply ?? [], data.subarray(0, hdr), data.subarray(hdr)]
      all.push([msg!.sid, ...parts.map((part) => Buffer.from(part).toString('latin1'))])
      if (msg!.sid !== sids.open || msg!.reply === undefined) return
      request.received += 1
      request.pending.msgs -= 1
    },
  })
  const cut = { messages: 0 }
  if (past) {
    const cutter = new MessageCutter()
    cutter.attach(parser)
    cutter.open({ ...open(5), sub: { sid: sids.ended }, done: true }, () => t.fail('It has ended.'))
    cutter.open(request, ({ subject, reply, headers, data }) => {
      cut.messages += 1
      const header =
        headers === undefined ? '' : `NATS/1.0\r\nWeir-Encoding: ${headers.get('Weir-Encoding')}\r\n\r\n`
      all.push([sids.open, subject, reply, header, Buffer.from(data).toString('latin1')])
    })
  }
  for (const chunk of chunks) parser.parse(chunk)
  return { all, cut: cut.messages, received: request.received, left: request.pending.msgs }
}

t.test('whatever is sent, and wherever its chunks end', async (t) => {
  let cut = 0
  fc.assert(
    fc.property(traffic, ({ frames, cuts, asked }) => {
      const bytes = Buffer.from(frames.join(''))
      const ends = [...cuts.map((share) => Math.floor(share * bytes.length)), bytes.length].sort(
        (a, b) => a - b,
      )
      const chunks = () => ends.map((end, n) => Buffer.from(bytes.subarray(ends[n - 1] ?? 0, end)))
      const { cut: none, ...expected } = heard(chunks(), open(asked), false)
      const { cut: some, ...found } = heard(chunks(), open(asked), true)
      if (none !== 0) t.fail('Without the cutter, the library takes everything.')
      cut += some
      if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected)
      return JSON.stringify(found) === JSON.stringify(expected)
    }),
    { numRuns: 2_000 },
  )
  t.ok(cut > 300, `${cut} messages came past the parser`)
})

t.test("the last message of a request is the library's, and whole ones before it are not", async (t) => {
  const bytes = Buffer.from(plain(sids.open, `${reply} `, 'one').repeat(3))
  t.match(heard([bytes], open(3), true), { cut: 2, received: 3, left: 0 })
})
