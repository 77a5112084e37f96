/** S3 as others emulate it: the server of moto (https://docs.getmoto.org), and a front that fails on demand. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { gunzipSync } from 'node:zlib'
import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { optionalProgram } from './optional-program.js'

const program = optionalProgram('moto_server', 'moto/bin/moto_server')

/** Why a test must be skipped; false if moto is there. */
export const withoutMoto =
  program === undefined ? "moto_server is not there: pip install 'moto[server]'" : false

interface Test {
  teardown(close: () => unknown): void
}

async function startMoto(t: Test): Promise<string> {
  const child = spawn(program!, ['-H', '127.0.0.1', '-p', '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill())
  // Its requests are logged, too.
  child.stdout.resume()
  const lines = createInterface(child.stderr)
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const { 1: found } = /Running on (http:\S+)/.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error('moto has ended.')))
  })
  return url
}

/** A request, before it reaches moto. */
interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The lines of the object. */
  readonly lines: string
}

/** The answer in place of moto's, a cut connection, an answer of moto that gets lost, or a page of another server. */
type Failure = { readonly status: number; readonly code: string } | 'cut' | 'lost' | 'page'

export interface FailingS3 {
  readonly url: string
  /** Decides for each request; undefined: none fails. */
  fail: ((asked: Asked) => Failure | undefined) | undefined
}

/** An S3 without buckets, which fails on demand. */
export async function openS3(t: Test): Promise<FailingS3> {
  const moto = await startMoto(t)
  const server = createServer((request, response) => {
    void answer(moto, s3.fail, request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const s3: FailingS3 = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, fail: undefined }
  return s3
}

/** Moto on a busy machine. */
const answerWithinMs = 20_000

async function answer(
  moto: string,
  fail: FailingS3['fail'],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const { method = '', url = '', headers } = request
  const lines = method === 'PUT' && body.length > 0 ? gunzipSync(body).toString() : ''
  const failure = fail?.({ method, url, headers, lines })
  if (failure === 'cut') return void response.destroy()
  if (failure === 'page') return void response.setHeader('content-type', 'text/html').end('<p>Welcome.')
  if (typeof failure === 'object') {
    const { status, code } = failure
    return void response
      .writeHead(status, { 'content-type': 'application/xml' })
      .end(`<Error><Code>${code}</Code><Message>It fails on demand.</Message></Error>`)
  }
  // Without those of the connection.
  const { connection: _, 'content-length': __, ...passed } = headers
  const forwarded = httpRequest(`${moto}${url}`, {
    method,
    headers: { ...passed, 'content-length': body.length },
    // A connection for each request: moto may close one that waits at any time.
    agent: false,
    signal: AbortSignal.timeout(answerWithinMs),
  })
  forwarded.end(body)
  const [answered] = (await once(forwarded, 'response')) as [IncomingMessage]
  if (failure === 'lost') {
    answered.resume()
    await once(answered, 'end')
    return void response.destroy()
  }
  response.writeHead(answered.statusCode ?? 500, answered.headers)
  await pipeline(answered, response)
}

/** A request to IAM, which moto does not verify. */
async function iam(url: string, parameters: Readonly<Record<string, string>>): Promise<string> {
  const authorization =
    'AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=x'
  const body = new URLSearchParams({ Version: '2010-05-08', ...parameters })
  const response = await fetch(url, { method: 'POST', body, headers: { authorization } })
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}

/** The keys of a new user with this policy. From then on, everyone may do only what policies allow. */
export async function enforcePolicy(url: string, policy: object) {
  const UserName = 'weir'
  await iam(url, { Action: 'CreateUser', UserName })
  const document = { PolicyName: 'weir', PolicyDocument: JSON.stringify(policy) }
  await iam(url, { Action: 'PutUserPolicy', UserName, ...document })
  const answer = await iam(url, { Action: 'CreateAccessKey', UserName })
  const [id, secret] = ['AccessKeyId', 'SecretAccessKey'].map(
    (name) => new RegExp(`<${name}>([^<]+)<`).exec(answer)![1]!,
  )
  await fetch(`${url}/moto-api/reset-auth`, { method: 'POST', body: '0' })
  return { aws_access_key_id: id!, aws_secret_access_key: secret! }
}

/** The objects of a bucket by their keys: their lines. */
export async function objectsIn(url: string, Bucket: string): Promise<Map<string, string[]>> {
  const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }
  const client = new S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials })
  const objects = new Map<string, string[]>()
  try {
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
      for (const { Key } of Contents) {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }))
        const bytes = await Body!.transformToByteArray()
        objects.set(Key!, gunzipSync(bytes).toString().trimEnd().split('\n'))
      }
    }
  } finally {
    client.destroy()
  }
  return objects
}
