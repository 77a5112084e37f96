/** A real sshd for each connection, started as by inetd, and a real ssh. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'

const sshd = '/usr/sbin/sshd'
/** The directory for sshd's privilege separation; usually a service manager creates it. */
const privilegeSeparation = '/run/sshd'

/** `OpenSSH_9.2p1 …`; empty if there is no ssh. */
export const sshVersion = (): string => spawnSync('ssh', ['-V'], { encoding: 'utf8' }).stderr ?? ''

/** Why a test must be skipped; only root can log in other users. */
export const withoutSshd =
  process.getuid?.() !== 0 || !existsSync(sshd) || spawnSync('ssh', ['-V']).error !== undefined
    ? 'no sshd'
    : false

interface Sshd {
  readonly port: number
  close(): Promise<void>
}

/** Contents of a server's files: a host key with its certificate, and an authority of users. */
interface SshdFiles {
  readonly hostKey: string
  readonly hostCertificate: string
  readonly userAuthority: string
}

const lines = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} "${value}"\n`)
    .join('')

/** Listens on a free loopback port. */
export async function openSshd(
  dir: string,
  { hostKey, hostCertificate, userAuthority }: SshdFiles,
): Promise<Sshd> {
  mkdirSync(privilegeSeparation, { recursive: true })
  const own = mkdtempSync(join(dir, 'sshd-'))
  const write = (name: string, text: string): string => {
    writeFileSync(join(own, name), `${text}\n`, { mode: 0o600 })
    return join(own, name)
  }
  const config = write(
    'config',
    lines({
      HostKey: hostKey,
      HostCertificate: write('host-cert.pub', hostCertificate),
      TrustedUserCAKeys: write('users.pub', userAuthority),
      AuthorizedKeysFile: 'none',
      PasswordAuthentication: 'no',
      PermitRootLogin: 'prohibit-password',
      StrictModes: 'no',
      UsePAM: 'no',
    }),
  )
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    const child = spawn(sshd, ['-i', '-f', config], { stdio: [socket, socket, 'ignore'] })
    child.on('exit', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Who connects to which host, and what they trust. */
export interface Call {
  readonly port: number
  /** The name that the server's certificate must have. */
  readonly host: string
  readonly hostAuthority: string
  readonly userKey: string
  readonly userCertificate: string
}

/** Runs `echo here` on the host; resolves with the output, or with the reason for a failure. */
export function ssh(dir: string, call: Call): Promise<{ code: number; output: string; errors: string }> {
  const own = mkdtempSync(join(dir, 'ssh-'))
  const certificate = join(own, 'user-cert.pub')
  const known = join(own, 'known')
  writeFileSync(certificate, `${call.userCertificate}\n`)
  writeFileSync(known, `@cert-authority * ${call.hostAuthority}\n`)
  const config = join(own, 'config')
  writeFileSync(
    config,
    lines({
      BatchMode: 'yes',
      CertificateFile: certificate,
      GlobalKnownHostsFile: '/dev/null',
      HostKeyAlias: call.host,
      IdentitiesOnly: 'yes',
      IdentityAgent: 'none',
      IdentityFile: call.userKey,
      StrictHostKeyChecking: 'yes',
      User: 'root',
      UserKnownHostsFile: known,
    }),
  )
  const args = ['-F', config, '-p', String(call.port), '127.0.0.1', 'echo', 'here']
  return new Promise((resolve) => {
    execFile('ssh', args, (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output, errors })
    })
  })
}
