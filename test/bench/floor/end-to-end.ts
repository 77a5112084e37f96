/**
 * The least that the path of a record costs in Node: the same records in, the same conditions and networks, events of
 * the same form and size out, by signed requests to Kinesis; acknowledged when Kinesis has them. Written for this one
 * case: nothing is checked, configured, counted, repeated or explained, and nothing of Weir is in it. If LINGER_MS is not
 * 0, events wait so long for others that can share their request.
 *
 *     node end-to-end.js NATS EMULATOR ARN ACCESS_KEY SECRET_KEY LINGER_MS
 */
import { createHash, createHmac, hash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { AckPolicy, DiscardPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { addressOf } from './address.js'

const [natsUrl = '', emulatorUrl = '', arn = '', accessKey = '', secretKey = '', linger] =
  process.argv.slice(2)
const lingerMs = Number(linger)
const eventsMax = 500
const requestsAtOnce = 2
const stream = 'RECORDS'

// --- a record ---

interface ConnectionRecord {
  readonly record_id: string
  readonly conn: {
    readonly client_ip: string
    readonly client_port: number
    readonly server_ip: string
    readonly server_name: string
    readonly server_port: number
    readonly start_ts: string
    readonly end_ts: string
    readonly bytes_in: number
    readonly bytes_out: number
  }
}

/** 10.0.0.0/16 to 10.99.0.0/16. */
const firsts = Float64Array.from({ length: 100 }, (_, network) => addressOf(`10.${network}.0.0`))

function isAllowed(address: number): boolean {
  let [low, high] = [0, firsts.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    if (firsts[middle]! > address) high = middle - 1
    else if (firsts[middle]! + 65_535 < address) low = middle + 1
    else return true
  }
  return false
}

const isDenied = ({ conn }: ConnectionRecord): boolean =>
  conn.server_port === 2_222 ||
  conn.client_port < 1_024 ||
  conn.server_name === 'closed.example.com' ||
  conn.server_ip === '198.51.100.1' ||
  conn.client_ip.startsWith('127.')

function eventOf(record: ConnectionRecord, now: string): string {
  const { conn } = record
  const isOpen = isAllowed(addressOf(conn.client_ip)) && !isDenied(record)
  const id = `ev_${hash('sha256', record.record_id, 'hex').slice(0, 48)}`
  return `{"event_id":"${id}","event_type":"tcp_connection_closed.v0","event_timestamp":"${now}","principal":null,"object":{"conn":{"bytes_in":"${conn.bytes_in}","bytes_out":"${conn.bytes_out}","client_ip":"${conn.client_ip}","end_ts":"${conn.end_ts}","server_ip":"${conn.server_ip}","server_name":"${conn.server_name}","server_port":${conn.server_port},"start_ts":"${conn.start_ts}"},"ip_policy":{"decision":"${isOpen ? 'allow' : 'block'}"}}}\n`
}

// --- a request ---

const { host } = new URL(emulatorUrl)
const agent = new Agent({ keepAlive: true, maxSockets: requestsAtOnce })
const region = arn.split(':')[3]!
const signedHeaders = 'content-type;host;x-amz-date;x-amz-target'
const contentType = 'application/x-amz-json-1.1'
const operation = 'Kinesis_20131202.PutRecords'

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function headersFor(body: Buffer): Record<string, string> {
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

function put(entries: readonly string[]): Promise<void> {
  const body = Buffer.from(`{"StreamARN":"${arn}","Records":[${entries.join()}]}`)
  return new Promise((resolve, reject) => {
    const sent = request(
      `${emulatorUrl}/`,
      { method: 'POST', agent, headers: headersFor(body) },
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

// --- the loop ---

const nats = await connect({ servers: natsUrl })
const manager = await jetstreamManager(nats)
const settings = {
  name: stream,
  subjects: ['weir.records.>'],
  max_bytes: 2 ** 32,
  discard: DiscardPolicy.New,
}
await manager.streams.add(settings)
await manager.consumers.add(stream, {
  durable_name: 'floor',
  ack_policy: AckPolicy.Explicit,
  max_ack_pending: 50_000,
})
const consumer = await jetstream(nats).consumers.get(stream, 'floor')
console.log('ready')

let entries: string[] = []
let messages: JsMsg[] = []
const underWay = new Set<Promise<void>>()
let lingering: NodeJS.Timeout | undefined

function flush(): void {
  clearTimeout(lingering)
  lingering = undefined
  const [events, done] = [entries, messages]
  entries = []
  messages = []
  const sending = put(events).then(() => {
    for (const message of done) message.ack()
    underWay.delete(sending)
  })
  underWay.add(sending)
}

for await (const message of await consumer.consume({ max_messages: 2_000 })) {
  const now = new Date().toISOString()
  for (const line of message.string().split('\n')) {
    const event = eventOf(JSON.parse(line), now)
    const key = event.slice(13, 64)
    entries.push(`{"Data":"${Buffer.from(event).toString('base64')}","PartitionKey":"${key}"}`)
  }
  messages.push(message)
  const isLast = message.info.pending === 0
  if (entries.length >= eventsMax - 99 || (isLast && lingerMs === 0)) flush()
  else if (lingerMs > 0) lingering ??= setTimeout(flush, lingerMs)
  while (underWay.size >= requestsAtOnce) await Promise.race(underWay)
}
