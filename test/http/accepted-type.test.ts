/** Which of the offered media types a header `Accept` prefers. */
import t from 'tap'
import { acceptedType } from '../../src/api/decision-export.js'

const json = 'application/json'
const ndjson = 'application/x-ndjson'
const csv = 'text/csv'

t.test('of JSON, NDJSON and CSV', (t) => {
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
