/** Domains: reserved once, with one of the account's certificates or a managed one. */
import t from 'tap'
import { domain as definition } from '../../../src/words/resource/domain.js'
import { anyResource, type DeriveTools, type Row as Stored } from '../../../src/words/resource/kind/define.js'
import { base, openTestStore } from '../../harness/api.js'
import { all, newest, notFound, refused } from '../../harness/caller.js'
import { certificateBody } from '../../harness/certificates.js'

type Row = readonly [name: string, body: object, says: RegExp]

const invalidBodies: Row[] = [
  ['nothing', {}, /"domain" is required/],
  ['empty text', { domain: '' }, /"domain" .*a domain name such as/],
  ['a number', { domain: 5 }, /"domain" is 5, but must be a string/],
  ['a port', { domain: 'a.example:443' }, /"domain" is "a.example:443": a domain name such as/],
  ['an address', { domain: '192.0.2.1' }, /"domain" is "192.0.2.1": an address is not a domain name/],
  ['an endless name', { domain: `${'a.'.repeat(150)}example` }, /"domain" is too long/],
  ['a region that is none', { domain: 'a.example', region: 'mars' }, /"region" is "mars".*"au", "eu"/],
  [
    'another authority',
    { domain: 'a.example', certificate_management_policy: { authority: 'other' } },
    /"certificate_management_policy.authority" is "other".*"letsencrypt"/,
  ],
  [
    'another type of key',
    { domain: 'a.example', certificate_management_policy: { private_key_type: 'ed25519' } },
    /"certificate_management_policy.private_key_type" is "ed25519".*"rsa", "ecdsa"/,
  ],
  [
    'an unknown field of a policy',
    { domain: 'a.example', certificate_management_policy: { key: 'rsa' } },
    /"certificate_management_policy" has no field "key": supported are "authority", "private_key_type"/,
  ],
  [
    'a certificate of another kind',
    { domain: 'a.example', certificate_id: 'ca_1' },
    /"certificate_id" .*"cert_"/,
  ],
  ['a field of Weir', { domain: 'a.example', cname_target: 'b.example' }, /has no field "cname_target"/],
]

