/** Requests from a template, against those that the SDK makes: the same bytes, the same answers, the same faults. */
import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import t, { type Test } from 'tap'
import { LeanClient } from '../../../../src/delivery/deliver/aws/lean-client.js'
import { readAccepted } from '../../../../src/delivery/deliver/aws/put-records.js'
import { jsonBody } from '../../../../src/delivery/deliver/aws/shared-bodies.js'
import type { SendOutcome } from '../../../../src/delivery/deliver/kind/sender.js'
import { version } from '../../../../src/ground/core/package.js'
import {
  type Answer,
  accepted,
  answered,
  error,
  events,
  type Operation,
  open,
  openScriptedAws,
  operations,
  partial,
  type Received,
  sdkSends,
} from './scripted-aws.js'

const signal = new AbortController().signal
const keys = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }

/** Those that differ between any two requests. */
const ownHeaders = ['amz-sdk-invocation-id', 'x-amz-date', 'authorization']

/** The body begins with its records, so that it can be shared; the SDK puts the name first. */
const hasOwnOrder = ({ kind }: Operation): boolean => kind === 'firehose'

const bodyOf = (operation: Operation, { body }: Received): unknown =>
  hasOwnOrder(operation) ? JSON.parse(body) : body

const without = (headers: Received['headers'], ...names: string[]): [string, string][] =>
  [...headers].filter(([name]) => !names.includes(name))

/** The `authorization` that the SDK's signer gives a request that was received. */
async function sdkAuthorization({ client }: Operation, request: Received, url: string, credentials = keys) {
  const date = request.headers.get('x-amz-date')!
  const iso = date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')
  const { config } = new client({ region: 'us-east-1', credentials })
  const signer = await (config.signer as () => Promise<{ sign: Sign }>)()
  const { hostname, port } = new URL(url)
  const headers = Object.fromEntries(without(request.headers, 'authorization', 'user-agent', 'Connection'))
  const { method, path, body } = request
  const unsigned = { method, protocol: 'http:', hostname, port: Number(port), path, query: {}, headers, body }
  return (await signer.sign(unsigned, { signingDate: new Date(iso) })).headers['authorization']
}

type Sign = (request: object, options: object) => Promise<{ headers: Record<string, string> }>

for (const operation of operations) {
  t.test(`${operation.kind}: a request from a template has the SDK's bytes and signature`, async (t) => {
    const aws = await openScriptedAws(t, operation)
    const sends = sdkSends(t, operation)
    const sender = open(t, operation, aws)
    const outcomes = []
    for (let round = 0; round < 3; round += 1) outcomes.push(await sender.send(events, signal))
    t.match(outcomes[0], { outcome: 'accepted', requestId: 'request 1' })
    t.same(outcomes[1], outcomes[0], 'the same answer is read')
    t.same(outcomes[2], outcomes[0])
    t.equal(sends.count, 1, 'the first request alone went through the SDK')

    const own = new operation.client({
      region: 'us-east-1',
      endpoint: aws.url,
      credentials: keys,
      maxAttempts: 1,
      customUserAgent: [['weir', version]],
      useQueueUrlAsEndpoint: false,
      requestHandler: new NodeHttpHandler(),
    })
    t.teardown(() => own.destroy())
    await own.send(operation.command() as never)
    const [first, second, third, sdk] = aws.requests as [Received, Received, Received, Received]
    const ignored = hasOwnOrder(operation) ? [...ownHeaders, 'x-amz-content-sha256'] : ownHeaders
    for (const request of [first, second, third]) {
      t.same([request.method, request.path], [sdk.method, sdk.path])
      t.same(bodyOf(operation, request), bodyOf(operation, sdk), 'the body')
      t.same(without(request.headers, ...ignored).sort(), without(sdk.headers, ...ignored).sort())
      t.same([...request.headers.keys()], [...first.headers.keys()], 'the order of headers')
      t.equal(request.headers.get('authorization'), await sdkAuthorization(operation, request, aws.url))
    }
    t.equal(new Set(aws.requests.map(({ headers }) => headers.get('amz-sdk-invocation-id'))).size, 4)
  })
}

interface Situation {
  readonly name: string
  readonly answer: (operation: Operation) => Answer
  readonly notFor?: string
  readonly requestTimeoutMs?: number
}

