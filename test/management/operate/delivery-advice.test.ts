/** Advice is in the words of the kind of destination: a table of all kinds, faults and errors. */

import t from 'tap'
import { faultOfRecord } from '../../../src/delivery/deliver/aws/faults.js'
import { faultOfAnswer as faultOfClickhouse } from '../../../src/delivery/deliver/clickhouse/clickhouse-faults.js'
import { faultOf as faultOfKafka } from '../../../src/delivery/deliver/kafka/kafka-faults.js'
import type { ListedKind } from '../../../src/delivery/deliver/kinds.js'
import { destinationKinds } from '../../../src/delivery/deliver/kinds.js'
import type { FaultClass } from '../../../src/delivery/outgoing/fault-class.js'
import { faultOfAnswer as faultOfHttp } from '../../../src/delivery/outgoing/http-faults.js'
import { actionsFor, adviceFor, faultAdvice } from '../../../src/management/operate/advice/delivery-advice.js'

const classes: readonly FaultClass[] = ['throttle', 'transient', 'credentials', 'configuration', 'poison']

/** The things that one kind, or those at AWS, have and no other. */
const things: Readonly<Record<string, RegExp>> = {
  aws: /\b(AWS|ARN|KMS|IAM|trust policy|external id|assumed?|signed|region)\b/,
  kinesis: /\bshards?\b/,
  firehose: /delivery stream/,
  cloudwatch_logs: /log group|PutLogEvents/,
  s3: /bucket|prefixes/,
  sqs: /queue|FIFO/,
  eventbridge: /event bus|PutEvents/,
  http: /content_type|Retry-After|_bulk|web server|POST|\btoken there\b/,
  kafka: /Kafka|\btopics?\b|\bbrokers?\b|SASL|min\.insync/,
  nats: /NATS|JetStream|\bsubjects?\b|nkey|max_payload/,
  clickhouse: /ClickHouse|\btables?\b|\bcolumns?\b|Keeper|\binserts?\b|weir ddl/i,
  file: /WEIR_FILE|ulimit|\bdirectory\b|rotated/,
}

const isOwn = (thing: string, { name, aws }: ListedKind): boolean =>
  thing === name || (thing === 'aws' && aws !== undefined)

interface Line {
  readonly kind: ListedKind
  readonly cause: FaultClass
  readonly code: string
  readonly advice: string
}

/** Each error that a kind has a sentence for, and one that no kind knows. */
const lines: readonly Line[] = destinationKinds.flatMap((kind) =>
  classes.flatMap((cause) =>
    [...Object.keys(kind.advice?.[cause] ?? {}), 'NoKindKnowsIt'].map((code): Line => {
      const advice = faultAdvice(kind.name, cause, { code, msg: 'It is so.' })
      return { kind, cause, code, advice: advice ?? '' }
    }),
  ),
)

t.test('each kind × fault × error has sentences, without the things of another kind', (t) => {
  for (const { kind, cause, code, advice } of lines) {
    const name = `${kind.name} ${cause} ${code}`
    t.match(advice, /^[A-Z].*\.$/s, name)
    for (const [thing, words] of Object.entries(things))
      if (!isOwn(thing, kind)) t.notMatch(advice, words, `${name}: nothing of ${thing}`)
    t.notMatch(advice, /\b(POST|PATCH|GET) \/|weir destination/, `${name}: how to ask is no part of it`)
  }
  t.end()
})

/** The sentence of an error is never shown if the kind gives the error another class. */
const classOf: Readonly<Record<string, (code: string) => FaultClass | undefined>> = {
  kafka: (code) =>
    /^[A-Z_]+$/.test(code) ? faultOfKafka({ errors: [{ apiId: code, message: '' }] }).class : undefined,
  clickhouse: (code) =>
    /^[A-Z_]+$/.test(code) && !['INCORRECT_DATA', 'TOO_MANY_PARTS'].includes(code)
      ? faultOfClickhouse(400, `Code: 1. DB::Exception: No. (${code}) (version 26)`).class
      : undefined,
  http(code) {
    const status = Number(/^Http(\d+)$/.exec(code)?.[1])
    if (Number.isNaN(status)) return undefined
    const answer = { status, statusText: '', headers: {}, body: Buffer.alloc(0), extent: 'whole' } as never
    return faultOfHttp(answer, undefined, (text) => text).class
  },
}

t.test('an error has its sentence under the class that the kind gives it', (t) => {
  const ofAws = (code: string) =>
    /^(any|Http\d+|NoKindKnowsIt)$/.test(code) ? undefined : faultOfRecord(code, '').class
  let checked = 0
  for (const { kind, cause, code } of lines) {
    const found = (classOf[kind.name] ?? (kind.aws !== undefined ? ofAws : () => undefined))(code)
    // A denied role is one of credentials; elsewhere, a right is missing. Of a whole request, the status decides.
    if (
      found === undefined ||
      code === 'NoKindKnowsIt' ||
      code === 'AccessDenied' ||
      /^(NoSuch|Permanent)/.test(code)
    )
      continue
    t.equal(found, cause, `${kind.name} ${code}`)
    checked += 1
  }
  t.ok(checked > 80, `${checked} errors`)
  t.end()
})

const row = (target: object) => ({ id: 'ed_1', account_id: 'ac_1', target }) as never
const http = row({ http: { url: 'https://example.com' } })
const kinesis = row({ kinesis: { stream_arn: 'x' } })

t.test('the sentence of a status goes by the last error, and says what Weir does meanwhile', (t) => {
  const about = (destination: never, cause: string, code: string) =>
    adviceFor(cause, destination, null, null, { code, msg: 'x' })
  t.match(about(http, 'credentials', 'Http401'), /\(401\)\. Set a valid token.* Weir tries again every/)
  t.match(about(http, 'configuration', 'Http404'), /nothing at this path \(404\)/)
  t.match(about(http, 'throttle', 'Http429'), /429.*Retry-After.*loses nothing/)
  t.match(about(http, 'credentials', 'Http404'), /^The server refuses the credentials\. /, 'of another fault')
  t.match(about(kinesis, 'credentials', 'X'), /trust policy of the role/)
  t.match(about(kinesis, 'throttle', 'X'), /add shards/)
  t.end()
})

t.test('what can be done is data, with the request and the command', (t) => {
  const names = (cause: string | null) => actionsFor(cause, 'ed_1').map(({ action }) => action)
  t.strictSame(names(null), [])
  t.strictSame(names('throttle'), [], 'only waiting helps, or a change elsewhere')
  t.strictSame(names('credentials'), ['edit_credentials', 'try_now'])
  t.strictSame(names('poison'), ['see_dead_letters', 'try_now'])
  t.strictSame(actionsFor('paused by hand', 'ed_1'), [
    {
      action: 'resume',
      id: 'ed_1',
      request: 'POST /event_destinations/ed_1/resume',
      command: 'weir destination resume ed_1',
    },
  ])
  t.end()
})
