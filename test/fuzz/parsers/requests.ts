/** Targets and headers of requests, and bodies of the API. */
import { requestParts, targetOf } from '../../../src/delivery/ingest/lines/request-line.js'
import { jsonNestingMax } from '../../../src/ground/core/limits.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { outlineOf } from '../../../src/ground/core/text/json-nesting.js'
import { placeIn, syntaxErrorIndex } from '../../../src/ground/core/text/json-place.js'
import { readingsOfUri, splitHost, splitUri } from '../../../src/ground/core/text/request-target.js'
import { callerAddress, loginSource, trustOf } from '../../../src/management/access/caller.js'
import { headersIn, recordOfProxy } from '../../../src/management/decide/forwarded-request.js'
import { parseJsonBody } from '../../../src/management/exchange/body/json-body.js'
import { parseLargeBody } from '../../../src/management/exchange/body/large-body.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  type Outcome,
  ofResult,
  read,
  refused,
  refusedAt,
  tried,
  triedLater,
} from '../engine/parser.js'
import { jsonIn } from './records.js'

const targets: FuzzedParser = {
  name: 'targets of requests',
  sources: [
    'ground/core/text/request-target.ts',
    'ground/core/text/target-readings.ts',
    'delivery/ingest/lines/request-line.ts',
  ],
  seeds: () => [
    '/a/b?c=d#e',
    'https://user:pw@www.example.com:8443/a/%2e%2e/b;c=1//d?q',
    'GET /a%2fb/../c HTTP/1.1',
    '//host/a\\b/%u0041%c0%af/.%2e/%252e/',
    '*',
    'a://h@\tb@ c\nd',
  ],
  words: [
    '%2e',
    '%2f',
    '%25',
    '%u002f',
    '%c0%af',
    '%e0%80%af',
    '\\',
    ';',
    '/../',
    '/./',
    '//',
    '@',
    '\t',
    '://',
    '?',
    '#',
    ' HTTP/1.1',
  ],
  // Longer ones fit no record.
  bytesMax: 64 * 1024,
  keptPerByte: 200,
  msPerKiB: 15,
  read: (bytes) => {
    const text = bytes.toString()
    const target = splitUri(text)
    const { all } = readingsOfUri(text)
    expectThat(all.length > 0, 'a target has a reading')
    splitHost(text)
    const { method, uri } = requestParts(text)
    targetOf({ method, uri })
    targetOf({ path: text, query: 'q' })
    return read([target, all.map(({ path }) => path)])
  },
}

const head = [
  'Host: www.example.com',
  'X-Forwarded-For: 198.51.100.1, [2001:db8::1]:443',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Host: a.example:8443',
  'X-Forwarded-Uri: /a?b',
  'X-Request-Id: r-1',
]

const isTrusted = trustOf(['10.0.0.0/8', '::1/128'])

/** A line for each header, as a proxy sends them to the decision port; the first one is the target. */
const forwarded: FuzzedParser = {
  name: 'headers of proxies',
  sources: [
    'management/decide/forwarded-request.ts',
    'management/access/caller.ts',
    'management/http/caller/headers.ts',
  ],
  seeds: () => [
    `\n${head.join('\n')}`,
    `/a?b\nHost: h\nX-Forwarded-For: 1.2.3.4`,
    `\nhost: a.example:1:2\nX-FORWARDED-FOR: 10.0.0.1,10.0.0.2`,
  ],
  words: [
    '\nX-Forwarded-For: ',
    '\nX-Original-URI: ',
    '\nX-Forwarded-Method: ',
    '\nconstructor: ',
    ', ',
    '[::',
    ':',
    '10.0.0.1',
    '\nHost: ',
  ],
  // Node takes no longer heads.
  bytesMax: 16 * 1024,
  msPerKiB: 15,
  read: (bytes) => {
    const [appendedUri = '', ...lines] = bytes.toString('latin1').split('\n')
    const raw = lines.flatMap((line) => [line.split(':', 1)[0]!, line.slice(line.indexOf(':') + 1).trim()])
    const request = {
      method: 'GET',
      headers: headersIn(raw),
      keyHeaders: ['authorization'],
      peer: '10.0.0.1',
      type: undefined,
      edgeId: undefined,
    }
    for (const address of lines) loginSource(callerAddress(address))
    return ofResult(recordOfProxy({ ...request, appendedUri }, 'ac_1', isTrusted, callerAddress))
  },
}

