/** Destinations of six kinds beside each other, how each is made to fail, and what each has got. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { NewResource } from '../../src/words/client/kinds.js'
import type { Closers } from '../bench/systems/system.js'
import { type FailingS3, objectsIn, openS3, withoutMoto } from '../harness/moto.js'
import { OwnNats } from '../harness/own-nats.js'
import { freeze } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { openWebServer } from '../harness/web-server.js'
import type { Emulator } from '../harness/weir.js'

/** `error`: all fail; `hang`: nothing is answered; `slow`: answers take 5 s; `lost`: done, and never answered. */
export type Trouble = 'error' | 'hang' | 'slow' | 'lost'

type Target = NewResource<'eventDestination'>['target']

export interface Sink {
  readonly kind: string
  readonly target: Target
  /** Does it get the events of the narrow subscription only? */
  readonly isNarrow: boolean
  /** The events that it accepted so far, in any order. */
  arrived(): Promise<string[]>
  /** Its troubles from now on; undefined: none. A kind can have some of them. */
  readonly troubles: readonly Trouble[]
  trouble(what: Trouble | undefined): Promise<void>
  /** Requests that it saw. */
  requests(): Promise<number>
}

const slowMs = 5_000
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')
const authOf = ({ key }: Emulator) => ({
  creds: { aws_access_key_id: key.accessKeyId, aws_secret_access_key: key.secretAccessKey },
})

/** Each accepts any number of records, so that a scenario measures Weir and not a quota. */
const unlimited = { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }

async function awsSink(emulator: Emulator, service: 'kinesis' | 'firehose'): Promise<Sink> {
  const name = 'traffic'
  const { client } = emulator
  const arn = await client.addResource({ service, name, ...unlimited })
  const auth = authOf(emulator)
  const operation = service === 'kinesis' ? 'PutRecords' : 'PutRecordBatch'
  let fault: number | undefined
  const effects = {
    error: { type: 'error', code: 'InternalFailure', status: 500 },
    hang: { type: 'hang' },
    slow: { type: 'latency', ms: slowMs },
    lost: { type: 'commit_then_drop' },
  } as const
  return {
    kind: service,
    target:
      service === 'kinesis'
        ? { kinesis: { stream_arn: arn, auth } }
        : { firehose: { delivery_stream_arn: arn, auth } },
    isNarrow: false,
    arrived: async () => {
      const texts: string[] = []
      for await (const { data } of client.received({ service, name })) texts.push(...lines(data))
      return texts
    },
    troubles: ['error', 'hang', 'slow', 'lost'],
    trouble: async (what) => {
      if (fault !== undefined) await client.clearFaults(fault)
      fault =
        what === undefined ? undefined : await client.addFault({ service, operation, effect: effects[what] })
    },
    requests: async () => (await client.stats())[`${service}.${operation}`]?.requests ?? 0,
  }
}

async function httpSink(closers: Closers): Promise<Sink> {
  const accepted: string[] = []
  let requests = 0
  let trouble: Trouble | undefined
  const server = await openWebServer(closers, ({ method, body }, response) => {
    // Bodies are kept here alone.
    server.requests.length = 0
    const answer = (): void => void response.writeHead(200).end('ok')
    if (method !== 'POST') return answer()
    requests += 1
    if (trouble === 'hang') return
    if (trouble === 'error') return void response.writeHead(500).end()
    accepted.push(body)
    if (trouble === 'lost') return void response.destroy()
    if (trouble === 'slow') setTimeout(answer, slowMs)
    else answer()
  })
  return {
    kind: 'http',
    target: { http: { url: `${server.url}/events` } },
    isNarrow: true,
    arrived: async () => accepted.flatMap(lines),
    troubles: ['error', 'hang', 'slow', 'lost'],
    trouble: async (what) => {
      trouble = what
    },
    requests: async () => requests,
  }
}

function s3Sink(s3: FailingS3, emulator: Emulator): Sink {
  let requests = 0
  let trouble: Trouble | undefined
  s3.fail = ({ method }) => {
    if (method !== 'PUT') return undefined
    requests += 1
    if (trouble === 'error') return { status: 500, code: 'InternalError' }
    return trouble === 'lost' ? 'lost' : undefined
  }
  const bucket = { bucket_arn: 'arn:aws:s3:::traffic', region: 'us-east-1', age_seconds: 1, size: 524_288 }
  return {
    kind: 's3',
    target: { s3: { ...bucket, auth: authOf(emulator) } },
    isNarrow: false,
    arrived: async () => [...(await objectsIn(s3.url, 'traffic')).values()].flat(),
    troubles: ['error', 'lost'],
    trouble: async (what) => {
      trouble = what
    },
    requests: async () => requests,
  }
}

/** A server of another operator. JetStream there drops repeats of the same event within two minutes. */
async function natsSink(closers: Closers): Promise<Sink> {
  const server = new OwnNats(tempDir(closers))
  await server.start()
  closers.teardown(() => server.kill())
  const connection = await connect({
    servers: server.url,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
  })
  closers.teardown(() => connection.close())
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'traffic', subjects: ['traffic'] })
  return {
    kind: 'nats',
    target: { nats: { subject: 'traffic', servers: [server.url] } },
    isNarrow: true,
    arrived: async () => {
      const { messages } = (await manager.streams.info('traffic')).state
      const texts: string[] = []
      const consumer = await jetstream(connection).consumers.get('traffic')
      if (messages > 0)
        for await (const message of await consumer.consume()) {
          texts.push(message.string())
          if (texts.length === messages) break
        }
      return texts
    },
    troubles: ['hang'],
    trouble: async (what) => (what === undefined ? server.thaw() : freeze(server.pid)),
    requests: async () => (await manager.streams.info('traffic')).state.messages,
  }
}

/** The last line may be torn if its writer was killed: what stands there is no event (docs/destinations/file.md). */
const wholeLines = (text: string): string[] => lines(text.slice(0, text.lastIndexOf('\n') + 1))

function fileSink(directory: string): Sink {
  const files = (): string[] =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ndjson'))
  return {
    kind: 'file',
    target: { file: { name: 'traffic.ndjson', size: 16 * 1024 * 1024, keep: 400 } },
    isNarrow: false,
    arrived: async () => files().flatMap((name) => wholeLines(readFileSync(join(directory, name), 'utf8'))),
    troubles: [],
    trouble: async () => {},
    requests: async () => 0,
  }
}

interface Sinks {
  readonly sinks: readonly Sink[]
  /** What Weir must be started with. */
  readonly env: Readonly<Record<string, string>>
}

export async function openSinks(closers: Closers, emulator: Emulator): Promise<Sinks> {
  const s3 = withoutMoto === false ? await openS3(closers) : undefined
  if (s3 !== undefined) await fetch(`${s3.url}/traffic`, { method: 'PUT' })
  const directory = tempDir(closers)
  const sinks = [
    await awsSink(emulator, 'kinesis'),
    await awsSink(emulator, 'firehose'),
    await httpSink(closers),
    ...(s3 === undefined ? [] : [s3Sink(s3, emulator)]),
    await natsSink(closers),
    fileSink(directory),
  ]
  const env = {
    AWS_ENDPOINT_URL: emulator.url,
    WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8',
    WEIR_FILE_DIRECTORY: directory,
    ...(s3 !== undefined && { AWS_ENDPOINT_URL_S3: s3.url }),
  }
  return { sinks, env }
}
