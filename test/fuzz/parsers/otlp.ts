/** Log records of OpenTelemetry, in both encodings. */
import { createFileRegistry, fromBinary, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { otlpDescriptors } from '../../../src/delivery/ingest/otlp/descriptors.js'
import { logsInJson, withExactIntegers } from '../../../src/delivery/ingest/otlp/json-request.js'
import { type OtlpLog, recordOfLog } from '../../../src/delivery/ingest/otlp/log-records.js'
import { logsIn } from '../../../src/delivery/ingest/otlp/messages.js'
import { otlpJsonValuesMax } from '../../../src/delivery/ingest/otlp/otlp-bounds.js'
import { recordLinesMax } from '../../../src/ground/core/limits.js'
import { outlineOf } from '../../../src/ground/core/text/json-nesting.js'
import {
  Broken,
  expectSame,
  type FuzzedParser,
  type Outcome,
  read,
  refused,
  tried,
} from '../engine/parser.js'
import { jsonIn } from './records.js'

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, otlpDescriptors))
const requestSchema = registry.getMessage('opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest')!
const encoded = (request: object): Buffer =>
  Buffer.from(toBinary(requestSchema, fromJson(requestSchema, request as JsonValue)))

const attributes = Object.entries({
  'client.address': { stringValue: '192.0.2.1' },
  'client.port': { intValue: '52144' },
  'url.full': { stringValue: 'https://www.example.com/a?b=c' },
  'http.request.method': { stringValue: 'GET' },
  'http.response.status_code': { doubleValue: 200 },
  'http.request.header.x-role': { arrayValue: { values: [{ stringValue: 'admin' }, { boolValue: true }] } },
  'tls.protocol.version': { stringValue: '1.3' },
}).map(([key, value]) => ({ key, value }))

const requests = [
  {
    resourceLogs: [
      {
        resource: { attributes: attributes.slice(0, 2) },
        scopeLogs: [{ logRecords: [{ timeUnixNano: '1764064800000000000', attributes }] }],
      },
    ],
  },
  {
    resourceLogs: [
      {
        scopeLogs: [
          { scope: { attributes }, logRecords: [{ observedTimeUnixNano: '1', attributes }, {}] },
          {},
        ],
      },
      {},
    ],
  },
]

/** Faults of a request are errors of the decoders, whose message is answered. */
function logsOrRefusal(work: () => readonly OtlpLog[]): readonly OtlpLog[] | Outcome {
  try {
    return work()
  } catch (error) {
    return refusalOf(error)
  }
}

/** A fault of the program is none of the request. */
function refusalOf(error: unknown): Outcome {
  const isText = (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
  if (error instanceof Broken || (error instanceof TypeError && !isText) || !(error instanceof Error))
    throw error
  if (error instanceof RangeError && /call stack/.test(error.message)) throw error
  return refused(error.message === '' ? 'It is cut.' : error.message.slice(0, 500))
}

function recordsOf(logs: readonly OtlpLog[] | Outcome): Outcome {
  if (!Array.isArray(logs)) return logs as Outcome
  return read(
    (logs as readonly OtlpLog[]).map((log) => {
      try {
        return recordOfLog(log)
      } catch (error) {
        return refusalOf(error)
      }
    }),
  )
}

const protobuf: FuzzedParser = {
  name: 'OTLP in protobuf',
  sources: ['delivery/ingest/otlp/messages.ts', 'delivery/ingest/otlp/log-records.ts'],
  seeds: () => requests.map(encoded),
  // Two bytes are a log record, of which a sentence says what it lacks.
  keptPerByte: 600,
  msPerKiB: 30,
  read: (bytes) => recordsOf(logsOrRefusal(() => logsIn(bytes, recordLinesMax))),
}

/** As the API reads it. */
const json: FuzzedParser = {
  name: 'OTLP in JSON',
  sources: ['delivery/ingest/otlp/json-request.ts'],
  seeds: () => requests.map((request) => JSON.stringify(request)),
  words: [
    '"timeUnixNano":',
    '1.7640648e18',
    '"attributes":[',
    '"arrayValue":{"values":[',
    '"intValue":',
    '"log_records":',
  ],
  keptPerByte: 600,
  msPerKiB: 30,
  read: (bytes) => {
    const text = bytes.toString()
    const { isTooDeep, containers } = outlineOf(text)
    if (isTooDeep || containers > otlpJsonValuesMax) return refused('It is nested too deep, or too large.')
    const plain = jsonIn(bytes)
    const exact = tried(() => JSON.parse(withExactIntegers(text)), SyntaxError)
    if (plain === undefined || 'refused' in exact) {
      expectSame(plain === undefined, 'refused' in exact, 'a text is JSON with exact integers if it is JSON')
      return refused('It is not JSON.')
    }
    return recordsOf(logsOrRefusal(() => logsInJson(exact.value)))
  },
}

export const otlpParsers: readonly FuzzedParser[] = [protobuf, json]
