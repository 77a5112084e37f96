/** The queries of docs/analysing.md: both give the answers that are computed here from the decisions themselves. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openClickhouse } from '../../src/management/store/clickhouse/clickhouse.js'
import { shapeLogTables } from '../../src/management/store/logs/log-tables.js'
import { checkSource } from '../../src/words/event/check-source.js'
import { ddlOf, eventTables } from '../../src/words/event/event-ddl.js'
import { eventSchemas } from '../../src/words/event/event-schemas.js'
import { openDuckdb } from '../harness/duckdb.js'
import { tempDir } from '../harness/temp-dir.js'
import { judgedTraffic } from './analysed-traffic.js'
import { answers, type Row } from './computed-answers.js'
import { blocks, pageOf, sectionOf } from './pages.js'

const page = pageOf('docs/analysing.md')
const sources = JSON.parse(blocks(sectionOf(page, 'Get the events'), 'json')[0]!)

const questions = [...page.text.matchAll(/^### (\d+)\. (.*)\n([\s\S]*?)(?=^###? |(?![\s\S]))/gm)].map(
  ([, number, title = '', text = '']) => {
    const [duckdb = '', clickhouse = '', ...others] = blocks({ file: page.file, text }, 'sql')
    return { number: Number(number), title, duckdb, clickhouse, others }
  },
)

/** Fractions differ in their last digits. */
const rounded = (rows: readonly Row[]): unknown =>
  JSON.parse(JSON.stringify(rows), (_, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(9)) : value,
  )

// --- the tests ---

t.test('there are twelve questions, each with a query for DuckDB and one for ClickHouse', (t) => {
  t.strictSame(
    questions.map(({ number }) => number),
    Object.keys(answers).map(Number),
  )
  for (const { title, duckdb, clickhouse, others } of questions) {
    t.match(title, /\?$/)
    t.match(duckdb, /FROM events\n/, title)
    t.match(clickhouse, /FROM (decisions|events FINAL)\n/, title)
    t.strictSame(others, [])
  }
  for (const source of sources) t.equal(checkSource(source), undefined)
  t.end()
})

t.test('the events of weir listen --create have what the questions need', async (t) => {
  const { sources: listened } = await import('../../src/outside/cli/listen.js')
  for (const { type, fields } of sources as { type: string; fields: string[] }[]) {
    const found = listened().find((source) => source.type === type)
    t.strictSame(
      fields.filter((field) => !found?.fields.includes(field)),
      [],
      type,
    )
    t.equal(found && checkSource(found), undefined, 'the API takes it')
  }
  t.match(sectionOf(page, 'Get the events').text, /weir listen --create --json/)
})

const traffic = eventSchemas().filter(({ kind }) => /^(tcp|http)_/.test(kind))
/** The records are of a fixed time. */
const retentionMs = 20 * 365 * 24 * 3_600_000

async function asked(t: Test, records: readonly string[]): Promise<void> {
  const dir = tempDir(t)
  const { facts, events, blocks: logged } = await judgedTraffic(records, sources)
  t.equal(events.length, facts.length, 'an event and a row for each decision')

  // As the kind `file` leaves them while it writes and compresses, with some events in two files.
  const half = Math.floor(events.length / 2)
  const rotated = [
    'events-20261126T013541378Z-1a2b3c4d.ndjson.gz',
    'events-20261126T023541378Z-1a2b3c4d.ndjson',
  ]
  const zipped = gzipSync(events.slice(0, half).join(''))
  writeFileSync(join(dir, rotated[0]!), zipped)
  writeFileSync(join(dir, rotated[1]!), events.slice(half - 10).join(''))
  writeFileSync(join(dir, `${rotated[0]}.1a2b3c4d.partial`), zipped.subarray(0, zipped.length / 2))
  writeFileSync(join(dir, 'events.ndjson'), `${events[0]}${events[1]?.slice(0, 50)}`)
  const duckdb = await openDuckdb(t)
  await duckdb.run(String(ddlOf(eventTables(traffic, 'delivered')[0]!, 'duckdb')))
  const [load = ''] = blocks(sectionOf(page, 'Load events'), 'sql')
  t.match(load, '/var/lib/weir-events/ac_*/events-*')
  await duckdb.run(load.replace('/var/lib/weir-events/ac_*', dir))

  const clickhouse = await openClickhouse({ directory: join(dir, 'clickhouse') })
  t.teardown(() => clickhouse.close())
  await shapeLogTables(clickhouse, { retentionMs, bytesMax: 2 ** 40 })
  await clickhouse.insertBlocks('decisions', logged)
  await clickhouse.command(String(ddlOf(eventTables(traffic, 'events')[0]!, 'clickhouse')).replace(/;$/, ''))
  for (const file of rotated)
    await clickhouse.command(`INSERT INTO events FROM INFILE '${join(dir, file)}'
SETTINGS date_time_input_format = 'best_effort', input_format_skip_unknown_fields = 0 FORMAT JSONEachRow`)

  for (const question of questions) {
    const title = `${question.number}. ${question.title}`
    const expected = rounded(answers[question.number]!(facts))
    t.ok((expected as Row[]).length > 0, title)
    t.strictSame(rounded(await duckdb.rows(question.duckdb)), expected, `${title} DuckDB`)
    // As `weir sql --json` asks: it may only read.
    const lines = await clickhouse.text(question.clickhouse, 'JSONEachRow')
    const rows = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.strictSame(rounded(rows), expected, `${title} ClickHouse`)
  }
}

const linesOf = (file: string): string[] => gunzipSync(readFileSync(file)).toString().trim().split('\n')

t.test('about the sample records', async (t) => {
  await asked(t, linesOf('fixtures/records/demo.ndjson.gz'))
})

const honeypot = '../shared/data/honeypot-tcp.ndjson.gz'
const web = '../shared/data/web-access.ndjson.gz'
const isThere = existsSync(honeypot) && existsSync(web)

t.test(
  'about records of real traffic',
  isThere ? {} : { skip: `skipped: there is no ${honeypot}` },
  async (t) => {
    await asked(t, [...linesOf(honeypot).slice(0, 12_000), ...linesOf(web).slice(0, 4_000)])
  },
)
