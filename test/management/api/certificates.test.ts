/** TLS certificates and certificate authorities: what is read from them, and private keys that are never shown. */
import { createPrivateKey } from 'node:crypto'
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, newest, notFound, refused } from '../../harness/caller.js'
import { certificateBody, fixturePem } from '../../harness/certificates.js'

type Row = readonly [name: string, body: object, says: RegExp]

const refusedCertificates: Row[] = [
  ['nothing', {}, /"certificate_pem" is required/],
  ['no key', { certificate_pem: fixturePem('rsa') }, /"private_key_pem" is required/],
  ['no certificate', { private_key_pem: fixturePem('rsa.key') }, /"certificate_pem" is required/],
  [
    'a number',
    { ...certificateBody('rsa'), certificate_pem: 5 },
    /"certificate_pem" is 5, but must be a string/,
  ],
  [
    'a key that is a number',
    { ...certificateBody('rsa'), private_key_pem: 5 },
    /"private_key_pem" has a value that is not shown here, but must be a string/,
  ],
  [
    'a key instead of the certificate',
    certificateBody('rsa.key', 'rsa.key'),
    /"certificate_pem" holds a private key: only certificates/,
  ],
  [
    'a key after the certificate',
    { ...certificateBody('rsa'), certificate_pem: fixturePem('rsa') + fixturePem('rsa.key') },
    /"certificate_pem" holds a private key/,
  ],
  [
    'a key in a list',
    { ...certificateBody('rsa'), certificate_pem: [fixturePem('rsa.key')] },
    /"certificate_pem" is a list, but must be a string/,
  ],
  ['words', { ...certificateBody('rsa'), certificate_pem: 'x' }, /"certificate_pem" holds no certificate/],
  [
    'a request',
    certificateBody('request', 'ecdsa.key'),
    /"certificate_pem" holds a PEM block of another type/,
  ],
  [
    'a certificate as the key',
    certificateBody('rsa', 'rsa'),
    /"private_key_pem" is not a private key in PEM form/,
  ],
  ['an encrypted key', certificateBody('ecdsa', 'encrypted.key'), /"private_key_pem" is encrypted/],
  ['another encryption', certificateBody('ecdsa', 'encrypted-ec.key'), /"private_key_pem" is encrypted/],
  [
    'the key of another certificate',
    certificateBody('rsa', 'ecdsa.key'),
    /"private_key_pem" does not belong to the first certificate in "certificate_pem"/,
  ],
  [
    'the issuer before the certificate',
    certificateBody('chain-upside-down', 'ecdsa.key'),
    /"certificate_pem" is not a chain: certificate 1 was not issued by certificate 2/,
  ],
  ['a short key', certificateBody('rsa-1024'), /"certificate_pem" has an RSA key of 1024 bits/],
  [
    'a curve TLS lacks',
    certificateBody('secp256k1', 'ecdsa.key'),
    /"certificate_pem" has a key on the curve/,
  ],
  [
    'a type of key that TLS does not have',
    certificateBody('ed448', 'ecdsa.key'),
    /"certificate_pem" has a key of the type ed448/,
  ],
  [
    'eleven certificates',
    { ...certificateBody('ecdsa'), certificate_pem: fixturePem('ecdsa').repeat(11) },
    /"certificate_pem" holds 11 certificates: at most 10/,
  ],
  [
    'too much text',
    { ...certificateBody('ecdsa'), certificate_pem: 'x'.repeat(65_537) },
    /"certificate_pem" is too long \(65537 bytes\): at most 65536 bytes/,
  ],
  [
    'too much of a key',
    { ...certificateBody('ecdsa'), private_key_pem: 'x'.repeat(16_385) },
    /"private_key_pem" is too long .* at most 16384/,
  ],
  ['a field of Weir', { ...certificateBody('rsa'), serial_number: '1' }, /has no field "serial_number"/],
]

