/** The forms of a request's body, and what some servers say about single events in their answers. */
import { isoMillis } from '../../../ground/core/clock.js'
import type { FaultClass } from '../../outgoing/fault-class.js'
import type { Hide } from '../../outgoing/hidden-secrets.js'
import type { HttpAnswer } from '../../outgoing/http-client.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import type { BatchLimits, SendOutcome } from '../kind/sender.js'
import { outcomeOfBulk } from './bulk-answer.js'

export interface BodyFormat {
  readonly about: string
  readonly contentType: string
  /** The bounds of a request of this form. */
  readonly limits?: Partial<BatchLimits>
  write(events: readonly PackedEvent[], labels: Readonly<Record<string, string>>): Buffer
  /** How much of an answer must be read at most to know what became of each of so many events. */
  readonly answerBytes?: (events: number) => number
  /** The outcome of each event in a successful answer; absent if it accepts them all. */
  readonly outcomeOf?: (answer: HttpAnswer, events: number, hide: Hide) => SendOutcome
  /** The class of a refusal that means something else here than in general. */
  readonly classOf?: (answer: HttpAnswer) => FaultClass | undefined
}

interface Frame {
  readonly begin?: string
  readonly before?: (event: PackedEvent) => string
  /** The text before an event opens its object: a comma replaces the brace. */
  readonly opensObject?: true
  readonly after?: string
  readonly separator?: string
  readonly end?: string
}

const comma = 0x2c

/** The events' JSON, in order, with texts around each. */
function framed(events: readonly PackedEvent[], frame: Frame): Buffer {
  const { begin = '', before = () => '', opensObject, after = '', separator = '', end = '' } = frame
  const texts = events.map(before)
  // Each event has a line feed at its end, which is not written.
  const eventBytes = events.reduce(
    (sum, { dataBytes }) => sum + dataBytes + after.length + separator.length,
    0,
  )
  const textBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const body = Buffer.allocUnsafe(begin.length + eventBytes + textBytes + end.length)
  let position = body.write(begin)
  for (const [index, event] of events.entries()) {
    if (index > 0) position += body.write(separator, position)
    const start = position + body.write(texts[index]!, position)
    position = event.writeData(body, start) - 1
    if (opensObject) body[start] = comma
    position += body.write(after, position)
  }
  position += body.write(end, position)
  return body.subarray(0, position)
}

/** A 2xx of a server that answers per event; its items are some 200 bytes each, and much more with some errors. */
const bulkAnswerBytes = (events: number): number => (64 + 2 * events) * 1024

const jsonType = 'application/json'
const linesType = 'application/x-ndjson'

const defaultLabels = { service_name: 'weir' }

/** Codes of Splunk's answers that are about the token or the URL, not about an event. */
const splunkSetupCodes = [7, 10, 11, 14, 16]

const formats = {
  ndjson: {
    about: 'a line of JSON per event',
    contentType: linesType,
    write: (events) => framed(events, { after: '\n' }),
  },
  array: {
    about: 'a JSON array of events',
    contentType: jsonType,
    write: (events) => framed(events, { begin: '[', separator: ',', end: ']' }),
  },
  single: {
    about: 'one event per request',
    contentType: jsonType,
    limits: { eventsMax: 1 },
    write: (events) => framed(events, {}),
  },
  elasticsearch: {
    about: 'the bulk API of Elasticsearch and OpenSearch: `create` by the id of the event, with `@timestamp`',
    contentType: linesType,
    limits: { sizeOf: ({ dataBytes }) => dataBytes + 128 },
    write: (events) =>
      framed(events, {
        before: ({ id, timestampMs }) =>
          `{"create":{"_id":${JSON.stringify(id)}}}\n{"@timestamp":"${isoMillis(timestampMs)}"`,
        opensObject: true,
        after: '\n',
      }),
    answerBytes: bulkAnswerBytes,
    outcomeOf: outcomeOfBulk,
  },
  splunk: {
    about: "`event` and `time` of Splunk's HTTP Event Collector",
    contentType: jsonType,
    limits: { sizeOf: ({ dataBytes }) => dataBytes + 64 },
    write: (events) =>
      framed(events, {
        before: ({ timestampMs }) => `{"time":${timestampMs / 1000},"event":`,
        after: '}',
        separator: '\n',
      }),
    classOf: ({ body }) => (isSplunkSetup(body) ? 'configuration' : undefined),
  },
  loki: {
    about: 'the push API of Grafana Loki: one stream with `labels`',
    contentType: jsonType,
    // A JSON text within JSON: quotes and backslashes become two characters.
    limits: { sizeOf: ({ dataBytes }) => 2 * dataBytes + 64 },
    write: (events, labels) => {
      const values = events.map(({ timestampMs, data }) => [`${timestampMs}000000`, jsonText(data)])
      const stream = Object.keys(labels).length === 0 ? defaultLabels : labels
      return Buffer.from(JSON.stringify({ streams: [{ stream, values }] }))
    },
  },
} satisfies Readonly<Record<string, BodyFormat>>

export const bodyFormats: Readonly<Record<keyof typeof formats, BodyFormat>> = formats

export const bodyFormatNames = Object.keys(formats) as (keyof typeof formats)[]

const jsonText = (data: Buffer): string => data.toString('utf8', 0, data.length - 1)

function isSplunkSetup(body: Buffer): boolean {
  const [, code = ''] = /"code"\s*:\s*(\d+)/.exec(body.toString('latin1')) ?? []
  return splunkSetupCodes.includes(Number(code))
}
