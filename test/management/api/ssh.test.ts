/** SSH authorities, certificates and credentials through the API; ssh-keygen checks the signatures. */
import t from 'tap'
import { signedPrincipals } from '../../../src/ground/pki/ssh-certificate.js'
import { Writes } from '../../../src/management/write/writes.js'
import { sourceProblems } from '../../../src/words/event/check-source.js'
import { tcpAddressSpace } from '../../../src/words/resource/fields/tcp-address.js'
import { base, openTestStore } from '../../harness/api.js'
import { all, newest, notFound, refused } from '../../harness/caller.js'
import {
  bitsOf,
  fingerprintOf,
  keyKinds,
  makeKeyFiles,
  shownCertificate,
  withoutSshKeygen,
} from '../../harness/ssh.js'
import { tempDir } from '../../harness/temp-dir.js'

const authorities = '/ssh_certificate_authorities'
const hosts = '/ssh_host_certificates'
const users = '/ssh_user_certificates'
const credentials = '/ssh_credentials'

/** Every kind of authority, and its signature algorithm. */
const authorityKinds = [
  { body: {}, type: 'ed25519', bits: 256, signs: 'ssh-ed25519' },
  { body: { private_key_type: 'rsa' }, type: 'rsa', bits: 2048, signs: 'rsa-sha2-512' },
  { body: { private_key_type: 'rsa', key_size: 4096 }, type: 'rsa', bits: 4096, signs: 'rsa-sha2-512' },
  { body: { private_key_type: 'ecdsa' }, type: 'ecdsa', bits: 256, signs: 'ecdsa-sha2-nistp256' },
  {
    body: { private_key_type: 'ecdsa', elliptic_curve: 'nistp384' },
    type: 'ecdsa',
    bits: 384,
    signs: 'ecdsa-sha2-nistp384',
  },
  {
    body: { private_key_type: 'ecdsa', elliptic_curve: 'P-521' },
    type: 'ecdsa',
    bits: 521,
    signs: 'ecdsa-sha2-nistp521',
  },
  {
    body: { private_key_type: 'ecdsa', key_size: 384, elliptic_curve: 'p384' },
    type: 'ecdsa',
    bits: 384,
    signs: 'ecdsa-sha2-nistp384',
  },
] as const

const day = 24 * 60 * 60
const isFull = process.argv.includes('--full')

const secondsBetween = ({ valid_after, valid_until }: { valid_after: string; valid_until: string }): number =>
  (Date.parse(valid_until) - Date.parse(valid_after)) / 1000