const refusedAuthorities: Row[] = [
  ['nothing', {}, /"ca_pem" is required/],
  ['words', { ca_pem: 'x' }, /"ca_pem" holds no certificate/],
  ['a private key', { ca_pem: fixturePem('rsa.key') }, /"ca_pem" holds a private key/],
  [
    'no authority',
    { ca_pem: fixturePem('ecdsa') },
    /"ca_pem" is not the certificate of an authority.*CA:TRUE/,
  ],
  [
    'a bundle',
    { ca_pem: fixturePem('authority') + fixturePem('intermediate') },
    /"ca_pem" holds 2 certificates: at most 1/,
  ],
  ['too much text', { ca_pem: 'x'.repeat(65_537) }, /"ca_pem" is too long/],
  [
    'with a private key',
    { ca_pem: fixturePem('authority'), private_key_pem: 'x' },
    /has no field "private_key_pem"/,
  ],
]

/** One line of a key, which no answer and no log may contain. */
const linesOf = (name: string): string[] => fixturePem(name).split('\n').slice(1, -2)

t.test('certificates', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const other = await api.account('other')

  t.test('POST /tls_certificates reads everything from the certificate', async (t) => {
    const { id, uri, created_at, ...shown } = await me.tlsCertificate.create({
      ...certificateBody('rsa'),
      description: 'of the shop',
    })
    t.match(id, /^cert_/)
    t.match(shown, {
      description: 'of the shop',
      certificate_pem: fixturePem('rsa'),
      subject_common_name: 'rsa.example',
      subject_alternative_names: {
        dns_names: ['rsa.example', '*.rsa.example'],
        ips: ['192.0.2.7', '2001:db8::7'],
      },
      issued_at: null,
      not_before: /Z$/,
      not_after: /Z$/,
      key_usages: ['digital_signature', 'key_encipherment'],
      extended_key_usages: ['server_auth', '1.3.6.1.4.1.99999.7'],
      private_key_type: 'rsa',
      issuer_common_name: 'rsa.example',
      serial_number: /^[0-9a-f]+$/,
      subject_organization: 'Büro, "Eins"',
      subject_organizational_unit: 'Erste',
      subject_locality: 'Zürich',
      subject_province: 'Zürich',
      subject_country: 'CH',
    })
    t.notOk('private_key_pem' in shown)
    t.notOk('metadata' in shown)
  })

  t.test('every type of key, a chain, many names', async (t) => {
    const types = { ecdsa: 'ecdsa', chain: 'ecdsa', ed25519: 'ed25519' }
    for (const [name, type] of Object.entries(types)) {
      const key = name === 'chain' ? 'ecdsa-sec1.key' : `${name}.key`
      const made = await me.tlsCertificate.create(certificateBody(name, key))
      t.equal(made.private_key_type, type, name)
      t.equal(made.certificate_pem, fixturePem(name))
    }
    const plain = await me.tlsCertificate.create(certificateBody('ed25519'))
    for (const absent of ['subject_common_name', 'subject_country', 'issuer_common_name'])
      t.notOk(absent in plain, `${absent} is left out`)
    t.strictSame(plain.subject_alternative_names, { dns_names: [], ips: [] }, 'empty lists stay')
    t.strictSame(plain.extended_key_usages, [])
  })

  t.test('the private key is stored sealed, for this certificate only', async (t) => {
    const { id } = await me.tlsCertificate.create(certificateBody('ecdsa', 'ecdsa-sec1.key'))
    const { clickhouse, sealer } = store.parts
    const [row] = await clickhouse.rows<{ private_key_pem: string }>(
      `SELECT private_key_pem FROM tls_certificate_versions WHERE id = '${id}'`,
    )
    const sealed = row?.private_key_pem ?? ''
    t.match(sealed, /^v1\./)
    const opened = sealer.unseal(sealed, `${me.accountId}/${id}/private_key_pem`)
    const key = createPrivateKey(fixturePem('ecdsa.key'))
    t.ok(createPrivateKey(opened).equals(key), 'it is the one that was given')
    t.throws(() => sealer.unseal(sealed, `${other.accountId}/${id}/private_key_pem`))
    const columns = await clickhouse.rows<{ name: string }>('DESCRIBE TABLE tls_certificates')
    t.notOk(columns.some(({ name }) => name === 'private_key_pem'))
  })

  t.test('POST /certificate_authorities', async (t) => {
    const { id, uri, created_at, not_before, not_after, ...shown } = await me.certificateAuthority.create({
      ca_pem: fixturePem('intermediate'),
    })
    t.match(id, /^ca_/)
    t.strictSame(shown, {
      ca_pem: fixturePem('intermediate'),
      subject_common_name: 'Weir Test Intermediate',
      key_usages: ['cert_sign', 'crl_sign'],
      extended_key_usages: ['server_auth', 'client_auth'],
    })
    t.match([not_before, not_after], [/^\d{4}-.*Z$/, /^\d{4}-.*Z$/])
  })

  const kinds = [
    { path: '/tls_certificates', body: certificateBody('ecdsa'), fixed: 'certificate_pem' },
    {
      path: '/certificate_authorities',
      body: { ca_pem: fixturePem('authority') },
      fixed: 'ca_pem',
    },
  ]
  for (const { path, body, fixed } of kinds) {
    t.test(`${path}: get, list, patch, delete`, async (t) => {
      const [mine, theirs] = [me.at(path), other.at(path)]
      const made = await mine.create(body)
      const { id } = made
      t.strictSame(await mine.get(id), made)
      t.strictSame(await newest(mine.list()), made, 'the newest first')
      const patched = await mine.update(id, { description: 'x', metadata: 'y' })
      t.strictSame(
        patched,
        { ...made, description: 'x', metadata: 'y' },
        'values read from the certificate stay',
      )
      t.strictSame(await mine.update(id, { description: null, metadata: '' }), made, 'and is cleared again')
      const says = new RegExp(`"${fixed}" is .* can't be changed after creation`)
      t.match(await refused(400, mine.update(id, { [fixed]: fixturePem('rsa') })), says)
      for (const says of await notFound(theirs, id))
        t.match(says, /There is no/, 'another account knows nothing of it')
      await mine.delete(id)
      await refused(404, mine.get(id))
    })
  }

  t.test('a private key in a PATCH is refused and not echoed', async (t) => {
    const { id } = await me.tlsCertificate.create(certificateBody('ecdsa'))
    const body = { private_key_pem: fixturePem('ecdsa.key') }
    const says = await me.raw.refused(400, 'PATCH', `/tls_certificates/${id}`, body)
    t.match(says, /"private_key_pem" has a value that is not shown here, but can't be changed/)
  })

  t.test('refused requests', async (t) => {
    const tables: [string, Row[]][] = [
      ['/tls_certificates', refusedCertificates],
      ['/certificate_authorities', refusedAuthorities],
    ]
    for (const [path, rows] of tables) {
      const list = async () => (await all(me.at(path).list())).length
      const before = await list()
      for (const [name, body, says] of rows) {
        const { status, text, body: answer } = await me.raw.send('POST', path, { body })
        t.equal(status, 400, name)
        t.match(answer.msg, says, name)
        for (const line of linesOf('rsa.key')) t.notOk(text.includes(line.slice(0, 20)), 'no key is repeated')
      }
      t.equal(await list(), before, 'and nothing was created')
    }
  })

  t.test('no private key is in an event or a log', async (t) => {
    const shown = JSON.stringify(await api.audits(me.accountId)) + api.log()
    for (const name of ['rsa.key', 'ecdsa.key', 'ed25519.key'])
      for (const line of linesOf(name)) t.notOk(shown.includes(line), name)
  })
})