/** Answers and faults; each is met by a request that the SDK makes, and by one from a template. */
const situations: Situation[] = [
  { name: 'one record failed', answer: (operation) => answered(200, partial(operation)) },
  { name: 'throttled', answer: () => error(400, 'ProvisionedThroughputExceededException') },
  { name: 'throttled for a time', answer: () => error(429, 'ThrottlingException', { 'retry-after': '7' }) },
  { name: 'expired token', answer: () => error(400, 'ExpiredTokenException') },
  { name: 'access denied', answer: () => error(400, 'AccessDeniedException') },
  {
    name: 'the target is missing',
    answer: () => error(400, 'ResourceNotFoundException'),
    // After a success, the log stream is made again.
    notFor: 'cloudwatch_logs',
  },
  { name: 'invalid', answer: () => error(400, 'ValidationException') },
  { name: 'a fault of the service', answer: () => error(500, 'InternalFailure') },
  { name: 'an unknown error', answer: () => error(418, 'TeapotException') },
  { name: 'no body', answer: () => answered(503, '') },
  { name: 'HTML of a proxy', answer: () => answered(502, '<html>', { 'content-type': 'text/html' }) },
  { name: 'too large', answer: () => answered(413, '') },
  { name: 'another region', answer: () => answered(301, '', { location: 'http://elsewhere/' }) },
  { name: 'JSON that is cut off', answer: () => answered(200, '{"FailedRecordCount":0,"Failed') },
  { name: 'JSON that is no object', answer: () => answered(200, '[1]') },
  { name: 'no answer in 200', answer: () => answered(200, '') },
  { name: 'an object without members', answer: () => answered(200, {}) },
  {
    name: 'accepted, without an id',
    answer: (operation) => (response) => void response.end(JSON.stringify(accepted(operation))),
  },
  { name: 'accepted, with 201', answer: (operation) => answered(201, accepted(operation)) },
  { name: 'the connection is cut before an answer', answer: () => (response) => response.destroy() },
  { name: 'the connection is cut within 200', answer: () => cutWithin(200) },
  { name: 'the connection is cut within 400', answer: () => cutWithin(400) },
  { name: 'no answer in time', answer: () => () => {}, requestTimeoutMs: 3_000 },
  {
    name: 'the answer stops',
    answer: () => (response) => void response.writeHead(200).write('{'),
    requestTimeoutMs: 3_000,
  },
]

const cutWithin =
  (status: number): Answer =>
  (response) => {
    // Ended, not reset: what was written arrives first, however busy the machine is.
    response
      .writeHead(status, { 'content-length': 100 })
      .write('{"FailedRecordCount":0,', () => response.socket?.end())
  }

/** The outcome of a request in this situation, and how often it was sent. */
async function outcomeIn(t: Test, operation: Operation, situation: Situation, isFromTemplate: boolean) {
  const aws = await openScriptedAws(t, operation)
  const sender = open(t, operation, aws, '', situation.requestTimeoutMs)
  const { signal } = new AbortController()
  // On a busy machine, this may take too long, too.
  let isWarm = !isFromTemplate
  while (!isWarm) isWarm = (await sender.send(events, signal)).outcome === 'accepted'
  const before = aws.requests.length
  aws.answer = situation.answer(operation)
  const outcome: SendOutcome = await sender.send(events, signal)
  return { outcome, requests: aws.requests.length - before }
}

for (const operation of operations) {
  t.test(`${operation.kind}: whatever is answered, the outcome is as by the SDK`, async (t) => {
    const each = situations.filter(({ notFor }) => notFor !== operation.kind)
    const compare = async (situation: Situation) => {
      const [bySdk, byTemplate] = await Promise.all([
        outcomeIn(t, operation, situation, false),
        outcomeIn(t, operation, situation, true),
      ])
      t.same(byTemplate, bySdk, situation.name)
    }
    const isTimed = ({ requestTimeoutMs }: Situation) => requestTimeoutMs !== undefined
    await Promise.all(each.filter((situation) => !isTimed(situation)).map(compare))
    // By themselves: beside all others, a request might not be out when its time is over.
    await Promise.all(each.filter(isTimed).map(compare))
  })
}

t.test('an abort is as by the SDK', async (t) => {
  const [operation] = operations as [Operation]
  for (const isWarm of [false, true]) {
    const aws = await openScriptedAws(t, operation)
    const sender = open(t, operation, aws)
    if (isWarm) await sender.send(events, signal)
    const abort = new AbortController()
    aws.answer = () => abort.abort()
    t.match(await sender.send(events, abort.signal), { fault: { class: 'transient', code: 'Aborted' } })
  }
})

