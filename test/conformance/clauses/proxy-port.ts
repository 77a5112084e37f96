/** The port at which proxies ask before they serve a request. */
import { type Answer, NotChecked } from '../answer.js'
import type { Chapter } from '../clause.js'
import { deny, http, tcp } from '../questions.js'
import type { Visit } from '../visit.js'

/** An edge of a site with a policy, once the port knows it. */
async function openSite(visit: Visit): Promise<string> {
  const host = visit.host('site')
  const inbound = [
    { name: 'no admin', expressions: ["http.request.url.path.startsWith('/admin')"], actions: [deny] },
  ]
  await visit.make('/edges/https', { hostports: [`${host}:443`], policies: { inbound } })
  await visit.within(2, 'the port serves the name', async () => {
    const answer = await visit.proxyPort.post('/decide', http(host, '/'))
    return answer.status === 200 ? answer : undefined
  })
  return host
}

/** What a proxy asks. A port that takes this machine for no proxy can't be asked so. */
async function asProxy(
  { proxyPort }: Visit,
  host: string,
  uri: string,
  more: Record<string, string | undefined> = {},
  path = '',
): Promise<Answer> {
  const headers = {
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': host,
    'x-forwarded-uri': uri,
    ...more,
  }
  const answer = await proxyPort.get(`/decide/auth_request${path}`, { headers })
  if (answer.status === 400 && /WEIR_TRUST_PROXY|not a trusted proxy/.test(answer.text))
    throw new NotChecked('the deployment does not take this machine for a proxy (WEIR_TRUST_PROXY)')
  return answer
}

const same = (answer: Answer, decision: string, by: string): Answer =>
  answer
    .same(answer.header('weir-decision'), decision, 'Weir-Decision')
    .must(answer.header('weir-decided-by').startsWith(by), `Weir-Decided-By begins with ${by}`)

export const proxyPort: Chapter = {
  title: 'The port for proxies',
  clauses: [
    {
      number: 1501,
      page: 'proxies.md#ask',
      says: '`POST /decide` is answered 200 if the decision is allow, else 403, with `Weir-Decision` and `Weir-Decided-By`.',
      needs: ['writes', 'decide'],
      check: async (visit) => {
        const host = await visit.once(openSite)
        same((await visit.proxyPort.post('/decide', http(host, '/'))).is(200), 'allow', 'none')
        same(
          (await visit.proxyPort.post('/decide', http(host, '/admin/x'))).is(403),
          'deny',
          'traffic_policy;',
        )
      },
    },
    {
      number: 1502,
      page: 'proxies.md#ask',
      says: '`/decide/auth_request` is answered 204 or 403 without a body, as the headers of the proxy say.',
      needs: ['writes', 'decide'],
      check: async (visit) => {
        const host = await visit.once(openSite)
        const allowed = same((await asProxy(visit, host, '/page?x=1')).is(204), 'allow', 'none')
        const denied = same((await asProxy(visit, host, '/admin')).is(403), 'deny', 'traffic_policy;')
        allowed.same(allowed.text, '', 'the body')
        denied.same(denied.text, '', 'the body')
      },
    },
    {
      number: 1503,
      page: 'proxies.md#names-that-no-edge-serves',
      says: 'A name that no edge of the account serves, on this port, is denied there, unless `unserved=allow` is asked.',
      needs: ['writes', 'decide'],
      check: async (visit) => {
        const question = tcp(visit.host('nowhere'))
        same((await visit.proxyPort.post('/decide', question)).is(403), 'deny', 'unserved')
        const allowed = await visit.proxyPort.post('/decide?unserved=allow', question)
        allowed.must(allowed.header('weir-decision') !== 'deny', 'no deny')
      },
    },
    {
      number: 1504,
      page: 'proxies.md#ask',
      says: 'A question that may be about another request than the one that is served is answered 400, with the reason.',
      needs: ['writes', 'decide'],
      check: async (visit) => {
        const host = await visit.once(openSite)
        const cases: readonly (readonly [Record<string, string | undefined>, string, string])[] = [
          [{ 'x-original-uri': '/other' }, '', 'X-Original-URI'],
          [{}, '/a/b', 'X-Forwarded'],
          [{ 'x-forwarded-host': 'a.example,b.example' }, '', 'X-Forwarded-Host'],
          [{ 'x-forwarded-host': 'a.example:1:2' }, '', 'a.example'],
        ]
        for (const [headers, path, named] of cases)
          (await asProxy(visit, host, '/page', headers, path)).refused(400, 'ERR_INVALID_REQUEST', named)
      },
    },
    {
      number: 1505,
      page: 'proxies.md#who-may-ask',
      says: 'A key with the right `decide` is needed, as `Weir-Key` or `Authorization`; one without it is refused.',
      needs: ['writes', 'decide'],
      check: async (visit) => {
        const host = await visit.once(openSite)
        const question = http(host, '/')
        const without = { authorization: undefined }
        ;(await visit.proxyPort.post('/decide', question, { headers: without })).is(401)
        ;(
          await visit.proxyPort.post('/decide', question, {
            headers: { authorization: 'Bearer weir_nobody' },
          })
        ).is(401)
        const { token } = await visit.makeKey('decide')
        const { token: other } = await visit.makeKey('read')
        await visit.within(2, 'the port knows the keys', async () => {
          const answer = await visit.proxyPort.post('/decide', question, {
            headers: { ...without, 'weir-key': token },
          })
          return answer.status === 200 ? answer : undefined
        })
        await visit.within(2, '403 for a key without the right', async () => {
          const answer = await visit.proxyPort.post('/decide', question, {
            headers: { ...without, 'weir-key': other },
          })
          return answer.status === 403 && answer.body.error_code === 'ERR_FORBIDDEN' ? answer : undefined
        })
      },
    },
  ],
}