t.test('SSH', { skip: withoutSshKeygen }, async (t) => {
  const dir = tempDir(t)
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const other = await api.account('other')
  const keys = keyKinds.map((kind) => ({ ...kind, ...makeKeyFiles(dir, kind) }))
  const { publicKey } = keys[0]!
  const authority = await me.sshCertificateAuthority.create({})
  const ssh_certificate_authority_id: string = authority.id

  for (const [at, { body, type, bits, signs }] of authorityKinds.entries()) {
    // The first one signs keys of every kind; with `--full` all do.
    const signed = isFull || at === 0 ? keys : [keys[at % keys.length]!]
    t.test(`an authority made of ${JSON.stringify(body)}`, async (t) => {
      const { id, uri, created_at, public_key, ...rest } = await me.sshCertificateAuthority.create(body)
      t.strictSame(rest, { key_type: type }, 'only the public key is shown')
      t.equal(bitsOf(public_key), bits)
      for (const [path, kind] of [
        [hosts, 'host'],
        [users, 'user'],
      ] as const) {
        for (const key of signed) {
          const made = await me.at(path).create({
            ssh_certificate_authority_id: id,
            public_key: key.publicKey,
            principals: ['a.example', '192.0.2.1', '*.example.com'],
            valid_after: '2026-01-02T03:04:05.9+01:00',
            valid_until: '2030-01-02T03:04:05Z',
          })
          t.match(made, {
            public_key: key.publicKey,
            key_type: key.type,
            ssh_certificate_authority_id: id,
            principals: ['a.example', '192.0.2.1', '*.example.com'],
            valid_after: '2026-01-02T02:04:05Z',
            valid_until: '2030-01-02T03:04:05Z',
          })
          t.strictSame(
            shownCertificate(made.certificate),
            {
              type: `${key.publicKey.split(' ')[0]}-cert-v01@openssh.com ${kind} certificate`,
              fingerprint: fingerprintOf(key.publicKey),
              authority: fingerprintOf(public_key),
              signature: signs,
              keyId: `"${made.id}"`,
              serial: '0',
              validAfter: made.valid_after,
              validBefore: made.valid_until,
              principals: signedPrincipals(made.certificate),
              criticalOptions: [],
              extensions: kind === 'host' ? [] : ['permit-pty', 'permit-user-rc'],
            },
            `a ${kind} certificate for ${key.name}`,
          )
        }
      }
    })
  }

  t.test('defaults', async (t) => {
    const host = await me.sshHostCertificate.create({
      ssh_certificate_authority_id,
      public_key: publicKey,
      principals: null,
    })
    t.strictSame(host.principals, [])
    t.strictSame(
      shownCertificate(host.certificate).principals,
      [],
      'valid for every host before OpenSSH 10.3',
    )
    t.match(host.refused_by, /^OpenSSH from 10\.3 on, for every host/)
    t.equal((await me.sshHostCertificate.get(host.id)).refused_by, host.refused_by)
    t.equal(host.valid_after, host.created_at)
    t.equal(secondsBetween(host), 365 * day)
    const user = await me.sshUserCertificate.create({
      ssh_certificate_authority_id,
      public_key: publicKey,
      principals: ['me'],
      extensions: null,
    })
    t.equal(secondsBetween(user), day)
    t.strictSame(user.extensions, { 'permit-pty': '', 'permit-user-rc': '' })
    t.strictSame(user.critical_options, {})
    t.strictSame(shownCertificate(user.certificate).principals, ['me'])
    t.notOk('extensions' in host)
  })

  t.test('certificates have exactly these fields, in a list too', async (t) => {
    const body = { ssh_certificate_authority_id, public_key: publicKey, principals: ['me'] }
    for (const [path, more] of [
      [hosts, ['refused_by']],
      [users, ['critical_options', 'extensions']],
    ] as const) {
      const certificates = me.at(path)
      const { id } = await certificates.create({ ...body, description: 'x', metadata: 'y' })
      const made = await certificates.update(id, { description: null, metadata: '' })
      t.strictSame(Object.keys(made), [
        ...['id', 'uri', 'created_at', 'public_key', 'key_type', 'ssh_certificate_authority_id'],
        ...['principals', 'valid_after', 'valid_until', 'certificate'],
        ...more,
      ])
      t.equal(made.uri, `${base}${path}/${id}`)
      t.strictSame(await newest(certificates.list()), made)
      t.strictSame(await certificates.get(id), made)
      await certificates.delete(id)
      await refused(404, certificates.get(id))
    }
  })

  t.test('validity that begins later lasts as long; one that has begun ends no sooner', async (t) => {
    const certificate = { ssh_certificate_authority_id, public_key: publicKey }
    const later = await me.sshUserCertificate.create({
      ...certificate,
      principals: ['me'],
      valid_after: '2100-01-01T00:00:00Z',
    })
    t.equal(later.valid_until, '2100-01-02T00:00:00Z')
    const earlier = await me.sshHostCertificate.create({
      ...certificate,
      valid_after: '2000-01-01T00:00:00Z',
    })
    t.equal(Date.parse(earlier.valid_until), Date.parse(earlier.created_at) + 365 * day * 1000)
    const last = await me.sshHostCertificate.create({ ...certificate, valid_after: '9999-12-31T00:00:00Z' })
    t.equal(last.valid_until, '9999-12-31T23:59:59Z', 'there are no later times')
    const past = { valid_after: '2000-01-01T00:00:00Z', valid_until: '2000-01-01T00:00:01Z' }
    t.match(await me.sshHostCertificate.create({ ...certificate, ...past }), past, 'also one that is over')
  })

  t.test('options of users', async (t) => {
    const critical_options = {
      'verify-required': '',
      'source-address': '192.0.2.0/24,2001:db8::/32,198.51.100.7',
      'force-command': '/bin/echo "ü"',
    }
    const extensions = { 'permit-X11-forwarding': '', 'login@example.com': 'me', __proto: 'x', a: '' }
    const principals = ['me']
    const body = {
      ssh_certificate_authority_id,
      public_key: publicKey,
      principals,
      critical_options,
      extensions,
    }
    const made = await me.sshUserCertificate.create(body)
    t.strictSame(made.critical_options, critical_options, 'shown as given')
    t.strictSame(made.extensions, extensions)
    const shown = shownCertificate(made.certificate)
    t.strictSame(
      shown.criticalOptions.map((line) => line.split(' ')[0]),
      ['force-command', 'source-address', 'verify-required'],
      'signed in their order',
    )
    t.match(shown.criticalOptions[1], '192.0.2.0/24,2001:db8::/32,198.51.100.7')
    t.strictSame(
      shown.extensions.map((line) => line.split(' ')[0]),
      ['__proto', 'a', 'login@example.com', 'permit-X11-forwarding'],
    )
  })

  t.test(
    'empty options, which generated clients send by default, are those of a certificate without any',
    async (t) => {
      const body = { ssh_certificate_authority_id, public_key: publicKey, principals: ['me'] }
      const made = await me.sshUserCertificate.create({ ...body, critical_options: {}, extensions: {} })
      t.strictSame(made.critical_options, {})
      t.strictSame(made.extensions, { 'permit-pty': '', 'permit-user-rc': '' })
      t.strictSame(shownCertificate(made.certificate).extensions, ['permit-pty', 'permit-user-rc'])
      t.strictSame(await me.at(users).update(made.id, { extensions: {} }), made, 'and change nothing later')
    },
  )

  t.test('certificates of hosts say which clients refuse them', async (t) => {
    const body = { ssh_certificate_authority_id, public_key: publicKey }
    const certificate = (principals: string[], from = me) =>
      from.sshHostCertificate.create({ ...body, principals })
    t.equal((await certificate(['a.example', '2001:db8::1'])).refused_by, null)
    const pattern = await certificate(['*'])
    t.strictSame(shownCertificate(pattern.certificate).principals, ['*'])
    t.equal(
      pattern.refused_by,
      'OpenSSH before 10.3, for hosts that only "*" would match, because it takes that for a name.',
    )
    t.match(
      (await certificate(['a.example', '*.b.example', 'c?'])).refused_by,
      /only "\*\.b\.example", "c\?" would/,
    )
    const many = await certificate(Array.from({ length: 9 }, (_, index) => `*.${index}.example`))
    t.match(many.refused_by, /"\*\.2\.example", 6 more would match/)
  })

  t.test('WEIR_SSH_ANY_HOST sets what is signed if no host is named', async (t) => {
    const { parts } = store
    const writes = new Writes({
      ...parts,
      tcpAddresses: tcpAddressSpace('weir.localhost'),
      sshAnyHost: 'star',
      sourceProblems: (source) => sourceProblems(source as never),
    })
    const account = await (await store.api({ context: { ...parts, writes } })).account('star')
    const { id } = await account.sshCertificateAuthority.create({})
    const body = { ssh_certificate_authority_id: id, public_key: publicKey }
    const made = await account.sshHostCertificate.create(body)
    t.strictSame(made.principals, [])
    t.strictSame(shownCertificate(made.certificate).principals, ['*'])
    t.match(made.refused_by, /^OpenSSH before 10\.3/)
    const past = { valid_after: '2000-01-01T00:00:00Z', valid_until: '2000-01-01T00:00:01Z' }
    await account.sshHostCertificate.create({ ...body, ...past })
    await account.sshHostCertificate.create({ ...body, principals: ['a.example'] })
    const { findings } = await account.findings()
    const found = findings.filter(({ kind }) => kind === 'certificate_refused')
    t.strictSame(
      found.map(({ severity, about }) => [severity, about.id]),
      [['notice', made.id]],
      'not one that is over',
    )
    t.match(found[0]?.sentence, /OpenSSH before 10\.3/)
  })

  t.test("certificates are never signed twice alike, and don't change", async (t) => {
    const body = { ssh_certificate_authority_id, public_key: publicKey }
    const first = await me.sshHostCertificate.create(body)
    t.not((await me.sshHostCertificate.create(body)).certificate, first.certificate)
    const { description, ...changed } = await me.sshHostCertificate.update(first.id, { description: 'x' })
    t.strictSame(changed, first)
    const others = {
      public_key: `${publicKey} another comment`,
      principals: ['another.example'],
      valid_after: '2001-01-01T00:00:00Z',
      valid_until: '2101-01-01T00:00:00Z',
      certificate: 'another',
    }
    for (const [field, value] of Object.entries(others)) {
      const says = await refused(400, me.sshHostCertificate.update(first.id, { [field]: value }))
      t.match(says, field)
    }
  })

  t.test("an authority in use can't be deleted", async (t) => {
    const { id } = await me.sshCertificateAuthority.create({ description: 'named' })
    const changed = await me.sshCertificateAuthority.update(id, { metadata: 'changed' })
    t.match(changed, { description: 'named', metadata: 'changed' })
    const body = { ssh_certificate_authority_id: id, public_key: publicKey, principals: ['me'] }
    const host = await me.sshHostCertificate.create(body)
    const user = await me.sshUserCertificate.create(body)
    for (const remove of [
      () => me.sshHostCertificate.delete(host.id),
      () => me.sshUserCertificate.delete(user.id),
    ]) {
      t.match(
        await refused(400, me.sshCertificateAuthority.delete(id)),
        /names it in "ssh_certificate_authority_id"/,
      )
      await remove()
    }
    await me.sshCertificateAuthority.delete(id)
    t.match(
      await refused(404, me.sshHostCertificate.create(body)),
      `"ssh_certificate_authority_id" names "${id}"`,
    )
  })

  t.test('resources of another account are unknown', async (t) => {
    const body = { ssh_certificate_authority_id, public_key: publicKey, principals: ['me'] }
    for (const certificates of [other.sshHostCertificate, other.sshUserCertificate])
      t.match(await refused(404, certificates.create(body)), '"ssh_certificate_authority_id" names')
    const made = [
      [authorities, authority],
      [hosts, await me.sshHostCertificate.create(body)],
      [credentials, await me.sshCredential.create({ public_key: publicKey })],
    ] as const
    for (const [path, { id }] of made) await notFound(other.at(path), id)
  })

  t.test('credentials', async (t) => {
    const acl = ['bind:*.example.com', 'bind:a.example']
    const made = await me.sshCredential.create({ public_key: `${publicKey}\n`, acl })
    const { id, uri, created_at, ...rest } = made
    t.strictSame(rest, { public_key: publicKey, acl })
    t.equal(uri, `${base}${credentials}/${id}`)
    t.strictSame((await me.sshCredential.update(id, { acl: ['*'] })).acl, ['*'])
    t.strictSame((await me.sshCredential.update(id, { acl: null })).acl, [])
    t.strictSame((await me.sshCredential.create({ public_key: publicKey })).acl, [])
  })

  t.test('concurrent requests', async (t) => {
    const body = { ssh_certificate_authority_id, public_key: publicKey }
    const made = await Promise.all(Array.from({ length: 12 }, () => me.sshHostCertificate.create(body)))
    t.equal(new Set(made.map(({ certificate }) => certificate)).size, 12)
    const listed = await all(me.sshHostCertificate.list())
    for (const each of made)
      t.strictSame(
        listed.find(({ id }) => id === each.id),
        each,
      )
  })

  t.test('the private key of an authority is never shown', async (t) => {
    const kept = await store.parts.store.sealedValue(
      'ssh_certificate_authority',
      authority.id,
      'sealed_private_key',
    )
    const belongsTo = `${me.accountId}/${authority.id}/private_key`
    const pem = store.parts.sealer.unseal(kept ?? '', belongsTo)
    const [, secret = ''] = /-----BEGIN PRIVATE KEY-----\n(\S+)\n/.exec(pem) ?? []
    t.ok(secret.length > 40)
    t.throws(() => store.parts.sealer.unseal(kept ?? '', `${other.accountId}/${authority.id}/private_key`))
    const mine = (rows: readonly (object & { account_id?: unknown })[]): object[] =>
      rows.filter(({ account_id }) => account_id === me.accountId)
    const { clickhouse } = store.parts
    const rows = mine(await clickhouse.rows<object>('SELECT * FROM ssh_certificate_authority_versions'))
    t.match(JSON.stringify(rows), authority.id)
    const shown = mine(await clickhouse.rows<object>('SELECT * FROM ssh_certificate_authorities'))
    t.match(JSON.stringify(shown), authority.id)
    t.notOk(shown.some((row) => Object.keys(row).some((name) => name.includes('private'))))
    const texts = [
      JSON.stringify(rows),
      JSON.stringify(shown),
      JSON.stringify(await api.audits(me.accountId)),
      JSON.stringify(await all(me.sshCertificateAuthority.list())),
      JSON.stringify(mine([...store.parts.store.view.state.rows.get('ssh_certificate_authority')!.values()])),
      api.log(),
    ]
    for (const text of texts) {
      t.notMatch(text, secret)
      t.notMatch(text, 'PRIVATE KEY')
    }
    for (const text of texts.slice(1)) t.notMatch(text, kept ?? '', 'nor is its sealed form')
  })
})
