import { PutRecordsCommand } from '@aws-sdk/client-kinesis'
import t from 'tap'
import { clients, key, open, records } from './sdk-clients.js'

t.test('refuses a request that is not signed as it must be', async (t) => {
  const emulator = await open(t)
  emulator.world.addResource({ service: 'kinesis', name: 's' })
  const cases = [
    {
      name: 'a wrong secret',
      credentials: { ...key, secretAccessKey: 'another' },
      want: 'InvalidSignatureException',
    },
    {
      name: 'an unknown key',
      credentials: { ...key, accessKeyId: 'AKIAX' },
      want: 'UnrecognizedClientException',
    },
    {
      name: 'a token nobody issued',
      credentials: { ...key, sessionToken: 'x' },
      want: 'UnrecognizedClientException',
    },
    { name: 'another region', region: 'eu-west-1', want: 'ResourceNotFoundException' },
  ]
  for (const { name, want, ...overrides } of cases) {
    const { kinesis } = clients(emulator, overrides)
    const put = kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(1) }))
    await t.rejects(put, { name: want, $metadata: { httpStatusCode: 400, requestId: String } }, name)
  }
  const unsigned = await fetch(emulator.url, {
    method: 'POST',
    headers: { 'x-amz-target': 'Kinesis_20131202.X' },
  })
  t.match(await unsigned.json(), { __type: 'MissingAuthenticationTokenException' })
  t.equal(emulator.world.findResource({ service: 'kinesis', name: 's' })!.ledger.counts().events, 0)
})

t.test('refuses a body, a date or a header other than what was signed', async (t) => {
  let skewMs = 0
  const emulator = await open(t, { now: () => Date.now() + skewMs })
  emulator.world.addResource({ service: 'kinesis', name: 's' })
  const captured: { headers: Record<string, string>; body: Uint8Array }[] = []
  const { kinesis } = clients(emulator)
  kinesis.middlewareStack.add(
    (next) => async (args) => {
      captured.push(structuredClone({ ...(args.request as (typeof captured)[0]) }))
      return next(args)
    },
    { step: 'finalizeRequest', priority: 'low' },
  )
  await kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(1) }))
  const { headers, body } = captured[0]!
  const replay = async (changed: Record<string, string>, content: string) => {
    const { host: _, 'content-length': __, ...sent } = headers
    const response = await fetch(emulator.url, {
      method: 'POST',
      headers: { ...sent, ...changed },
      body: content,
    })
    return (await response.json()) as { __type?: string; message?: string }
  }
  const text = Buffer.from(body).toString()
  t.match(await replay({}, text), { FailedRecordCount: 0 }, 'unchanged it passes')
  const refused = { __type: 'InvalidSignatureException' }
  t.match(await replay({}, text.replace('ev_0', 'ev_1').replace('}', ' }')), refused, 'another body')
  t.match(await replay({ 'x-amz-added': '1' }, text), refused, 'an amz header that is not signed')
  t.match(
    await replay({ 'x-amz-target': 'Kinesis_20131202.ListStreams' }, text),
    refused,
    'another operation',
  )
  t.match(await replay({ 'x-amz-target': 'Logs_20140328.PutLogEvents' }, text), refused, 'another service')
  skewMs = 301_000
  t.match(await replay({}, text), { ...refused, message: /Signature expired/ }, 'too old')
  skewMs = -330_000
  t.match(await replay({}, text), { ...refused, message: /not yet current/ }, 'from the future')
})
