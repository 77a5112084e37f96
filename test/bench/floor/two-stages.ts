/**
 * As `end-to-end.ts`, but with Weir's promise: events are stored before their records are acknowledged, so that neither a
 * stop of Kinesis nor of the program loses one. The events of a request become a message of a second stream, which is
 * removed when Kinesis has them. The difference between both programs is what the promise costs at least.
 *
 *     node two-stages.js NATS EMULATOR ARN ACCESS_KEY SECRET_KEY
 */
import { type JsMsg, RetentionPolicy } from '@nats-io/jetstream'
import { eventOf, idPlace } from './events.js'
import { entryOf, eventsMax, put, requestsAtOnce } from './kinesis.js'
import { openRecords, openStream } from './records.js'

const [natsUrl = '', emulatorUrl = '', arn = '', accessKey = '', secretKey = ''] = process.argv.slice(2)
const kinesis = { emulatorUrl, arn, accessKey, secretKey }
const subject = 'packs'
const packsAtOnce = 8

const input = await openRecords(natsUrl)
const packs = await openStream(input, { name: 'PACKS', subject, retention: RetentionPolicy.Workqueue })

/** At most so many at once. */
class UnderWay {
  readonly #work = new Set<Promise<void>>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  async add(work: Promise<void>): Promise<void> {
    const ending = work.then(() => void this.#work.delete(ending))
    this.#work.add(ending)
    while (this.#work.size >= this.#max) await Promise.race(this.#work)
  }
}

async function store(events: string, messages: readonly JsMsg[]): Promise<void> {
  await input.client.publish(subject, events)
  for (const message of messages) message.ack()
}

async function makeEvents(): Promise<void> {
  const storing = new UnderWay(packsAtOnce)
  let events = ''
  let count = 0
  let messages: JsMsg[] = []
  for await (const message of input.records) {
    const now = new Date().toISOString()
    for (const line of message.string().split('\n')) {
      events += eventOf(line, now)
      count += 1
    }
    messages.push(message)
    if (count < eventsMax - 99 && message.info.pending > 0) continue
    await storing.add(store(events, messages))
    events = ''
    count = 0
    messages = []
  }
}

const lineFeed = 10

function entriesOf(pack: Buffer): string[] {
  const entries: string[] = []
  for (let at = 0; at < pack.length; ) {
    const end = pack.indexOf(lineFeed, at) + 1
    entries.push(
      entryOf(
        pack.toString('base64', at, end),
        pack.toString('latin1', at + idPlace.start, at + idPlace.end),
      ),
    )
    at = end
  }
  return entries
}

async function deliver(pack: JsMsg): Promise<void> {
  const { buffer, byteOffset, length } = pack.data
  await put(kinesis, entriesOf(Buffer.from(buffer, byteOffset, length)))
  pack.ack()
}

async function deliverEvents(): Promise<void> {
  const sending = new UnderWay(requestsAtOnce)
  for await (const pack of packs) await sending.add(deliver(pack))
}

console.log('ready')
await Promise.all([makeEvents(), deliverEvents()])
