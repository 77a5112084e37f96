/** How long an SSH certificate is valid, and whom it names. */
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { WeirError } from '../../../../src/ground/core/errors.js'
import { compileCheck } from '../../../../src/ground/core/schema-check.js'
import { exampleSshKey } from '../../../../src/words/resource/kind/examples.js'
import { issueCertificate, userPrincipals } from '../../../../src/words/resource/ssh-certificate-fields.js'
import { tools } from '../lookups.js'

const { privateKey } = generateKeyPairSync('ed25519', {
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

const issued = (valid_after: string | null, valid_until: string | null) =>
  issueCertificate(
    {
      id: 'sucrt_1',
      account_id: 'ac_1',
      ssh_certificate_authority_id: 'sshca_1',
      created_at: Date.parse('2026-11-20T10:00:00Z'),
      public_key: exampleSshKey,
      principals: ['alice'],
      valid_after,
      valid_until,
    } as never,
    { type: 'user', seconds: 3600, criticalOptions: {}, extensions: {} },
    { ...tools, sshAnyHost: 'empty', unsealed: async () => privateKey, inTurn: (work) => work() },
  )

t.test('validity', async (t) => {
  const cases: [
    after: string | null,
    until: string | null,
    want: [from: string, until: string] | 'refused',
  ][] = [
    [null, null, ['2026-11-20T10:00:00Z', '2026-11-20T11:00:00Z']],
    ['2026-11-21T10:00:00Z', null, ['2026-11-21T10:00:00Z', '2026-11-21T11:00:00Z']],
    ['2026-11-01T10:00:00Z', null, ['2026-11-01T10:00:00Z', '2026-11-20T11:00:00Z']],
    [null, '2026-11-20T10:00:01Z', ['2026-11-20T10:00:00Z', '2026-11-20T10:00:01Z']],
    ['9999-12-31T23:59:00Z', null, ['9999-12-31T23:59:00Z', '9999-12-31T23:59:59Z']],
    [null, '2026-11-20T10:00:00Z', 'refused'],
    ['2026-11-21T10:00:00Z', '2026-11-20T10:00:00Z', 'refused'],
  ]
  for (const [after, until, want] of cases) {
    const name = `${after} to ${until}`
    if (want === 'refused') await t.rejects(issued(after, until), WeirError, name)
    else t.match(await issued(after, until), { valid_after: want[0], valid_until: want[1] }, name)
  }
})

t.test('names of users', async (t) => {
  const check = compileCheck(userPrincipals.schema)
  for (const name of ['alice', 'a.b-c', 'ü', '192.0.2.1'])
    t.equal(check([name], 'principals'), undefined, name)
  for (const name of ['', '-oProxyCommand', 'a,b', 'a b', 'a\n', 'x'.repeat(256)])
    t.type(check([name], 'principals'), 'string', JSON.stringify(name).slice(0, 20))
  t.type(check([], 'principals'), 'string', 'servers refuse a certificate without any')
})
