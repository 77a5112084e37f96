/** Certificates and keys that end soon: when they are named, and how badly. */
import t from 'tap'
import { expiringResources } from '../../../src/management/operate/expiring-resources.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { ViewState } from '../../../src/words/view/view-state.js'

const nowMs = Date.parse('2026-11-20T10:00:00Z')
const dayMs = 24 * 60 * 60_000
const time = (days: number): string => new Date(nowMs + days * dayMs).toISOString()

/** The fields that clients must set, by kind. */
const set: Readonly<Record<string, object>> = {
  tls_certificate: { certificate_pem: 'PEM' },
  ssh_user_certificate: { public_key: 'key', ssh_certificate_authority_id: 'sshca_1', principals: ['alice'] },
  ssh_host_certificate: { public_key: 'key', ssh_certificate_authority_id: 'sshca_1' },
  domain: { domain: 'www.example.com' },
}

let revision = 0
function put(state: ViewState, kind: string, row: Partial<Row> & { id: string }): void {
  const value = Buffer.from(
    JSON.stringify({
      account_id: 'ac_1',
      version: 1,
      created_at: nowMs - 365 * dayMs,
      ...set[kind],
      ...row,
    }),
  )
  revision += 1
  state.apply({ key: `row.${kind}.${row.id}`, value, revision } as never)
}

const tls = (id: string, ends: number, more: object = {}) => ({
  id,
  not_before: time(ends - 90),
  not_after: time(ends),
  ...more,
})

t.test('what ends within 30 days, and what ended within a week', async (t) => {
  const state = new ViewState()
  put(state, 'tls_certificate', tls('cert_1', 29))
  put(state, 'tls_certificate', tls('cert_2', -1))
  put(state, 'tls_certificate', tls('cert_3', 31))
  put(state, 'tls_certificate', tls('cert_4', -8))
  put(state, 'tls_certificate', tls('cert_5', 3, { account_id: 'ac_2' }))
  put(state, 'api_key', { id: 'ak_1', expires_at: time(20) })
  put(state, 'api_key', { id: 'ak_2', expires_at: null })
  put(state, 'ssh_user_certificate', { id: 'sucrt_1', valid_after: time(-0.1), valid_until: time(0.9) })
  put(state, 'ssh_host_certificate', { id: 'shcrt_1', valid_after: time(-360), valid_until: time(5) })
  const found = await expiringResources(() => state, 'ac_1', nowMs)
  t.match(found, [
    {
      type: 'certificates_expiring',
      kind: 'tls_certificate',
      ids: ['cert_2', 'cert_1'],
      count: 2,
      severity: 'attention',
    },
    { kind: 'ssh_host_certificate', ids: ['shcrt_1'], severity: 'attention' },
    { type: 'keys_expiring', kind: 'api_key', ids: ['ak_1'], severity: 'notice', until: time(20) },
  ])
  t.equal(found.length, 3, 'a short-lived certificate ends on purpose')
  t.match(
    found[0]!.sentence,
    /^2 TLS certificates end within 30 days or have ended, the first at 2026-11-19T10:00:00Z\.$/,
  )
  t.match(found[2]!.sentence, /^The API key ak_1 ends at 2026-12-10T10:00:00Z\.$/)
  t.strictSame(
    (await expiringResources(() => state, 'ac_2', nowMs)).map(({ ids }) => ids),
    [['cert_5']],
  )
})

t.test('a certificate that ended is a failure while a domain of the account names it', async (t) => {
  const state = new ViewState()
  put(state, 'tls_certificate', tls('cert_1', -1))
  const severity = async () => (await expiringResources(() => state, 'ac_1', nowMs))[0]!.severity
  put(state, 'domain', { id: 'rd_2', account_id: 'ac_2', certificate_id: 'cert_1' })
  t.equal(await severity(), 'attention')
  put(state, 'domain', { id: 'rd_1', certificate_id: 'cert_1' })
  t.equal(await severity(), 'failing')
})
