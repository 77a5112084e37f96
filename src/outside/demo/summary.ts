/** The report of a run in some twenty lines: what a person sees without `--verbose`. */
import { kindNamed } from '../../delivery/deliver/kinds.js'
import { checksOf, holds } from './books.js'
import type { Decision } from './build.js'
import type { Account } from './report.js'
import type { Scenario } from './scenario.js'
import { grouped, type Screen } from './screen.js'

type Paint = Pick<Screen, 'paint'>

const widthMax = 100
const deadLettersShown = 2
const eventLinesMax = 6

const cut = (text: string): string => (text.length > widthMax ? `${text.slice(0, widthMax - 2)} …` : text)

/** The answers of `weir.decide`, a line per policy that decides. */
export function decided({ questions }: Scenario, answers: readonly Decision[], screen: Paint): string {
  const asked = questions.map((question, index) => ({ question, answer: answers[index]! }))
  const firstOfEach = asked.filter(
    ({ question }, index) => questions.findIndex(({ by }) => by === question.by) === index,
  )
  const rows = firstOfEach.map(({ question, answer }) => {
    const { client_ip, server_name, server_port } = question.conn
    const server = server_port === undefined ? server_name : `${server_name}:${server_port}`
    return { decision: answer.decision, by: question.by, client: client_ip, server }
  })
  const clientWidth = Math.max(0, ...rows.map(({ client }) => client.length))
  const serverWidth = Math.max(0, ...rows.map(({ server }) => server.length))
  const lines = rows.map(({ decision, by, client, server }) =>
    cut(
      `  ${decision.padEnd(5)}  ${client.padEnd(clientWidth)} → ${server.padEnd(serverWidth)}  ${by}`,
    ).replace(decision, (word) => screen.paint(colourOf(decision), word)),
  )
  return [
    screen.paint('bold', 'An ingress node asks weir.decide before it accepts a connection:'),
    ...lines,
  ].join('\n')
}

const colourOf = (decision: string): 'green' | 'red' => (decision === 'allow' ? 'green' : 'red')

export function summary(account: Account, screen: Paint): string {
  const { published } = account
  return [
    '',
    screen.paint(
      'bold',
      `It reports ${grouped(published)} connections and requests, which are judged the same way:`,
    ),
    ...decisions(account, screen),
    ...outage(account),
    ...deadLetters(account),
    ...sample(account, screen),
    books(account, screen),
  ].join('\n')
}

function decisions({ metrics, scenario }: Account, screen: Paint): string[] {
  const of = (decision: string): number => metrics.sum('weir_decisions_total', { decision })
  const rows = [
    ['green', 'allowed', of('allow'), scenario.decidedBy.allow],
    ['red', 'blocked', of('block'), scenario.decidedBy.block],
    ['red', 'denied', of('deny'), scenario.decidedBy.deny],
    [
      'yellow',
      'unserved',
      metrics.sum('weir_records_unserved_total'),
      'no edge serves them; counted above, too',
    ],
  ] as const
  return rows
    .filter(([, , count]) => count > 0)
    .map(([colour, word, count, by]) =>
      `  ${grouped(count).padStart(7)}  ${word.padEnd(8)}  ${cut(by)}`.replace(
        word,
        screen.paint(colour, word),
      ),
    )
}

export function outage({ outage: seen, destinations }: Pick<Account, 'outage' | 'destinations'>): string[] {
  if (seen === undefined) return ['A Kinesis shard refused every record, but no event was for it.']
  const { shard, state, seconds } = seen
  const { status, received } = destinations.find(({ destination }) => destination.kind === 'kinesis')!
  const { delivered, retried } = status.counts
  return [
    `Kinesis shard ${shard} refused every record for at least ${seconds.toFixed(1)} s; its destination was ${state}.`,
    `Then it recovered: ${grouped(delivered)} events delivered, ${grouped(retried)} sent again, ${grouped(received.duplicates)} arrived twice.`,
  ].map(cut)
}

function deadLetters({ letters, deadLetters: count }: Account): string[] {
  if (count === 0) return ['No record is a dead letter.']
  const shown = letters.slice(0, deadLettersShown)
  const records =
    count === 1 ? '1 bad record is a dead letter' : `${grouped(count)} bad records are dead letters`
  const which = shown.length < count ? `; the first ${shown.length}` : ''
  return [
    `${records}, and their neighbours were processed${which}:`,
    ...shown.map(({ line, message, reason }) => cut(`  message ${message}, line ${line}: ${reason}`)),
  ]
}

/** The shortest of the first events: events of a subscription that selects fields fit a screen best. */
function sample({ destinations }: Account, screen: Paint): string[] {
  const samples = destinations.flatMap(({ destination, samples: events }) =>
    events.map((event) => ({ kind: destination.kind, text: event.trim() })),
  )
  const [shortest] = samples.toSorted((a, b) => a.text.length - b.text.length)
  if (shortest === undefined) return []
  const lines = shortest.text.match(new RegExp(`.{1,${widthMax - 2}}`, 'gsu')) ?? []
  const what = lines.length > eventLinesMax ? 'The beginning of an event' : 'An event'
  return [
    screen.paint('bold', `${what} as the ${kindNamed(shortest.kind).title} received it:`),
    ...lines.slice(0, eventLinesMax).map((line) => `  ${line}`),
  ]
}

function books(account: Account, screen: Paint): string {
  const checks = checksOf(account)
  const held = checks.filter(holds).length
  const text = `${held} of ${checks.length} checks hold`
  return held === checks.length
    ? `${screen.paint('green', text)}: every record is accounted for, and every event has arrived.`
    : `${screen.paint('red', text)}.`
}
