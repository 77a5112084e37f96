/** Records: as ingress nodes publish them, compressed, and as questions. */
import { gzipSync } from 'node:zlib'
import {
  parseDecisionRequest,
  parseLine,
  parseMessage,
  parseRecord,
} from '../../../src/delivery/record/record.js'
import { encodedRecords, recordBytes } from '../../../src/delivery/record/record-encoding.js'
import { targetReadings } from '../../../src/delivery/record/request-target.js'
import { RequestValues } from '../../../src/delivery/record/request-values.js'
import { withoutSecrets } from '../../../src/delivery/record/secret-values.js'
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { encodingHeader } from '../../../src/delivery/wire/names.js'
import { isObject } from '../../../src/ground/core/json-object.js'
import { inflatedBytesMax } from '../../../src/ground/core/limits.js'
import { parseServedQuestion } from '../../../src/judging/evaluate/unserved.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  type Outcome,
  ofResult,
  read,
  refused,
} from '../engine/parser.js'
import { Random } from '../engine/random.js'

const connection = {
  record_id: 'r-1',
  type: 'tcp_connection',
  conn: {
    client_ip: '203.0.113.7',
    client_port: 52144,
    server_name: 'ssh.us.demo.example',
    server_port: 22,
    start_ts: '2026-11-25T10:00:00.250Z',
    end_ts: '2026-11-25T10:00:03Z',
    bytes_in: 3437,
    bytes_out: 90256,
  },
}

const request = {
  record_id: 'r-2',
  type: 'http_request',
  account_id: 'ac_01M8PS79275V3Z1P34ZQZ8D1GP',
  conn: {
    client_ip: '2001:db8::7',
    server_name: 'www.example.com',
    server_port: 443,
    start_ts: '2026-11-25T10:00:00Z',
  },
  http: {
    request: {
      method: 'GET',
      user_agent: 'curl/8',
      headers: { cookie: ['a=1; b="2"'], 'x-role': ['admin'] },
      url: {
        scheme: 'https',
        host: 'www.example.com',
        path: '/a/b',
        query: 'q=1&r=%41',
        raw: '/a/%62?q=1&r=%41',
      },
    },
    response: { status_code: 200, body_length: 11, headers: { server: ['x'] } },
  },
  tls: {
    version: 'TLSv1.3',
    cipher_suite: 'TLS_AES_128_GCM_SHA256',
    client_cert: { subject: { cn: 'device-1' } },
  },
  basic_auth: { username: 'alice' },
}

const lines = [connection, request].map((record) => JSON.stringify(record))
const words = [
  '"record_id":',
  '"conn":{',
  '"type":"http_request"',
  '"client_ip":"::1"',
  '"headers":{"a":["b"]}',
  '"start_ts":"',
]

const records: FuzzedParser = {
  name: 'records',
  sources: [
    'delivery/record/record.ts',
    'delivery/record/record-pattern.ts',
    'delivery/record/record-shapes.ts',
  ],
  seeds: () => [...lines, lines.join('\n'), `${lines[0]}\r\n\n${lines[0]}\n${lines[1]}\n`, '{}', 'x'],
  words,
  // Each line has a sentence of its own, which shows what is wrong.
  keptPerByte: 200,
  read: (bytes) => {
    const found = parseMessage(bytes).map((line) => {
      const [result, alone] = [parseLine(line), parseRecord(line.bytes)]
      expectSame(result, alone, 'a line is read like a record')
      if (!result.ok) return refused(result.problem.msg)
      const again = parseRecord(Buffer.from(JSON.stringify(result.value)))
      expectSame(again, result, 'a record that is written and read again')
      return result.value
    })
    return read(found)
  },
}

const gunzip = { get: (name: string) => (name === encodingHeader ? 'gzip' : '') }

const compressed: FuzzedParser = {
  name: 'compressed records',
  sources: ['delivery/record/record-encoding.ts'],
  seeds: () => [
    gzipSync(lines.join('\n')),
    gzipSync(`${lines[0]}\n`.repeat(200)),
    gzipSync(Buffer.alloc(1024 * 1024)),
    gzipSync(Buffer.alloc(2 * inflatedBytesMax), { level: 9 }),
    Buffer.concat([gzipSync('a'), gzipSync('b\n'.repeat(200_000))]),
  ],
  made: (seed) => {
    const random = new Random(seed)
    return gzipSync(`${random.oneOf(lines)}\n`.repeat(random.size(2_000)), { level: random.below(10) })
  },
  // What comes of it is bounded.
  keptPerByte: inflatedBytesMax,
  msPerKiB: 60,
  read: async (bytes) => {
    const result = await recordBytes({ data: bytes, headers: gunzip })
    if (!result.ok) return refused(result.problem.msg)
    expectThat(
      result.value.length <= inflatedBytesMax,
      `${result.value.length} bytes came of ${bytes.length}`,
    )
    const { data, headers } = encodedRecords(result.value)
    const again = await recordBytes({ data: Buffer.from(data as Uint8Array), headers: headers && gunzip })
    expectThat(
      again.ok && Buffer.compare(again.value, result.value) === 0,
      'records that are compressed and inflated',
    )
    return read(result.value.length)
  },
}

/** A text that is JSON; others are refused before. */
export function jsonIn(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString()) }
  } catch {
    return undefined
  }
}

function question(bytes: Buffer): Outcome {
  const json = jsonIn(bytes)
  if (json === undefined) return refused('It is not JSON.')
  return ofResult(parseDecisionRequest(json.value))
}

const questions: FuzzedParser = {
  name: 'questions of ingress nodes',
  sources: ['delivery/record/check.ts', 'judging/evaluate/unserved.ts'],
  seeds: () => [
    ...lines,
    JSON.stringify({ ...request, record_id: undefined, explain: true }),
    JSON.stringify({ served_names: [{ type: 'tcp_connection', server_name: 'a.example', server_port: 22 }] }),
  ],
  words: [...words, '"explain":true', '"served_names":['],
  read: (bytes) => {
    const json = jsonIn(bytes)
    if (isObject(json?.value)) parseServedQuestion(json.value)
    return question(bytes)
  },
}

/** Values that policies ask for, and all readings of the target. */
const parts: FuzzedParser = {
  name: 'parts of requests',
  sources: [
    'delivery/record/request-values.ts',
    'delivery/record/request-target.ts',
    'delivery/record/pair-texts.ts',
    'delivery/record/secret-values.ts',
  ],
  seeds: () => [
    '/a/%62?q=1&r=%41&q=2#x',
    '/a//../b;v=1/%2e%2e/c\\d?x=1;y=2',
    'http://u@h:80/%252e?a=b+c&=&&x',
    'a=1; b="2"; a=3',
  ],
  words: ['%2e%2e/', ';', '&', '%25', '=', '%u0041', '+', '/./', '//'],
  bytesMax: 16 * 1024,
  keptPerByte: 400,
  msPerKiB: 30,
  read: (bytes) => {
    const text = bytes.toString()
    const [path = '', query] = text.split('?')
    const headers = { cookie: text.split('\n') }
    const http = { request: { headers, url: { path, query, raw: text } } }
    const values = new RequestValues(http.request as never)
    const readings = targetReadings({ type: 'http_request', http } as unknown as RequestRecord)
    withoutSecrets('http.request.url.query', text)
    return read([
      values.cookies,
      values.parameters,
      values.queries,
      readings?.all,
      values.headers.named('cookie'),
    ])
  },
}

export const recordParsers: readonly FuzzedParser[] = [records, compressed, questions, parts]
