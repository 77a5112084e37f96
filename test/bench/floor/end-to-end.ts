/**
 * The least that the path of a record costs in Node: the same records in, the same conditions and networks, events of
 * the same form and size out, by signed requests to Kinesis; acknowledged when Kinesis has them. Written for this one
 * case: nothing is checked, configured, counted, repeated or explained, and nothing of Weir is in it. If LINGER_MS is not
 * 0, events wait so long for others that can share their request.
 *
 *     node end-to-end.js NATS EMULATOR ARN ACCESS_KEY SECRET_KEY LINGER_MS
 */
import type { JsMsg } from '@nats-io/jetstream'
import { eventOf, idPlace } from './events.js'
import { entryOf, eventsMax, put, requestsAtOnce } from './kinesis.js'
import { openRecords } from './records.js'

const [natsUrl = '', emulatorUrl = '', arn = '', accessKey = '', secretKey = '', linger] =
  process.argv.slice(2)
const kinesis = { emulatorUrl, arn, accessKey, secretKey }
const lingerMs = Number(linger)

const { records } = await openRecords(natsUrl)
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
  const sending = put(kinesis, events).then(() => {
    for (const message of done) message.ack()
    underWay.delete(sending)
  })
  underWay.add(sending)
}

for await (const message of records) {
  const now = new Date().toISOString()
  for (const line of message.string().split('\n')) {
    const event = eventOf(line, now)
    entries.push(entryOf(Buffer.from(event).toString('base64'), event.slice(idPlace.start, idPlace.end)))
  }
  messages.push(message)
  const isLast = message.info.pending === 0
  if (entries.length >= eventsMax - 99 || (isLast && lingerMs === 0)) flush()
  else if (lingerMs > 0) lingering ??= setTimeout(flush, lingerMs)
  while (underWay.size >= requestsAtOnce) await Promise.race(underWay)
}
