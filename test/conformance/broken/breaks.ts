/** Promises of the API and of the port for proxies, broken on purpose: by which number each must be found, and how. */
import {
  type BrokenPromise,
  inAnswer,
  inBody,
  inLists,
  inPath,
  inText,
  oneKey,
  status,
  withHeader,
  withoutHeader,
} from './break-forms.js'
import { eventBreaks } from './event-breaks.js'

let turn = 0

/** `mainKey`: the key of the run, with which a break can answer for every other. */
export const breaksOf = (mainKey: string): readonly BrokenPromise[] => [
  ...eventBreaks,
  { number: 101, name: 'a missing WWW-Authenticate', by: withoutHeader('www-authenticate') },
  {
    number: 102,
    name: 'a request without a version that is taken',
    by: withHeader('service-version', '2'),
  },
  { number: 103, name: 'another order of checks', by: status(401, 404) },
  { number: 104, name: 'another status for a wrong method', by: status(404, 405) },
  { number: 105, name: 'a content type that is taken', by: status(415, 201) },
  {
    number: 107,
    name: 'a message without the culprit',
    by: inText(/\\"descripton\\"/g, 'a field'),
  },
  { number: 108, name: 'an unknown parameter that is taken', by: inPath(/\?limt=3/, '') },
  {
    number: 110,
    name: 'NUL that is taken',
    by: inBody('\\u0000', ''),
  },
  { number: 115, name: 'a lost member of errors', by: inAnswer(({ details: _, ...body }) => body) },
  { number: 116, name: 'an operation id of another request', by: withoutHeader('operation-id') },
  { number: 119, name: 'a changed error code', by: inText(/ERR_NOT_FOUND/g, 'ERR_UNKNOWN') },
  { number: 201, name: 'a wrong status of creations', by: status(201, 200) },
  { number: 203, name: 'times with milliseconds', by: inText(/(\d\d:\d\d:\d\d)Z/g, '$1.000Z') },
  {
    number: 205,
    name: 'a field that is not cleared',
    by: inBody('{"metadata":""}', '{}'),
  },
  {
    number: 206,
    name: 'a module that is disabled by default',
    by: inText(/"enabled":true/g, '"enabled":false'),
  },
  { number: 302, name: 'a character that is taken', by: status(400, 201) },
  {
    number: 310,
    name: 'a secret that is shown',
    by: inText(/"token":null/g, '"token":"hush-hush"'),
  },
  { number: 312, name: 'a name of another account that is taken', by: status(409, 201) },
  { number: 401, name: 'pages in another order', by: inLists((list) => list.toReversed()) },
  {
    number: 402,
    name: 'a next page that is not absolute',
    by: inText(/"next_page_uri":"https?:\/\/[^/]+/g, '"next_page_uri":"'),
  },
  {
    number: 403,
    name: 'an entry that comes twice',
    by: inLists((list, { path }) => (path.includes('before_id') ? [...list.slice(0, 1), ...list] : list)),
  },
  {
    number: 404,
    name: 'an order that is not stable',
    by: inLists((list) => {
      turn += 1
      return turn % 2 === 0 ? list : list.toReversed()
    }),
  },
  { number: 406, name: 'a limit beyond the bound', by: inPath(/limit=101/, 'limit=100') },
  { number: 407, name: 'a filter without effect', by: inPath(/&filter=[^&]*/, '') },
  {
    number: 501,
    name: 'a token that is shown again',
    by: inText(/"token":null/g, '"token":"weir_shown"'),
  },
  { number: 502, name: 'a right that is not asked for', by: oneKey(mainKey) },
  { number: 506, name: 'a body that is read before the right', by: status(403, 400) },
  { number: 508, name: 'a deleted key that goes on', by: oneKey(mainKey) },
  { number: 511, name: 'an id of another account that is readable', by: oneKey(mainKey) },
  { number: 601, name: 'a rehearsal that writes', by: inPath(/\?validate_only=true/, '') },
  {
    number: 602,
    name: 'a repeated idempotency key that is done twice',
    by: withHeader('idempotency-key', undefined),
  },
  {
    number: 606,
    name: 'a refused batch without the place',
    by: inText(/requests\[1\]/g, 'requests'),
  },
  { number: 607, name: 'a batch that overwrites', by: status(409, 200) },
  { number: 608, name: 'a wrong count', by: inText(/"removed":1/g, '"removed":0') },
  { number: 610, name: 'a lost change', by: inLists((list) => list.slice(1)) },
  { number: 613, name: 'a missing Retry-After', by: withoutHeader('retry-after') },
  {
    number: 701,
    name: 'a blocked address that is let in',
    by: inText(/"decision":"block"/g, '"decision":"allow"'),
  },
  {
    number: 705,
    name: 'a missing shadow',
    by: inText(/"decision":"block"/g, '"decision":"allow"'),
  },
  {
    number: 711,
    name: 'a name without an edge that is let in',
    by: inText(/"decision":"deny"/g, '"decision":"allow"'),
  },
  {
    number: 712,
    name: 'another rule than the one that decided',
    by: inText(/"won":true/g, '"won":false'),
  },
  {
    number: 804,
    name: 'a disguised path that gets by',
    by: inAnswer((body, _, { body: asked }) =>
      asked.includes('%2f') ? { ...body, decision: 'allow' } : body,
    ),
  },
  {
    number: 806,
    name: 'a second value that gets by',
    by: inAnswer((body, _, { body: asked }) =>
      asked.includes('admin') ? { ...body, decision: 'allow' } : body,
    ),
  },
  {
    number: 901,
    name: 'another result of an operator',
    by: inBody('conn.client_port % 2', 'conn.client_port % 5'),
  },
  { number: 906, name: 'mixed operators that are taken', by: status(400, 201) },
  { number: 1001, name: 'another line than the wrong one', by: inText(/"line":3/g, '"line":2') },
  {
    number: 1004,
    name: 'a filter of the log without effect',
    by: inPath(/client=203\.0\.113\.21&/, ''),
  },
  { number: 1101, name: 'records that are not counted', by: inText(/"stored":5/g, '"stored":4') },
  { number: 1501, name: 'a denied request that is served', at: 'decide', by: status(403, 200) },
  { number: 1502, name: 'a missing decision', at: 'decide', by: withoutHeader('weir-decision') },
  {
    number: 1504,
    name: 'an ambiguous question that is answered',
    at: 'decide',
    by: status(400, 204),
  },
  { number: 1505, name: 'a key that is not asked for', at: 'decide', by: status(401, 200) },
  {
    number: 1702,
    name: 'a renamed metric',
    by: inText(/weir_records_in_total/g, 'weir_records_total'),
  },
  {
    number: 1703,
    name: 'books that do not balance',
    by: inText(/^(weir_records_in_total) \d+$/gm, '$1 1'),
  },
  { number: 1705, name: 'another default field', by: inText(/"default":true/g, '"default":false') },
  {
    number: 1706,
    name: 'a state without a meaning',
    by: inText(/"state":"(ok|attention|failing)"/g, '"state":"fine"'),
  },
]
