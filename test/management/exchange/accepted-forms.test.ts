/** Which of the offered forms of an answer the headers of a request accept. */
import t from 'tap'
import { acceptedCoding, acceptedType } from '../../../src/management/exchange/accepted-forms.js'

const json = 'application/json'
const ndjson = 'application/x-ndjson'
const csv = 'text/csv'

t.test('a media type: of JSON, NDJSON and CSV', (t) => {
  const cases: [string | undefined, string][] = [
    [undefined, json],
    ['', json],
    ['*/*', json],
    ['application/json', json],
    ['text/csv', csv],
    ['Text/CSV; charset=utf-8', csv],
    ['application/x-ndjson', ndjson],
    ['text/*', csv],
    ['application/*', json],
    ['text/csv, */*', csv],
    ['text/csv, */*;q=0.1', csv],
    ['text/csv;q=0.5, application/json', json],
    ['application/json;q=0.5, application/x-ndjson;q=0.8, text/csv;q=0.7', ndjson],
    ['text/csv, application/json', json],
    ['text/csv;q=0', json],
    ['application/json;q=0, */*', ndjson],
    ['image/png', json],
    ['text/html,application/xhtml+xml,*/*;q=0.8', json],
    ['text/csv;q=nothing', csv],
    [';;,,', json],
  ]
  for (const [accept, type] of cases)
    t.equal(acceptedType(accept, [json, ndjson, csv]), type, accept ?? 'none')
  t.end()
})

t.test('a coding: of Brotli and gzip', (t) => {
  const cases: [string | string[] | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['BR', 'br'],
    ['gzip;q=1.0, br; q=0', 'gzip'],
    ['gzip;q=0, identity', undefined],
    ['gzip;q=0.000', undefined],
    ['x-gzip', undefined],
    [['deflate', 'gzip'], 'gzip'],
  ]
  for (const [header, coding] of cases)
    t.equal(acceptedCoding(header, ['br', 'gzip']), coding, String(header))
  t.end()
})
