/** The API's certificates in use: a real sshd shows and trusts them, and a real ssh trusts only the authority. */
import t from 'tap'
import type { NewResource } from '../../src/words/client/kinds.js'
import { openTestStore } from '../harness/api.js'
import { type KeyPairFiles, keyKinds, makeKeyFiles } from '../harness/ssh.js'
import { type Call, openSshd, ssh, sshVersion, withoutSshd } from '../harness/sshd.js'
import { tempDir } from '../harness/temp-dir.js'

const authorityKinds = [
  {},
  { private_key_type: 'rsa', key_size: 2048 },
  { private_key_type: 'rsa', key_size: 4096 },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp256' },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp384' },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp521' },
]

/**
 * With `--full`, each kind of authority signs for users with every kind of key, and is refused for every reason. Otherwise
 * each signs for one, so that every kind of key has its turn, and is refused for one.
 */
const isFull = process.argv.includes('--full')
const turn = <T>(all: readonly T[], at: number): readonly T[] => (isFull ? all : [all[at % all.length]!])

/** Fields of a host's and a user's certificate that a case does not set. */
interface Of {
  readonly host?: Partial<NewResource<'sshHostCertificate'>>
  readonly user?: Partial<NewResource<'sshUserCertificate'>>
}

const over = { valid_after: '2020-01-01T00:00:00Z', valid_until: '2021-01-01T00:00:00Z' }
const host = 'host.example'

/** A client honours patterns in certificates of hosts from OpenSSH 10.3 on, and refuses an empty list since then. */
const [, major = 0, minor = 0] = (/OpenSSH_(\d+)\.(\d+)/.exec(sshVersion()) ?? []).map(Number)
const knowsPatterns = major > 10 || (major === 10 && minor >= 3)

t.test('sshd', { skip: withoutSshd }, async (t) => {
  const dir = tempDir(t)
  const store = await openTestStore(t)
  const api = await store.api()
  const weir = await api.account()
  const keys = keyKinds.map((kind) => ({ name: kind.name, ...makeKeyFiles(dir, kind) }))

  /**
   * A server with a certificate of this host, and the call of a user with another one: both as given. `signed` makes
   * more certificates of users whom the server trusts.
   */
  async function called(kind: object, hostKey = keys[0]!, of: Of = {}) {
    const authority = await weir.sshCertificateAuthority.create(kind)
    const signedFor = ({ publicKey }: KeyPairFiles) => ({
      ssh_certificate_authority_id: authority.id,
      public_key: publicKey,
    })
    const signed = async (key: KeyPairFiles, body: Of['user'] = {}): Promise<string> =>
      (await weir.sshUserCertificate.create({ ...signedFor(key), principals: ['root'], ...body })).certificate
    const hostCertificate = await weir.sshHostCertificate.create({
      ...signedFor(hostKey),
      principals: [host],
      ...of.host,
    })
    const userKey = keys[0]!
    const server = await openSshd(dir, {
      hostKey: hostKey.file,
      hostCertificate: hostCertificate.certificate,
      userAuthority: authority.public_key,
    })
    const call: Call = {
      port: server.port,
      host,
      hostAuthority: authority.public_key,
      userKey: userKey.file,
      userCertificate: await signed(userKey, of.user),
    }
    return { server, call, signed, hostCertificate }
  }

  const stranger = await weir.sshCertificateAuthority.create({})

  for (const [at, kind] of authorityKinds.entries()) {
    const hostKey = keys[at % keys.length]!
    t.test(`${JSON.stringify(kind)} signs for a host with ${hostKey.name}, and for users`, async (t) => {
      const { server, call, signed } = await called(kind, hostKey)
      for (const userKey of turn(keys, at + 1)) {
        const ofUser = { ...call, userKey: userKey.file, userCertificate: await signed(userKey) }
        t.match(await ssh(dir, ofUser), { code: 0, output: 'here\n' }, `a user with ${userKey.name}`)
      }
      const refused: [string, Partial<Call>][] = [
        ['another host name', { host: 'other.example' }],
        ['another authority of hosts', { hostAuthority: stranger.public_key }],
        ['another user', { userCertificate: await signed(keys[0]!, { principals: ['nobody'] }) }],
        ['an expired user certificate', { userCertificate: await signed(keys[0]!, over) }],
      ]
      for (const [name, differing] of turn(refused, at))
        t.match(await ssh(dir, { ...call, ...differing }), { code: 255, output: '' }, name)
      await server.close()
    })
  }

  const accepted = [
    { name: 'a host among others', of: { host: { principals: ['192.0.2.1', host] } } },
    { name: 'a user among others', of: { user: { principals: ['nobody', 'root'] } } },
    {
      name: 'the address of the user',
      of: { user: { critical_options: { 'source-address': '192.0.2.1,127.0.0.0/8' } } },
    },
    {
      name: 'a forced command',
      of: { user: { critical_options: { 'force-command': 'echo forced' } } },
      output: 'forced\n',
    },
  ]
  for (const { name, of, output = 'here\n' } of accepted) {
    t.test(`accepted: ${name}`, async (t) => {
      const { server, call } = await called({}, keys[0], of)
      t.match(await ssh(dir, call), { code: 0, output })
      await server.close()
    })
  }

  for (const principals of [[], ['*'], ['*.example'], ['hos?.example', 'a.example']]) {
    const isAccepted = principals.length > 0 ? knowsPatterns : !knowsPatterns
    const names = `[${principals.join(', ')}]`
    t.test(`a host certificate for ${names}: ${isAccepted ? 'accepted' : 'refused'}`, async (t) => {
      const { server, call, hostCertificate } = await called({}, keys[0], { host: { principals } })
      const { code, errors } = await ssh(dir, call)
      if (isAccepted) t.equal(code, 0, errors)
      else t.match(errors, /principal/)
      t.match(
        hostCertificate.refused_by,
        isAccepted === knowsPatterns ? /^OpenSSH before/ : /^OpenSSH from/,
        'says so',
      )
      await server.close()
    })
  }

  const refused = [
    {
      name: 'another host name',
      says: /not a listed principal[\s\S]*Host key verification failed/,
      call: { host: 'other.example' },
    },
    {
      name: 'an expired host certificate',
      says: /expired[\s\S]*Host key verification failed/,
      of: { host: over },
    },
    {
      name: 'another authority of hosts',
      says: /Host key verification failed/,
      call: { hostAuthority: stranger.public_key },
    },
    { name: 'another user', says: /Permission denied/, of: { user: { principals: ['nobody'] } } },
    { name: 'an expired user certificate', says: /Permission denied/, of: { user: over } },
    {
      name: 'another address',
      says: /Permission denied/,
      of: { user: { critical_options: { 'source-address': '192.0.2.0/24' } } },
    },
  ]
  for (const { name, says, of = {}, call: differing = {} } of refused) {
    t.test(`refused: ${name}`, async (t) => {
      const { server, call } = await called({}, keys[0], of)
      const { code, output, errors } = await ssh(dir, { ...call, ...differing })
      t.equal(code, 255)
      t.equal(output, '')
      t.match(errors, says)
      await server.close()
    })
  }
})