const body = JSON.stringify({
  hostports: ['www.example.com:443'],
  description: 'x \u00e9',
  policies: {
    inbound: [{ name: 'a', expressions: ['conn.server_port == 22'], actions: [{ type: 'deny' }] }],
  },
  rules: [{ cidr: '203.0.113.0/24', expires_at: null }, { cidr: '::/0' }],
})

const slices = new Slices()
const smallPiece = 64

/** A fault of the syntax says at which character; a repeated key or a number is named. */
const placed =
  /at character (\d+)|has the (?:key|text|number) |nested more than|too many members|not valid UTF-8|more than \d+ elements/

async function bodyIn(bytes: Buffer): Promise<Outcome> {
  const small = tried(() => parseJsonBody(bytes))
  const large = await triedLater(() => parseLargeBody(bytes, slices, smallPiece))
  if ('value' in small) {
    expectSame(large, small, 'a body that is read in pieces')
    const again = tried(() => parseJsonBody(Buffer.from(JSON.stringify(small.value) ?? '')))
    // -0 is written as 0.
    if (!bytes.includes('-0')) expectSame(again, small, 'a body that is written and read again')
    return small
  }
  expectThat('refused' in large, 'a body that is refused is refused in pieces')
  const [, character] = placed.exec(small.refused) ?? []
  expectThat(placed.test(small.refused), `a refusal has no place: ${small.refused.slice(0, 200)}`)
  return character === undefined ? small : refusedAt(small.refused, Number(character) - 1, bytes)
}

const bodies: FuzzedParser = {
  name: 'bodies of requests',
  sources: [
    'management/exchange/body/json-body.ts',
    'management/exchange/body/large-body.ts',
    'ground/core/text/json-nesting.ts',
  ],
  seeds: () => [
    body,
    '{"a":1,"a":2}',
    '[1e400,-0,12345678901234567890]',
    '{"a":"\\ud800"}',
    '\uFEFF{}',
    '[[1,2],{"b":[3,4]},"\\u0000"]',
    ' ',
  ],
  words: [
    '"rules":[',
    ',"__proto__":{}',
    '\\ud83d\\ude00',
    '\\ud800',
    '9007199254740993',
    '1e400',
    '//x\n',
    ',]',
    '\t',
  ],
  msPerKiB: 15,
  read: bodyIn,
}

const json: FuzzedParser = {
  name: 'places in JSON',
  sources: ['ground/core/text/json-place.ts'],
  seeds: () => [body, '{"a":{"b":[1,{"c":null}]}}', '"a\\u0041\\n"', '[1.5e+3,-0,true]'],
  words: ['\\u', '\\', '01', '1.', '-', '.5', 'tru', ',', '[', '{"a":'],
  msPerKiB: 15,
  read: (bytes) => {
    const text = bytes.toString()
    const index = syntaxErrorIndex(text)
    placeIn(text, ['a', 'b', '1'])
    const isJson = jsonIn(bytes) !== undefined
    // Deeper text has no places.
    if (outlineOf(text).isTooDeep) return refused(`It is nested more than ${jsonNestingMax} deep.`)
    expectSame(index === undefined, isJson, `the text stops being JSON at ${index}`)
    return index === undefined ? read(text.length) : refusedAt('It is not JSON.', index, bytes)
  },
}

export const requestParsers: readonly FuzzedParser[] = [targets, forwarded, bodies, json]
