/** URLs of abuse reports, and the hostnames and status that follow from them. */
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { abuseReport } from '../../../src/words/resource/abuse-report.js'
import { tools } from './lookups.js'

t.test('URLs that are taken', async (t) => {
  const check = compileCheck(abuseReport.fields.urls.schema)
  const taken = [
    'http://a.example',
    'HTTPS://A.example/x?y#z',
    'http://192.0.2.1:8080/',
    'http://bücher.example/',
  ]
  for (const url of taken) t.equal(check([url], 'urls'), undefined, url)
  const refused = [
    '',
    'a.example',
    'ftp://a.example',
    'javascript:alert(1)',
    'http://',
    'http://a.example/x y',
    'http://a.example/\n',
  ]
  for (const url of refused) t.type(check([url], 'urls'), 'string', JSON.stringify(url))
})

type Status = 'PENDING' | 'BANNED' | 'UNBANNED' | 'IGNORE'

const derived = (urls: readonly string[], statuses?: readonly Status[]) => {
  const hostnames = statuses?.map((status, index) => ({ hostname: `${index}.example`, status }))
  const draft = { urls, hostnames } as never
  return abuseReport.derive?.(draft, statuses && draft, tools)
}

t.test('a new report has each hostname once, in the order of the URLs', async (t) => {
  const urls = ['http://B.example/1', 'https://a.example', 'http://b.example:81/2', 'http://bücher.example']
  const report = derived(urls)
  t.strictSame(
    report?.hostnames.map(({ hostname }) => hostname),
    ['b.example', 'a.example', 'xn--bcher-kva.example'],
  )
  t.equal(report?.status, 'PENDING')
})

t.test('the status follows from the decisions', async (t) => {
  const cases: [statuses: Status[], status: string][] = [
    [['PENDING', 'PENDING'], 'PENDING'],
    [['BANNED', 'PENDING'], 'PARTIALLY_PROCESSED'],
    [['PENDING', 'IGNORE'], 'PARTIALLY_PROCESSED'],
    [['BANNED', 'UNBANNED', 'IGNORE'], 'PROCESSED'],
  ]
  for (const [statuses, status] of cases) t.equal(derived([], statuses)?.status, status, statuses.join())
})