t.test('domains', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const other = await api.account('other')
  const { id: certificate } = await me.tlsCertificate.create(certificateBody('rsa'))
  const ref = { id: certificate, uri: `${base}/tls_certificates/${certificate}` }
  const unset = {
    region: null,
    certificate: null,
    certificate_management_policy: null,
    certificate_management_status: null,
    acme_challenge_cname_target: null,
  }

  t.test('a domain without options', async (t) => {
    const { id, uri, created_at, cname_target, ...shown } = await me.domain.create({
      domain: 'Plain.Example',
    })
    t.match(id, /^rd_/)
    t.equal(uri, `${base}/reserved_domains/${id}`)
    t.strictSame(shown, { domain: 'plain.example', ...unset })
    t.strictSame(await me.domain.get(id), { id, uri, created_at, cname_target, ...shown })
    t.strictSame((await newest(me.domain.list())).id, id)
  })

  t.test('DNS targets', async (t) => {
    const { id, cname_target, acme_challenge_cname_target } = await me.domain.create({
      domain: '*.target.example',
    })
    t.equal(cname_target, `${id.slice('rd_'.length).toLowerCase()}.cname.weir.localhost`)
    t.equal(acme_challenge_cname_target, `${id.slice('rd_'.length).toLowerCase()}.acme.weir.localhost`)
    const patched = await me.domain.update(id, { description: 'x' })
    t.match(patched, { cname_target, acme_challenge_cname_target }, 'they stay')
    t.strictSame(await me.domain.update(id, patched), patched, 'and are taken back')
    t.match(await me.domain.create({ domain: '*.bücher.example' }), {
      domain: '*.xn--bcher-kva.example',
    })
  })

  t.test('a wildcard domain stored without a target for the challenge shows one', (t) => {
    const row = {
      id: 'rd_A',
      account_id: me.accountId,
      version: 1,
      created_at: 0,
      domain: '*.a.example',
      cname_target: 'a.cname.old',
      acme_challenge_cname_target: null,
    }
    type Derive = (draft: object, previous: object, tools: Partial<DeriveTools>) => object
    const derive = definition.derive as unknown as Derive
    const whole = { ...row, acme_challenge_cname_target: 'a.acme.old' }
    t.strictSame(derive(row, row, { tcpDomain: 'new' }), whole, 'when it changes')
    t.strictSame(derive(whole, whole, { tcpDomain: 'new' }), whole, 'and keeps it')
    const { presenter, store: opened } = store.parts
    const shown = (stored: Stored) => presenter.show(anyResource(definition), stored, opened.view.state)
    t.match(shown(row), { acme_challenge_cname_target: 'a.acme.old' }, 'before it changes, too')
    t.strictSame(shown(whole), shown(row))
    t.match(shown({ ...row, domain: 'a.example' }), { acme_challenge_cname_target: null })
    t.end()
  })

  t.test("names below the deployment's own domain can't be reserved", async (t) => {
    const own = ['weir.localhost', '*.weir.localhost', '3.tcp.us.weir.localhost', 'x.cname.WEIR.localhost']
    for (const domain of own) {
      const says = await refused(400, me.domain.create({ domain }))
      t.match(
        says,
        `"domain" is "${domain.toLowerCase()}": names under weir.localhost belong to this deployment`,
      )
    }
    await me.domain.create({ domain: 'otherweir.localhost' })
  })

  t.test('every field', async (t) => {
    const { id, uri, created_at, cname_target, acme_challenge_cname_target, ...shown } =
      await me.domain.create({
        domain: '*.RSA.example',
        region: 'us-cal-1',
        certificate_id: certificate,
        description: 'x',
        metadata: 'y',
      })
    t.teardown(() => me.domain.delete(id))
    t.equal(acme_challenge_cname_target, cname_target.replace('.cname.', '.acme.'))
    t.strictSame(shown, {
      certificate_management_policy: null,
      certificate_management_status: null,
      domain: '*.rsa.example',
      region: 'us-cal-1',
      certificate: ref,
      description: 'x',
      metadata: 'y',
    })
  })

  t.test('a policy of managed certificates with defaults', async (t) => {
    const policies: [object, object][] = [
      [{}, { authority: 'letsencrypt', private_key_type: 'rsa' }],
      [{ private_key_type: 'ecdsa' }, { authority: 'letsencrypt', private_key_type: 'ecdsa' }],
    ]
    for (const [at, [certificate_management_policy, want]] of policies.entries()) {
      const body = { domain: `managed-${at}.example`, certificate_management_policy }
      const made = await me.domain.create(body)
      t.strictSame(made.certificate_management_policy, want)
      t.equal(made.certificate_management_status, null)
    }
  })

  t.test('a certificate is managed, or the account has its own', async (t) => {
    const { id } = await me.domain.create({
      domain: 'either.rsa.example',
      certificate_id: certificate,
    })
    const path = `/reserved_domains/${id}`
    const says = await refused(400, me.domain.update(id, { certificate_management_policy: {} }))
    t.match(says, /"certificate_id" and "certificate_management_policy" are both set/)
    const managed = await me.domain.update(id, { certificate_id: null, certificate_management_policy: {} })
    t.match(managed, { certificate: null, certificate_management_policy: { private_key_type: 'rsa' } })
    const own = await me.domain.update(id, {
      certificate_id: certificate,
      certificate_management_policy: null,
    })
    t.match(own, { certificate: ref, certificate_management_policy: null })
    t.match(await me.raw.refused(400, 'PATCH', path, { domain: 'b.example' }), /"domain" .* can't be changed/)
    t.match(await me.raw.refused(400, 'PATCH', path, { region: 'eu' }), /"region" .* can't be changed/)
    const both = { domain: 'both.example', certificate_id: certificate, certificate_management_policy: {} }
    t.match(await refused(400, me.domain.create(both)), /are both set/)
  })

  t.test('a certificate must contain its domain', async (t) => {
    const { id: plain } = await me.tlsCertificate.create(certificateBody('ed25519'))
    const { id: domain } = await me.domain.create({ domain: 'a.b.rsa.example' })
    const says = await refused(400, me.domain.update(domain, { certificate_id: certificate }))
    t.match(says, `"certificate_id" is "${certificate}", which does not name "a.b.rsa.example"`)
    t.match(says, 'names "rsa.example", "*.rsa.example".')
    t.match(
      await refused(400, me.domain.update(domain, { certificate_id: plain })),
      'the certificate names no domain.',
    )
    const body = { domain: '*.sub.rsa.example', certificate_id: certificate }
    t.match(await refused(400, me.domain.create(body)), 'does not name "*.sub.rsa.example"')
    const attached = {
      domain: 'other.example',
      certificate_id: certificate,
      certificate_management_policy: null,
    }
    const lookups = {
      tcpDomain: 'weir.localhost',
      get: () => ({
        id: certificate,
        subject_alternative_names: { dns_names: [] },
        subject_common_name: null,
      }),
    }
    type Check = (row: object, previous: object | undefined, with_: object) => void
    const check = definition.check as unknown as Check
    t.throws(() => check(attached, undefined, lookups), /names no domain/)
    t.doesNotThrow(() => check(attached, attached, lookups), 'one that is attached already stays')
    const apex = await me.domain.create({ domain: 'RSA.example', certificate_id: certificate })
    // It keeps all names below it from other accounts.
    t.teardown(() => me.domain.delete(apex.id))
    t.strictSame(apex.certificate, ref)
  })

  t.test('a certificate and the request for a managed one are detached', async (t) => {
    const own = await me.domain.create({
      domain: 'detach.rsa.example',
      certificate_id: certificate,
    })
    const path = `/reserved_domains/${own.id}`
    const events = await api.auditsOf(me.accountId, async () => {
      await me.domain.certificate.delete(own.id, { validateOnly: true })
      t.strictSame((await me.domain.get(own.id)).certificate, ref, 'not by a rehearsal')
      await me.domain.certificate.delete(own.id)
      t.strictSame(await me.domain.get(own.id), { ...own, certificate: null })
      await me.domain.certificate.delete(own.id)
      await me.domain.certificate_management_policy.delete(own.id)
    })
    t.strictSame(
      events.map(({ event_type, object }) => [event_type, object.certificate]),
      [['domain_updated.v0', null]],
      'one event: the other requests changed nothing',
    )
    await me.domain.update(own.id, { certificate_management_policy: {} })
    await me.domain.certificate_management_policy.delete(own.id)
    t.strictSame(await me.domain.get(own.id), { ...own, certificate: null })
    for (const part of ['certificate', 'certificate_management_policy'] as const) {
      await refused(404, other.domain[part].delete(own.id))
      await me.raw.refused(404, 'GET', `${path}/${part}`)
    }
  })

  t.test('a domain is reserved once in the deployment, in any spelling', async (t) => {
    const { id } = await me.domain.create({ domain: 'taken.example' })
    for (const client of [me, other]) {
      const says = await refused(400, client.domain.create({ domain: 'TAKEN.example' }))
      t.match(says, /"domain" is "taken.example", which is reserved already/)
    }
    await me.domain.delete(id)
    await other.domain.create({ domain: 'taken.example' })
  })

  t.test("a certificate in use by a domain can't be deleted", async (t) => {
    const { id: own } = await me.tlsCertificate.create(certificateBody('ecdsa'))
    const domain = await me.domain.create({ domain: 'ecdsa.example', certificate_id: own })
    const says = await refused(400, me.tlsCertificate.delete(own))
    t.match(says, new RegExp(`can't be deleted: the domain ${domain.id} names it in "certificate_id"`))
    await me.domain.update(domain.id, { certificate_id: null })
    await me.tlsCertificate.delete(own)
  })

  t.test('resources of another account are unknown', async (t) => {
    const body = { domain: 'stranger.example', certificate_id: certificate }
    const says = await refused(404, other.domain.create(body))
    t.match(says, /"certificate_id" names "cert_.*", which does not exist/)
    const { id } = await me.domain.create({ domain: 'mine.example' })
    for (const says of await notFound(other.domain, id)) t.match(says, /There is no domain/)
  })

  t.test('refused requests', async (t) => {
    const before = (await all(me.domain.list())).length
    for (const [name, body, says] of invalidBodies)
      t.match(await me.raw.refused(400, 'POST', '/reserved_domains', body), says, name)
    t.equal((await all(me.domain.list())).length, before, 'and nothing was created')
  })
})
