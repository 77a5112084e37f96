/** An account as a file: what differs by signs alone keeps names of its own. */
import t from 'tap'
import type { Live } from '../../../src/outside/as-code/account-state.js'
import { exported } from '../../../src/outside/as-code/export.js'
import { givenFields, givenOf } from '../../../src/outside/as-code/given.js'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'

const kind = managedKinds.find(({ name }) => name === 'eventDestination')!

function destination(id: string, description: string): Live {
  const shown = {
    id,
    description,
    target: { http: { url: 'https://example.com/', auth: { bearer: { token: null } } } },
  }
  const body = givenOf(givenFields(kind.resource), shown)
  return { kind, id, shown, body, rules: [], routes: [], entries: undefined }
}

t.test('each secret has a variable of its own', async (t) => {
  const text = exported(new Map([[kind, [destination('ed_1', 'a.b'), destination('ed_2', 'a:b')]]]))
  const variables = [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => name)
  const name = 'EVENT_DESTINATIONS_A_B_TARGET_HTTP_AUTH_BEARER_TOKEN'
  t.same(variables, [name, `${name}_2`])
})

const kindOf = (name: string) => managedKinds.find((each) => each.name === name)!

function liveOf(name: string, id: string, shown: object, more: Partial<Live> = {}): Live {
  const of = kindOf(name)
  const body = givenOf(givenFields(of.resource), { id, ...shown })
  return { kind: of, id, shown: { id, ...shown }, body, rules: [], routes: [], entries: undefined, ...more }
}

t.test('no text of an account is a placeholder in its file', async (t) => {
  const text = `\${env:WEIR_API_KEY}`
  const rule = { id: 'ipr_1', cidr: '192.0.2.0/24', list: null, action: 'allow', description: text }
  const route = { id: 'edghtsrt_1', match: `/${text}`, match_type: 'exact_path', description: text }
  const entry = { cidr: '192.0.2.1', comment: text, expires_at: null }
  const given = { type: 'tcp_connection', conn: { client_ip: text } }
  const expect = { decision: 'block', decided_by: { type: 'https_edge_route', id: route.id } }
  const account = new Map(
    [
      liveOf('ipList', 'ipl_1', { name: text, description: text }, { entries: [entry] as never }),
      liveOf('tunnelGroupBackend', 'bkdtg_1', { labels: { a: text }, metadata: text }),
      liveOf('ipPolicy', 'ipp_1', { description: text }, { rules: [rule] }),
      liveOf('httpsEdge', 'edghts_1', { hostports: [text] }, { routes: [route] }),
      liveOf('policyTest', 'ptest_1', { description: text, given, expect }),
    ].map((live) => [live.kind, [live]] as const),
  )
  const written = exported(account)
  t.equal(written.split(text).length - 1, 13)
  t.equal(written.split(`$${text}`).length - 1, 13, 'each is escaped')
})
