/** Destinations of Outpost by their types, and what becomes of topics. */
import t from 'tap'
import { subscribableKinds } from '../../../src/words/event/check-source.js'
import { answersOf, importOf, type Json, lineAt, sectionOf, textOf } from './fixtures.js'

const destination = (type: string, config: Json, members: Json = {}): Json => ({
  id: 'des_1',
  type,
  topics: '*',
  config,
  credentials: {},
  ...members,
})
const hook = (members: Json = {}): Json =>
  destination('webhook', { url: 'https://hooks.example.com/' }, members)

t.test('each type that Weir has', (t) => {
  const value = answersOf<Json[]>('outpost').map((each) => ({ ...each, filter: null, disabled_at: null }))
  const made = sectionOf(importOf('outpost', value, '123456789012'), 'event_destinations')
  t.match(made, [
    {
      description: 'des_web',
      metadata: '{"team":"net"}',
      target: {
        http: {
          url: 'https://hooks.example.com/weir',
          body: 'single',
          headers: { 'x-tenant': 'acme' },
          secret_headers: { 'x-api-key': /^\$\{env:/ },
          signing: { secret: /^\$\{env:/ },
        },
      },
    },
    {
      target: {
        sqs: {
          queue_arn: 'arn:aws:sqs:eu-west-1:123456789012:events',
          auth: {
            creds: {
              aws_access_key_id: /^\$\{env:\w+_AWS_ACCESS_KEY_ID\}$/,
              aws_secret_access_key: /^\$\{env:/,
            },
          },
        },
      },
    },
    { target: { kinesis: { stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events' } } },
    { target: { s3: { bucket_arn: 'arn:aws:s3:::events-of-acme', region: 'eu-west-1' } } },
    {
      target: {
        kafka: {
          topic: 'events',
          brokers: ['kafka-1.example.com:9092', 'kafka-2.example.com:9092'],
          tls: {},
          sasl: { mechanism: 'scram-sha-256', username: 'outpost', password: /^\$\{env:/ },
        },
      },
    },
  ])
  t.equal(made.length, 5)
  t.end()
})

t.test('no secret of the answers is in the file or in the report', (t) => {
  const result = importOf('outpost', answersOf('outpost'), '123456789012')
  const written = textOf(result) + JSON.stringify(result.report)
  for (const secret of ['MDEyMzQ1', '0123456789"', 'AKIA*', 'abcd*', '********'])
    t.notOk(written.includes(secret), secret)
  t.end()
})

t.test('types that Weir does not have, and addresses that are none', (t) => {
  const refused: readonly (readonly [Json, RegExp])[] = [
    [destination('rabbitmq', { server_url: 'rabbit.example.com:5672' }), /AMQP/],
    [destination('constructor', {}), /no target of this type/],
    [destination('aws_kinesis', { stream_name: 'events', region: 'eu-west-1' }), /--aws-account/],
    [
      destination('aws_sqs', { queue_url: 'http://localhost:4566/000000000000/events' }),
      /not the address of a queue at AWS/,
    ],
    [destination('webhook', { url: 'ftp://hooks.example.com/' }), /url/],
  ]
  for (const [value, why] of refused) {
    const result = importOf('outpost', [value])
    t.match(lineAt(result, '[0]').notes.join(' '), why)
    t.match(lineAt(result, '[0].topics').notes, ['Its destination is not taken.'])
    t.same(result.file, {})
  }
  t.end()
})

t.test('topics are kinds of events, or patterns of such', (t) => {
  const sourcesOf = (topics: unknown): unknown[] =>
    sectionOf(importOf('outpost', [hook({ topics })]), 'event_subscriptions').flatMap(
      ({ sources }) => sources as { type: string }[],
    )
  t.equal(sourcesOf('*').length, subscribableKinds().length)
  t.same(sourcesOf(['tcp_connection_closed.v0', 'user.created']), [{ type: 'tcp_connection_closed.v0' }])
  const ofTcp = subscribableKinds().filter((kind) => kind.startsWith('tcp_'))
  t.same(
    sourcesOf(['tcp_*', 'tcp_connection_closed.v0']),
    ofTcp.map((type) => ({ type })),
    'each once',
  )
  t.same(sourcesOf(['.*', 'tcp.connection.closed.v0']), [], 'only the star is special')
  const large = sectionOf(importOf('outpost', [hook()]), 'event_subscriptions')
  for (const { sources } of large)
    t.ok((sources as unknown[]).length <= 50, 'as many as a subscription may have')
  t.end()
})

t.test('less is sent rather than more', (t) => {
  for (const members of [
    { filter: { data: { amount: { $gte: 100 } } } },
    { disabled_at: '2026-05-04T09:00:00Z' },
  ]) {
    const result = importOf('outpost', [hook(members)])
    t.notOk('event_subscriptions' in result.file)
    t.equal(lineAt(result, '[0].topics').outcome, 'not_taken')
    t.equal(sectionOf(result, 'event_destinations').length, 1)
  }
  t.end()
})
