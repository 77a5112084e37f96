/** The sentences of `weir publish` about names that no edge serves. */
import t from 'tap'
import { PublishedNames, sentencesOf, type Unserved } from '../../../src/delivery/ingest/published-names.js'
import type { ServedQuestion } from '../../../src/delivery/wire/served-names.js'

const made = (server_name: string | undefined, server_port = 443, more: object = {}): object => ({
  type: 'http_request',
  conn: { server_name, server_port },
  ...more,
})

function open(answer: (question: ServedQuestion) => object) {
  const report = {
    notes: [] as string[],
    unserved: undefined as Unserved | undefined,
    note: (text: string) => void report.notes.push(text),
  }
  const questions: ServedQuestion[] = []
  const ask = async (_subject: string, text: string): Promise<Uint8Array> => {
    const question = JSON.parse(text) as ServedQuestion
    questions.push(question)
    return Buffer.from(JSON.stringify(answer(question)))
  }
  const names = new PublishedNames({ ask, accountId: undefined, report })
  return { names, report, questions }
}

const serving =
  (isServed: (name: string) => boolean) =>
  ({ served_names }: ServedQuestion) => ({
    served: served_names.map(({ server_name }) => isServed(server_name)),
    account_id: 'ac_1',
    edges: ['www.example.com:443'],
    more_edges: false,
  })

t.test('records by name, those that name an edge left out', async (t) => {
  const { names, report } = open(serving((name) => name === 'www.example.com'))
  for (let n = 0; n < 5; n += 1) names.add(made('old.example.com'))
  names.add(made('OLD.example.com'))
  names.add(made('www.example.com'))
  names.add(made('gone.example.com', 443, { edge_id: 'edghts_1' }))
  names.add(made(undefined))
  await names.end()
  t.match(report.unserved, {
    records: 7,
    names: [
      { name: 'old.example.com:443', records: 6 },
      { name: 'no name, port 443', records: 1 },
    ],
  })
  t.strictSame(sentencesOf(report.unserved!), [
    '7 records: no edge serves old.example.com:443 (6), no name, port 443 (1); edges: www.example.com:443',
  ])
})

t.test('a flood of names is counted within bounds', async (t) => {
  const { names, report, questions } = open(serving(() => false))
  for (let n = 0; n < 20_000; n += 1) {
    names.add(made(`${n}.flood.example`))
    if (n % 10 === 0) names.add(made('old.example.com'))
  }
  await names.end()
  t.equal(questions.length, 10)
  t.ok(questions.every(({ served_names }) => served_names.length <= 100))
  t.equal(report.unserved!.records + report.unserved!.not_looked_at, 22_000)
  t.match(report.unserved!.names[0], { name: 'old.example.com:443', records: 2_000 })
  t.match(sentencesOf(report.unserved!), [
    /^2999 records: no edge serves .*, and others \(\d+\); edges/,
    /^19001 records have further names/,
  ])
})

t.test('without an answer that it understands', async (t) => {
  for (const answer of [{ error_code: 'ERR_INVALID_REQUEST', msg: 'x' }, {}]) {
    const { names, report } = open(() => answer)
    names.add(made('a'))
    await names.end()
    t.equal(report.unserved, undefined)
    t.match(report.notes, [/is not known/])
  }
  const { names, report } = open(serving(() => true))
  await names.end()
  t.strictSame(report.notes, [], 'without a record nothing is said')
})

t.test('sentences', async (t) => {
  const given = {
    records: 2,
    names: [{ name: 'a:80', records: 2 }],
    not_looked_at: 0,
    account_id: 'ac_1',
    edges: ['a:443', 'b:1', 'c:1'],
    more_edges: true,
  }
  const cases: [change: Partial<Unserved>, want: (string | RegExp)[]][] = [
    [
      {},
      ['2 records: no edge serves a:80; edges: a:443, b:1, c:1, …', /^The edge of a:443 serves another port/],
    ],
    [{ edges: [], more_edges: false }, ['2 records: no edge serves a:80; there are no edges yet']],
    [{ account_id: null, edges: [] }, [/they name no account, so no account sees them: give --account\.$/]],
    [{ records: 0, names: [] }, []],
  ]
  for (const [change, want] of cases) t.match(sentencesOf({ ...given, ...change }), want)
})
