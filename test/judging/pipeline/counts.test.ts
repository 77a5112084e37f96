/** Messages that count the same share a vector; whatever came before, a message gets that of its own counts. */
import fc from 'fast-check'
import t from 'tap'
import { Counts, vectorOf } from '../../../src/judging/pipeline/counts.js'

type Added = Parameters<Counts['add']>

const sourceOf = (subscriptionId: string) => ({
  subscriptionId,
  kindName: 'tcp_connection_closed.v0',
  destinationIds: ['ed_a', 'ed_b'],
})
const [one, other] = [sourceOf('esb_1'), sourceOf('esb_2')]
const sources = fc.constantFrom([], [one], [other], [one, other])
const few = { maxLength: 1 }
const both = [one, other]
const lists = fc.constantFrom(both, [other])

const addition = fc.record({
  type: fc.constantFrom('tcp_connection', 'http_request'),
  edgeId: fc.constantFrom('edgtcp_1', 'edgtcp_1', undefined),
  accountId: fc.constantFrom('ac_1', undefined),
  decision: fc.constantFrom('allow', 'block', 'deny'),
  warnings: fc.array(fc.record({ restrictionId: fc.constantFrom('ir_1', 'ir_2') }), few),
  shadow: fc.option(fc.record({ decision: fc.constantFrom('allow', 'deny') })),
  asked: lists,
  produced: sources,
  failed: fc.array(fc.record({ source: fc.constant(one), msg: fc.constantFrom('a', 'b') }), few),
})
const part = fc.record({
  additions: fc.array(addition, { minLength: 1, maxLength: 1 }),
  bad: fc.nat(1),
  history: fc.nat(1),
})
/** Most messages are like a usual one but for a member or two. */
const usual = {
  type: 'tcp_connection',
  edgeId: 'edgtcp_1',
  accountId: 'ac_1',
  decision: 'allow',
  warnings: [],
  shadow: null,
  asked: both,
  produced: [one],
  failed: [],
}
const members = fc.subarray(Object.keys(usual) as (keyof typeof usual)[], { maxLength: 2 })
const message = fc.tuple(part, members).map(([{ additions, bad, history }, changed]) => ({
  additions: additions.map((added) => ({
    ...usual,
    ...Object.fromEntries(changed.map((name) => [name, added[name]])),
  })) as unknown as typeof additions,
  bad,
  history,
}))
type Message = typeof message extends fc.Arbitrary<infer M> ? M : never

function countsOf({ additions, bad, history }: Message): Counts {
  const counts = new Counts()
  for (let n = 0; n < bad; n += 1) counts.addBad()
  for (const each of additions) {
    const { type, edgeId, accountId, decision, warnings, shadow, asked, produced, failed } = each
    const record = { type, record_id: 'rec_1', conn: { server_name: 'a.example', server_port: 22 } }
    const verdict = { decision, warnings, failures: [] }
    const production = {
      lists: [{ sources: asked }],
      events: produced.map((source) => ({ source })),
      failed,
    }
    const added = [
      { record, endpoint: { edgeId, accountId }, verdict, shadow },
      production,
    ] as unknown as Added
    counts.add(...added)
    for (let n = 0; n < history; n += 1) counts.addHistory(added[1])
  }
  return counts
}

t.test('in any order of messages', async (t) => {
  let shared = 0
  fc.assert(
    fc.property(fc.array(fc.tuple(message, fc.boolean()), { minLength: 1, maxLength: 8 }), (messages) => {
      let before: unknown
      for (const [each, isTwice] of messages)
        for (let turn = isTwice ? 2 : 1; turn > 0; turn -= 1) {
          const vector = vectorOf(countsOf(each))
          if (vector === before) shared += 1
          before = vector
          const own = countsOf(each).vector()
          if (JSON.stringify(vector) !== JSON.stringify(own)) t.strictSame(vector, own)
        }
    }),
    { numRuns: 1_000 },
  )
  t.ok(shared > 100, `${shared} vectors were those of the message before`)
})
