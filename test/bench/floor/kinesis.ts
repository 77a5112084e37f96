/** Signed requests to Kinesis in the programs that do only the least: a failure ends the program. */
import { createHash, createHmac, hash } from 'node:crypto'
import { Agent, request } from 'node:http'

interface Kinesis {
  readonly emulatorUrl: string
  readonly arn: string
  readonly accessKey: string
  readonly secretKey: string
}

/** How many events a request holds at most. */
export const eventsMax = 500
export const requestsAtOnce = 2

const agent = new Agent({ keepAlive: true, maxSockets: requestsAtOnce })
const signedHeaders = 'content-type;host;x-amz-date;x-amz-target'
const contentType = 'application/x-amz-json-1.1'
const operation = 'Kinesis_20131202.PutRecords'

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function headersFor(
  body: Buffer,
  { emulatorUrl, arn, accessKey, secretKey }: Kinesis,
): Record<string, string> {
  const { host } = new URL(emulatorUrl)
  const region = arn.split(':')[3]!
  const time = `${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const scope = `${time.slice(0, 8)}/${region}/kinesis/aws4_request`
  const canonical = `POST\n/\n\ncontent-type:${contentType}\nhost:${host}\nx-amz-date:${time}\nx-amz-target:${operation}\n\n${signedHeaders}\n${createHash('sha256').update(body).digest('hex')}`
  const signed = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical, 'hex')}`
  const key = scope.split('/').reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretKey}`)
  return {
    'content-type': contentType,
    'content-length': String(body.length),
    'x-amz-date': time,
    'x-amz-target': operation,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${signedHeaders}, Signature=${hmac(key, signed).toString('hex')}`,
  }
}

/** An event as one of a request's `Records`. */
export const entryOf = (base64: string, partitionKey: string): string =>
  `{"Data":"${base64}","PartitionKey":"${partitionKey}"}`

export function put(kinesis: Kinesis, entries: readonly string[]): Promise<void> {
  const body = Buffer.from(`{"StreamARN":"${kinesis.arn}","Records":[${entries.join()}]}`)
  return new Promise((resolve, reject) => {
    const sent = request(
      `${kinesis.emulatorUrl}/`,
      { method: 'POST', agent, headers: headersFor(body, kinesis) },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('latin1')
          if (answer.includes('"FailedRecordCount":0')) resolve()
          else reject(new Error(answer.slice(0, 500)))
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