const kinesis = operations[0]!
const putsAt = (aws: { url: string }, credentials: object) => {
  const sdk = new KinesisClient({
    region: 'us-east-1',
    endpoint: aws.url,
    credentials: credentials as never,
    requestHandler: new NodeHttpHandler(),
  })
  const client = new LeanClient(sdk)
  const read = (body: Buffer) => readAccepted<{ FailedRecordCount?: number }>(body, 'FailedRecordCount')
  const input = { StreamARN: 'arn:aws:kinesis:us-east-1:123456789012:stream/name', Records: [] }
  return {
    client,
    put: () =>
      client.send(PutRecordsCommand, { ...input }, { body: jsonBody(input), abortSignal: signal, read }),
  }
}
const scope = ({ headers }: Received): string =>
  /Credential=(.*?)\/us-east-1\/kinesis/.exec(headers.get('authorization')!)![1]!

t.test('other credentials and another day have another template', async (t) => {
  const aws = await openScriptedAws(t, kinesis)
  const sends = sdkSends(t, kinesis)
  let [session, lifetimeMs] = [0, 3_600_000]
  const { client, put } = putsAt(aws, async () => {
    session += 1
    const expiration = new Date(Date.now() + lifetimeMs)
    return {
      accessKeyId: `AKIA${session}`,
      secretAccessKey: `secret ${session}`,
      sessionToken: `token ${session}`,
      expiration,
    }
  })
  t.teardown(() => client.destroy())
  await put()
  await put()
  t.equal(sends.count, 1)
  t.equal(session, 1)

  const { expiration } = await client.config.credentials()
  expiration!.setTime(Date.now() + 60_000)
  lifetimeMs = 7_200_000
  await put()
  await put()
  t.equal(session, 2, 'they are renewed before they expire')
  t.equal(sends.count, 2)

  // The server's clock says the same.
  aws.answer = answered(200, accepted(kinesis), { date: new Date(Date.now() + 86_400_000).toUTCString() })
  client.config.systemClockOffset = 86_400_000
  await put()
  await put()
  t.equal(sends.count, 3)
  const days = [0, 86_400_000].map((ms) =>
    new Date(Date.now() + ms).toISOString().slice(0, 10).replaceAll('-', ''),
  )
  t.same(
    aws.requests.map((request) => [scope(request), request.headers.get('x-amz-security-token')]),
    [
      [`AKIA1/${days[0]}`, 'token 1'],
      [`AKIA1/${days[0]}`, 'token 1'],
      [`AKIA2/${days[0]}`, 'token 2'],
      [`AKIA2/${days[0]}`, 'token 2'],
      [`AKIA2/${days[1]}`, 'token 2'],
      [`AKIA2/${days[1]}`, 'token 2'],
    ],
  )
})

t.test("credentials that can't be fetched: their error, and no request", async (t) => {
  const aws = await openScriptedAws(t, kinesis)
  const { client, put } = putsAt(aws, () => Promise.reject(new Error('No role.')))
  t.teardown(() => client.destroy())
  await t.rejects(put(), { message: 'No role.' })
  t.equal(aws.requests.length, 0)
})

t.test('a difference of the clock is learnt from an answer', async (t) => {
  const aws = await openScriptedAws(t, kinesis)
  const { client, put } = putsAt(aws, keys)
  t.teardown(() => client.destroy())
  await put()
  aws.answer = answered(200, accepted(kinesis), { date: new Date(Date.now() + 600_000).toUTCString() })
  await put()
  t.ok(Math.abs(client.config.systemClockOffset - 600_000) < 10_000)
})

t.test('an endpoint with a path', async (t) => {
  for (const { path, count } of [
    { path: '/aws', count: 1 },
    // Its signature is of another path than the request has, so that the SDK makes all requests.
    { path: '/a%20b', count: 3 },
  ]) {
    const aws = await openScriptedAws(t, kinesis)
    const sends = sdkSends(t, kinesis)
    const sender = open(t, kinesis, aws, path)
    for (let round = 0; round < 3; round += 1)
      t.match(await sender.send(events, signal), { outcome: 'accepted' })
    t.equal(sends.count, count, path)
    for (const request of aws.requests) {
      t.equal(request.path, `${path}/`)
      t.equal(request.headers.get('authorization'), await sdkAuthorization(kinesis, request, aws.url))
    }
  }
})
