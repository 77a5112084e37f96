/** Which values of a row are sealed, and how a row is split, so that the bucket every process reads has no secret. */
import t from 'tap'
import { sealedFields, splitSecrets } from '../../../src/management/store/sealed-values.js'
import { resources } from '../../../src/words/resource/registry.js'

const head = { id: 'ed_1', account_id: 'ac_1', version: 5, created_at: 0 }
const open = { ...head, format: 'json' }
const entry = { account_id: 'ac_1', version: 5 }

t.test('kinds with sealed fields', async (t) => {
  const found = resources.flatMap(({ kind }) => sealedFields(kind).map((name) => `${kind}.${name}`))
  t.strictSame(found, [
    'ip_list.sealed_secret',
    'tls_certificate.private_key_pem',
    'ssh_certificate_authority.sealed_private_key',
    'event_destination.sealed_secret',
  ])
})

t.test('a row and its sealed values', async (t) => {
  const cases = [
    {
      name: 'a secret',
      row: { ...open, sealed_secret: 'v1.sealed' },
      secrets: { ...entry, sealed: { sealed_secret: 'v1.sealed' } },
    },
    {
      name: 'no secret: the entry says so',
      row: { ...open, sealed_secret: null },
      secrets: { ...entry, sealed: {} },
    },
    { name: 'a secret left out', row: open, secrets: { ...entry, sealed: {} } },
  ]
  for (const { name, row, secrets } of cases)
    t.strictSame(splitSecrets('event_destination', row), { open, secrets }, name)
  const other = { ...head, id: 'ipp_1', sealed_secret: 'no field of this kind' }
  t.strictSame(
    splitSecrets('ip_policy', other),
    { open: other, secrets: undefined },
    'a kind without secrets',
  )
})
