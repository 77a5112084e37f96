/** The report of a run, in some twenty lines. */
import { kindNamed } from '../../delivery/deliver/kinds.js'
import { type Account, type Arrivals, checkLine, checksOf, holds } from './books.js'
import type { Scenario } from './scenario.js'
import { grouped, type Screen } from './screen.js'

type Paint = Pick<Screen, 'paint'>

const widthMax = 100
const deadLettersShown = 2
const eventLinesMax = 6

/** Other decisions are red. */
const colours: Record<string, 'green' | 'yellow'> = { allow: 'green', allowed: 'green', unserved: 'yellow' }

const cut = (text: string): string => (text.length > widthMax ? `${text.slice(0, widthMax - 2)} …` : text)

/** Rows with aligned columns. A decision among the words is painted. */
function table(rows: readonly (readonly string[])[], screen: Paint): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? []
  return rows.map((row) =>
    cut(`  ${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}`.trimEnd()).replace(
      /allow(ed)?|block(ed)?|deny|denied|unserved/,
      (word) => screen.paint(colours[word] ?? 'red', word),
    ),
  )
}

/** The answers of `weir.decide`, a line per policy that decides. */
export function decided({ questions }: Scenario, screen: Paint): string {
  const firstOfEach = questions.filter(
    (question, index) => questions.findIndex(({ by }) => by === question.by) === index,
  )
  const rows = firstOfEach.map(({ decision, by, conn: { client_ip, server_name, server_port: port } }) => [
    decision,
    client_ip,
    `→ ${port === undefined ? server_name : `${server_name}:${port}`}`,
    by,
  ])
  const title = 'An ingress node asks weir.decide before it accepts a connection:'
  return [screen.paint('bold', title), ...table(rows, screen)].join('\n')
}

export function summary(account: Account, screen: Paint): string {
  const title = `It reports ${grouped(account.published)} connections and requests, which are judged the same way:`
  return [
    '',
    screen.paint('bold', title),
    ...decisions(account, screen),
    'The events that they caused, by destination:',
    ...table(account.destinations.map(arrivals), screen),
    outage(account),
    ...deadLetters(account),
    ...sample(account, screen),
    ...books(account, screen),
  ].join('\n')
}

function decisions({ metrics, scenario }: Account, screen: Paint): string[] {
  const of = (decision: string): number => metrics.sum('weir_decisions_total', `decision="${decision}"`)
  const { allow, block, deny } = scenario.decidedBy
  const rows = [
    ['allowed', of('allow'), allow],
    ['blocked', of('block'), block],
    ['denied', of('deny'), deny],
    ['unserved', metrics.sum('weir_records_unserved_total'), 'no edge serves them; counted above, too'],
  ] as const
  const shown = rows.filter(([, count]) => count > 0).map(([word, count, by]) => [counted(count), word, by])
  return table(shown, screen)
}

const arrivals = ({ destination, status: { counts }, received }: Arrivals): string[] => [
  destination.kind,
  `${counted(counts.delivered)} delivered`,
  `${counted(received.events)} received`,
  `${counted(counts.retried)} sent again`,
]

const counted = (count: number): string => grouped(count).padStart(7)

export const outage = ({ outage: seen }: Pick<Account, 'outage'>): string =>
  seen === undefined
    ? 'A Kinesis shard refused every record, but no event was for it.'
    : `Kinesis shard ${seen.shard} refused every record for at least ${seen.seconds.toFixed(1)} s; its destination was ${seen.state}.`

function deadLetters({ badRecords }: Account): string[] {
  const count = badRecords.length
  if (count === 0) return ['No record is a dead letter.']
  const shown = badRecords.slice(0, deadLettersShown)
  const records =
    count === 1 ? '1 bad record is a dead letter' : `${grouped(count)} bad records are dead letters`
  const which = shown.length < count ? `; the first ${shown.length}` : ''
  return [
    `${records}, and their neighbours were processed${which}:`,
    ...shown.map(({ line, sequence, reason }) => cut(`  message ${sequence}, line ${line}: ${reason}`)),
  ]
}

function sample({ sample: event }: Account, screen: Paint): string[] {
  if (event === undefined) return []
  const lines = event.text.match(new RegExp(`.{1,${widthMax - 2}}`, 'gsu')) ?? []
  const what = lines.length > eventLinesMax ? 'The beginning of an event' : 'An event'
  return [
    screen.paint('bold', `${what} as the ${kindNamed(event.kind).title} received it:`),
    ...lines.slice(0, eventLinesMax).map((line) => `  ${line}`),
  ]
}

/** The checks that do not hold are shown one by one. */
function books(account: Account, screen: Paint): string[] {
  const checks = checksOf(account)
  const failed = checks.filter((check) => !holds(check))
  const text = `${checks.length - failed.length} of ${checks.length} checks hold`
  return failed.length === 0
    ? [`${screen.paint('green', text)}: every record is accounted for, and every event has arrived.`]
    : [`${screen.paint('red', text)}. These do not:`, ...failed.map(checkLine)]
}
