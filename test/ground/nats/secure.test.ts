/** Connections by certificates, keys and files of credentials, on a real server: who gets in, and what is said to others. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nkeys } from '@nats-io/nats-core'
import t, { type Test } from 'tap'
import type { LoginFiles } from '../../../src/ground/nats/login-files.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { type Authority, type MadeCertificate, makeAuthority } from '../../harness/authority.js'
import { natsOperator, seedText } from '../../harness/nats-operator.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

async function serve(t: Test, settings: string): Promise<OwnNats> {
  const server = new OwnNats(tempDir(t), [], settings)
  await server.start()
  t.teardown(() => server.stop())
  return server
}

const tlsSettings = (
  { certFile, keyFile }: MadeCertificate,
  verifiedBy?: Authority,
  more = '',
): string => `tls { cert_file: "${certFile}", key_file: "${keyFile}", timeout: 20
  ${verifiedBy === undefined ? '' : `ca_file: "${verifiedBy.certFile}", verify: true`} ${more} }`

/** Resolves with `undefined` if the connection works, else with the reason. */
async function refusal(url: string, files: LoginFiles): Promise<string | undefined> {
  try {
    const nats = await openNats({ servers: [url], name: 'test', replicas: 1, files, isUpNow: true })
    await nats.flush()
    await nats.close()
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

const withScheme = (url: string, host = '127.0.0.1'): string =>
  url.replace('nats:', 'tls:').replace('127.0.0.1', host)

t.test('the certificate of a server', async (t) => {
  const dir = tempDir(t)
  const authority = makeAuthority(dir)
  const server = await serve(t, tlsSettings(authority.issue('server')))
  const ca = authority.certFile
  for (const host of ['127.0.0.1', 'localhost'])
    t.equal(await refusal(withScheme(server.url, host), { ca }), undefined, host)
  t.equal(await refusal(server.url, { ca }), undefined, 'an authority asks for TLS, too')
  const stranger = makeAuthority(dir, 'stranger').certFile
  t.match(
    await refusal(server.url, { ca: stranger }),
    /^127\.0\.0\.1:\d+: no authority that is trusted here \(WEIR_NATS_CA\) signed its certificate/,
  )
  t.match(await refusal(withScheme(server.url), {}), /no authority that is trusted here/, 'none is named')
  const cases = [
    { made: authority.issue('old', { endsInHours: -1 }), says: /or that of its authority, has expired/ },
    { made: authority.issue('named', { hosts: ['localhost'] }), says: /for another name .*127\.0\.0\.1/ },
  ]
  for (const { made, says } of cases) {
    const other = await serve(t, tlsSettings(made))
    t.match(await refusal(other.url, { ca }), says)
  }
  const plain = await serve(t, '')
  t.match(await refusal(withScheme(plain.url), { ca }), /server does not support 'tls'/)
})

t.test('TLS before the greeting of the server', async (t) => {
  const authority = makeAuthority(tempDir(t))
  // Without TLS for so long, it greets: so the harness sees that it is there.
  const made = authority.issue('server')
  const server = await serve(t, tlsSettings(made, undefined, 'handshake_first: "100ms"')).catch(
    () => undefined,
  )
  if (server === undefined) {
    t.comment('skipped: this nats-server knows no handshake_first')
    return
  }
  const ca = authority.certFile
  t.equal(await refusal(server.url, { ca, isTlsFirst: true }), undefined)
})

t.test('the certificate of a client', async (t) => {
  const dir = tempDir(t)
  const authority = makeAuthority(dir)
  const server = await serve(t, tlsSettings(authority.issue('server'), authority))
  const filesOf = ({ certFile: cert, keyFile: key }: MadeCertificate): LoginFiles => ({
    ca: authority.certFile,
    cert,
    key,
  })
  t.equal(await refusal(server.url, filesOf(authority.issue('client'))), undefined)
  const [none, other, old] = await Promise.all([
    refusal(server.url, { ca: authority.certFile }),
    refusal(server.url, filesOf(makeAuthority(dir, 'stranger').issue('other'))),
    refusal(server.url, filesOf(authority.issue('old', { endsInHours: -1 }))),
  ])
  t.match(none, /: it (ended the handshake, and may want|refused the client certificate, or wants) /)
  t.match(none, /\(WEIR_NATS_CERT\)$/)
  // Servers that are built by an older Go say less.
  t.match(other, /: it (does not trust the authority of|refused) the client certificate/)
  t.match(old, /: (the client certificate has expired|it refused the client certificate)/)
})

t.test('keys and credentials', async (t) => {
  const dir = tempDir(t)
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  const user = nkeys.createUser()
  const byKey = await serve(t, `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`)
  t.equal(await refusal(byKey.url, { nkey: write('good.nk', `${seedText(user)}\n`) }), undefined)
  const login = /: it refuses the login \(Authorization Violation\)$/
  t.match(await refusal(byKey.url, { nkey: write('bad.nk', seedText(nkeys.createUser())) }), login)
  const operator = natsOperator()
  const byToken = await serve(t, operator.settings)
  t.equal(await refusal(byToken.url, { creds: write('good.creds', operator.creds()) }), undefined)
  t.match(await refusal(byToken.url, { creds: write('other.creds', natsOperator().creds()) }), login)
  const expired = operator.creds(nkeys.createUser(), { exp: 1_000_000_000 })
  t.match(await refusal(byToken.url, { creds: write('old.creds', expired) }), login)
})

t.test('what is in the files is replaced while the connection is used', async (t) => {
  const dir = tempDir(t)
  const [first, second] = [nkeys.createUser(), nkeys.createUser()]
  const [old, young] = [makeAuthority(dir, 'old'), makeAuthority(dir, 'young')]
  const settings = (made: MadeCertificate, user: typeof first): string =>
    `${tlsSettings(made)}\nauthorization { users: [ { nkey: ${user.getPublicKey()} } ] }`
  const [ca, nkey] = [join(dir, 'ca.pem'), join(dir, 'user.nk')]
  writeFileSync(ca, old.cert)
  writeFileSync(nkey, seedText(first))
  const server = await serve(t, settings(old.issue('server'), first))
  const reasons: string[] = []
  const unreachable = (reason: string): void => void reasons.push(reason)
  const options = { servers: [server.url], name: 'test', replicas: 1, files: { ca, nkey }, unreachable }
  const nats = await openNats(options)
  t.teardown(() => nats.close())
  t.equal(nats.lostBecause, undefined)
  await server.stop()
  server.rewrite(settings(young.issue('server-2'), second))
  await server.start()
  await until('the reason is known', () => /no authority/.test(nats.lostBecause ?? ''))
  t.match(reasons.at(-1), /no authority that is trusted here \(WEIR_NATS_CA\)/)
  renameSync(young.certFile, ca)
  await until('the reason is another', () => /refuses the login/.test(nats.lostBecause ?? ''))
  // Half written: what the file held before is used, and the connection is not given up.
  writeFileSync(nkey, seedText(second).slice(0, 10))
  await until('the file is named', () => /user\.nk can't be used/.test(nats.lostBecause ?? ''))
  writeFileSync(nkey, seedText(second))
  await until('it is connected again', () => nats.isConnected)
  await nats.flush()
  t.equal(nats.lostBecause, undefined)
})
