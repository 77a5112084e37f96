/** Keys and certificates in the console: a token is shown once, what is old is replaced, and no key ends itself. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { keyUseBucket } from '../../../src/delivery/wire/names.js'
import { openClient } from '../../../src/words/client/client.js'
import { all } from '../../harness/caller.js'
import { certificateBody, fixturePem } from '../../harness/certificates.js'
import { until } from '../../harness/weir.js'
import { openService } from '../../integration/service.js'
import { inBrowser, newAccount, openSignedIn } from './visitor.js'

t.test('keys in the console', inBrowser(), async (t) => {
  const { weir } = await openService()
  const works = async (token: string): Promise<boolean> => {
    for await (const _ of openClient({ url: weir.url, token, waitMs: 0 }).ipPolicy.list()) break
    return true
  }

  await t.test('one is created, and its token is shown once', async (t) => {
    const me = await newAccount()
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see('console/keys')
    const create = page.getByRole('button', { name: 'Create an API key' })
    await create.click()
    await page.getByRole('button', { name: 'Editing', pressed: true }).waitFor()
    await page.getByLabel('Description').fill('of the night shift')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const token = await page.getByLabel('Token', { exact: true }).inputValue()
    t.ok(await works(token))
    const kept: string = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])',
    )
    t.notMatch(kept, token.slice(5))
    await page.getByRole('button', { name: 'I have it: close' }).click()
    await page.locator('tbody tr', { hasText: 'of the night shift' }).waitFor()
    t.notMatch(await page.content(), token.slice(5), 'it is nowhere on the page')
    t.match(await all(me.api.apiKey.list()), [{ description: 'of the night shift', rights: ['read'] }, {}])
    t.strictSame(visitor.complaints, [])
  })

  await t.test('its rights are picked one by one, next to the usual ones', async (t) => {
    const me = await newAccount()
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see('console/keys')
    await visitor.edit()
    await page.getByRole('button', { name: 'Create an API key' }).click()
    const usual = page.getByLabel('Rights', { exact: true })
    t.equal(await usual.inputValue(), 'read')
    await page.locator('label[title=publish] input').check()
    t.equal(await usual.inputValue(), '', 'chosen one by one')
    await page.locator('label[title=read] input').uncheck()
    await page.locator('label[title=decide] input').check()
    t.equal(await usual.inputValue(), 'decide,publish', 'that is a usual one')
    await page.locator('label[title=skip_tests] input').check()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('button', { name: 'I have it: close' }).click()
    t.match(await all(me.api.apiKey.list()), [{ rights: ['skip_tests', 'decide', 'publish'] }, {}])
    t.strictSame(visitor.complaints, [])
  })

  await t.test('one is rotated: the new one can do the same, then the old one is deleted', async (t) => {
    const me = await newAccount()
    const fields = { description: 'of a proxy', rights: ['decide' as const], metadata: '{"team": "edge"}' }
    const old = await me.api.apiKey.create(fields)
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see(`console/keys/${old.id}`)
    await visitor.edit()
    await page.getByRole('button', { name: 'Rotate: make a new one' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    t.equal((await all(me.api.apiKey.list())).length, 3, 'both work')
    await page.getByRole('button', { name: 'Delete the old API key' }).click()
    await page.locator('.notice', { hasText: 'The old API key is deleted.' }).waitFor()
    await page.getByRole('button', { name: 'I have it: close' }).click()
    const [left, ...others] = (await all(me.api.apiKey.list())).filter(
      ({ description }) => description === 'of a proxy',
    )
    t.match(left, fields)
    t.not(left?.id, old.id)
    t.strictSame(others, [])
    t.strictSame(visitor.complaints, [])
  })

  await t.test('the key of the session is not offered to be deleted, and the page says why', async (t) => {
    const me = await newAccount()
    const [own] = await all(me.api.apiKey.list())
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see(`console/keys/${own?.id}`)
    await visitor.edit()
    await page.getByText("A key can't delete itself").waitFor()
    t.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
    await page.getByRole('button', { name: 'Rotate: make a new one' }).click()
    await page.getByText("which can't delete itself").waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test('the page says when and from where a tunnel credential was used last', async (t) => {
    const me = await newAccount()
    const unused = await me.api.tunnelCredential.create({ description: 'of no agent' })
    const { id } = await me.api.tunnelCredential.create({ description: 'of the build server' })
    const nats = await weir.nats()
    t.teardown(() => nats.close())
    const use = { at: Date.now() - 3 * 60 * 60_000, from: '203.0.113.44' }
    await (await nats.findBucket(keyUseBucket))!.put(id, JSON.stringify(use))
    await until('the API knows', async () => (await me.api.tunnelCredential.get(id)).last_used_at !== null)
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see('console/keys?tab=tunnel')
    await page.locator('tbody tr', { hasText: 'of the build server' }).getByText('3 h ago').waitFor()
    await page.locator('tbody tr', { hasText: 'of no agent' }).getByText('never').waitFor()
    await visitor.see(`console/keys/${id}?tab=tunnel`)
    await page.getByText('3 h ago from 203.0.113.44').waitFor()
    await visitor.see(`console/keys/${unused.id}?tab=tunnel`)
    await page.locator('dl.facts').getByText('never', { exact: true }).waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a key that is refused says so at its field', async (t) => {
    const me = await newAccount()
    const visitor = await openSignedIn(t, me.token, { expected: /^400 POST \/credentials$/ })
    const { page } = visitor
    await visitor.see('console/keys?tab=tunnel')
    await visitor.edit()
    await page.getByRole('button', { name: 'Create a tunnel credential' }).click()
    await page.getByLabel('Names it may serve').fill('bind:*.example.com\nnothing:at all')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page
      .locator('.field', { has: page.getByLabel('Names it may serve') })
      .locator('.fault')
      .waitFor()
    t.equal((await all(me.api.tunnelCredential.list())).length, 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a certificate is renewed, and the domains that it covers use it', async (t) => {
    const me = await newAccount()
    const name = `shop-${randomBytes(4).toString('hex')}.rsa.example`
    const old = await me.api.tlsCertificate.create({ ...certificateBody('rsa'), description: 'of the shop' })
    const domain = await me.api.domain.create({ domain: name, certificate_id: old.id })
    const visitor = await openSignedIn(t, me.token, { expected: /^400 PATCH \/reserved_domains/ })
    const { page } = visitor
    const renew = async (certificate: string): Promise<void> => {
      await page.getByRole('button', { name: 'Renew: make a new one' }).click()
      await page.getByLabel(/^Certificate and its chain/).fill(fixturePem(certificate))
      await page.getByLabel(/^Private key/).fill(fixturePem(`${certificate}.key`))
      await page.getByRole('button', { name: 'Make the new one' }).click()
    }
    const used = async () => (await me.api.domain.get(domain.id)).certificate?.id

    await visitor.see(`console/certificates/${old.id}`)
    await page.getByRole('link', { name }).waitFor()
    await visitor.edit()
    await renew('rsa')
    await page.locator('.notice', { hasText: 'A domain uses the new one now.' }).waitFor()
    const next = (await used())!
    t.not(next, old.id)
    t.equal((await me.api.tlsCertificate.get(next)).description, 'of the shop')

    await visitor.see(`console/certificates/${old.id}`)
    await page.getByText('No domain uses it.').waitFor()
    await visitor.see(`console/certificates/${next}`)
    await renew('ecdsa')
    await page.locator('.notice', { hasText: name }).waitFor()
    t.equal(await used(), next, 'a certificate that does not cover the domain is not used for it')
    t.equal((await all(me.api.tlsCertificate.list())).length, 3, 'but it was added')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('pages say when traffic last went to a domain, an address and a certificate', async (t) => {
    const me = await newAccount()
    const name = `shop-${randomBytes(4).toString('hex')}.rsa.example`
    const body = { ...certificateBody('rsa'), description: 'of the shop' }
    const certificate = await me.api.tlsCertificate.create(body)
    const domain = await me.api.domain.create({ domain: name, certificate_id: certificate.id })
    await me.api.domain.create({ domain: `quiet-${name}` })
    const { addr } = await me.api.reservedAddr.create({ region: 'eu' })
    const [host = '', port] = addr.split(':')
    await me.api.publishRecords(
      [
        [name, 443],
        [host, Number(port)],
      ].map(([server_name, server_port], index) => ({
        record_id: `${name}-${index}`,
        type: 'tcp_connection' as const,
        conn: {
          client_ip: '203.0.113.5',
          server_name: String(server_name),
          server_port: Number(server_port),
        },
      })),
    )
    await until('both are in the log', async () => (await all(me.api.decisions())).length === 2)
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    const cell = async (row: string, text: RegExp) =>
      page.locator('tbody tr', { hasText: row }).getByText(text).waitFor()
    await visitor.see('console/domains')
    await page.getByRole('columnheader', { name: 'Last traffic' }).waitFor()
    await cell(name, /^(now|\d+ (s|min) ago)$/)
    await cell(`quiet-${name}`, /^none since/)
    await visitor.see(`console/domains/${domain.id}`)
    await page
      .locator('dl.facts', { hasText: 'Last traffic' })
      .getByText(/ago$|^now$/)
      .waitFor()
    await visitor.see('console/domains?tab=addresses')
    await cell(addr, /ago$|^now$/)
    await visitor.see('console/certificates')
    await cell('of the shop', /ago$|^now$/)
    await visitor.see(`console/certificates/${certificate.id}`)
    await page.getByText('traffic of its domains:').waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test('pages of certificates say why a last use is not known', async (t) => {
    const me = await newAccount()
    const authority = await me.api.sshCertificateAuthority.create({ description: 'of the hosts' })
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see(`console/certificates/${authority.id}`)
    await page.getByText('it signed no certificate that still exists').waitFor()
    const { public_key } = authority
    const { id } = await me.api.sshHostCertificate.create({
      description: 'of a host',
      ssh_certificate_authority_id: authority.id,
      public_key,
    })
    await visitor.see(`console/certificates/${id}`)
    const note = 'Weir issues it and does not see its use.'
    await page.locator('dl.facts').getByText(note).waitFor()
    await visitor.see('console/certificates?tab=ssh_user_certificate')
    await page.getByText(`Last use: ${note}`).waitFor()
    await visitor.see(`console/certificates/${authority.id}?tab=ssh_certificate_authority`)
    await page
      .locator('dl.facts')
      .getByText(/signed/)
      .waitFor()
    t.strictSame(visitor.complaints, [])
  })
})
