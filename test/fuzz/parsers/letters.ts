/** Dead letters, and what processes of Weir tell each other. */
import { behindIn } from '../../../src/delivery/wire/behind.js'
import { headerText } from '../../../src/delivery/wire/dead-letter.js'
import { deadLetterHeaders } from '../../../src/delivery/wire/names.js'
import { formatNotice, parseNotice } from '../../../src/delivery/wire/own-consumers.js'
import { reportsIn } from '../../../src/delivery/wire/process-report.js'
import { compileReasonPattern, reasonPattern } from '../../../src/delivery/wire/reason-pattern.js'
import { announcementIn, announcementOf, obstaclesOf } from '../../../src/delivery/wire/role-formats.js'
import { lettersIn, sharedDeadLetter } from '../../../src/delivery/wire/shared-dead-letters.js'
import { readWatchedDelivery, writeWatchedDelivery } from '../../../src/delivery/wire/watched.js'
import { expectSame, expectThat, type FuzzedParser, read, refused, tried } from '../engine/parser.js'

const origin = { [deadLetterHeaders.stream]: 'WEIR_RECORDS', [deadLetterHeaders.sequence]: '7' }
const { data, headers } = sharedDeadLetter(
  [
    { line: 1, bytes: Buffer.from('{a'), reason: 'It is not JSON.' },
    { line: 2, bytes: Buffer.from('b'), reason: 'It is not JSON.' },
    { line: 5, bytes: Buffer.from('c'), reason: '"conn" is missing; it must be an object.' },
  ],
  origin,
)

const letters: FuzzedParser = {
  name: 'dead letters',
  sources: [
    'delivery/wire/shared-dead-letters.ts',
    'delivery/wire/dead-letter.ts',
    'delivery/wire/reason-pattern.ts',
  ],
  seeds: () => [data, Buffer.from('{a\n{"reasons":["x"],"runs":[0,1,0]}'), '"x" is "y"; it must be z.'],
  words: ['{"reasons":["x"],"runs":[0,1,0]}', '"runs":[', '1e400', '\n', ' is "', '\u2026'],
  msPerKiB: 10,
  keptPerByte: 400,
  read: (bytes) => {
    const text = bytes.toString()
    const reason = headerText(text)
    expectThat(compileReasonPattern(reasonPattern(reason))(reason), 'a reason matches its pattern')
    const at = bytes.lastIndexOf('{"reasons"')
    const own: Readonly<Record<string, string>> = { ...headers, [deadLetterHeaders.index]: String(at) }
    const found = lettersIn(bytes, (name) => own[name] ?? '')
    const all = Array.from({ length: Math.min(found.size, 2_000) }, (_, index) => found.at(index))
    for (const { origin } of all)
      expectThat(
        typeof origin.reason === 'string' && (origin.line === null || Number.isSafeInteger(origin.line)),
        `a letter has the line ${origin.line}`,
      )
    const again =
      found.areShared && all.length > 0
        ? sharedDeadLetter(
            all.map(({ data, origin }) => ({ bytes: data, line: origin.line!, reason: origin.reason })),
            origin,
          )
        : undefined
    if (again !== undefined && all.length > 0) {
      const reread = lettersIn(again.data, (name) => again.headers[name] ?? '')
      expectSame(reread.size, all.length, 'letters that are written and read again')
    }
    return read(all.map(({ origin }) => origin.line))
  },
}

const announcement = announcementOf('p', 'pipeline', 'works')
const report = {
  role: 'api',
  version: '1',
  build: 'b',
  node: 'v20',
  host: 'h',
  pid: 1,
  startedAtMs: 1,
  nowMs: 2,
  failing: {},
  filesMax: 1,
  filesOpen: 1,
  addresses: {},
}
const attempt = {
  accountId: 'ac_1',
  destinationId: 'ed_1',
  at: 1,
  outcome: 'failed',
  attempt: 1,
  requestId: '',
  errorCode: '',
  error: '',
  events: 1,
} as const
const behind = {
  id: 'cu_1',
  account_id: 'ac_1',
  destination_id: 'ed_1',
  since: '2026-11-25T10:00:00.000Z',
  run: 'r',
  windows: [[1, 5]],
  done: 0,
  missed: 0,
}

const notices: FuzzedParser = {
  name: 'messages between processes',
  sources: [
    'delivery/wire/own-consumers.ts',
    'delivery/wire/role-formats.ts',
    'delivery/wire/process-report.ts',
    'delivery/wire/watched.ts',
    'delivery/wire/behind.ts',
  ],
  seeds: () => [
    formatNotice(parseNotice(Buffer.from('{"destination":"ed_1","partition":3}'))!),
    JSON.stringify(announcement),
    JSON.stringify(report),
    writeWatchedDelivery(attempt, [Buffer.from('{"event_id":"ev_1"}\n')]),
    JSON.stringify(behind),
  ],
  words: ['"partition":', '"formats":{', '"windows":[[', '"role":"deliver"', '"failing":null'],
  keptPerByte: 200,
  read: (bytes) => {
    const notice = parseNotice(bytes)
    if (notice !== undefined)
      expectSame(parseNotice(Buffer.from(formatNotice(notice))), notice, 'a notice that is written again')
    const said = announcementIn(bytes)
    if (said !== undefined) obstaclesOf(announcement, [said])
    const reports = reportsIn([bytes, Buffer.from(JSON.stringify(report))])
    expectThat(reports.length > 0, 'a report is read next to one that is none')
    for (const { failing, addresses } of reports)
      expectThat(failing !== null && addresses !== null, 'a report has its members')
    const entry = tried(() => behindIn({ key: 'k', value: bytes, revision: 1 } as never), Error)
    const delivery = tried(() => readWatchedDelivery(bytes), SyntaxError)
    const found = [notice, said, reports.length, entry, delivery]
    return (notice ?? said ?? ('value' in entry ? entry.value : undefined))
      ? read(found)
      : refused('It is none of them.')
  },
}

export const letterParsers: readonly FuzzedParser[] = [letters, notices]
