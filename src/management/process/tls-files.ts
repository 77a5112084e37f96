/** Files of certificates and logins that settings name: checked at a start, so that a fault names its setting. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { messageOf } from '../../ground/core/errors.js'
import { checkCreds, checkSeed, type LoginFiles } from '../../ground/nats/login-files.js'
import { readSecretFile, SettingsError } from './secret-files.js'
import type { Settings } from './settings.js'

interface TlsFiles {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** How a connection to NATS proves who it is. Throws a `SettingsError` if one of its files is of no use. */
export function natsFiles({ urlFile: url, creds, nkey, ca, cert, key, tls }: Settings['nats']): LoginFiles {
  checkFile('WEIR_NATS_CREDS', creds, checkCreds, 'is no file of credentials (.creds)')
  checkFile('WEIR_NATS_NKEY', nkey, checkSeed, 'holds no seed of a user')
  checkTlsFiles('WEIR_NATS_', { ca, cert, key })
  return { url, creds, nkey, ca, cert, key, isTlsFirst: tls === 'first' }
}

/** The files themselves. Throws a `SettingsError` if one of them is of no use. `prefix`: of the names of the settings. */
export function checkTlsFiles(prefix: string, { ca, cert, key }: TlsFiles): void {
  checkFile(`${prefix}CA`, ca, checkCertificate, 'holds no certificate in PEM')
  checkFile(`${prefix}CERT`, cert, checkCertificate, 'holds no certificate in PEM')
  checkFile(`${prefix}KEY`, key, (bytes) => void createPrivateKey(bytes), 'holds no private key in PEM')
  if (cert === undefined || key === undefined) return
  const certificate = new X509Certificate(readSecretFile(`${prefix}CERT`, cert))
  if (certificate.checkPrivateKey(createPrivateKey(readSecretFile(`${prefix}KEY`, key)))) return
  throw new SettingsError(`${prefix}KEY names ${key}, which is not the key of the certificate in ${cert}.`)
}

const checkCertificate = (bytes: Buffer): void => void new X509Certificate(bytes)

/** `lack` says about the file what is wrong if the check throws. */
function checkFile(
  name: string,
  path: string | undefined,
  check: (bytes: Buffer) => void,
  lack: string,
): void {
  if (path === undefined) return
  const bytes = Buffer.from(readSecretFile(name, path))
  try {
    check(bytes)
  } catch (error) {
    throw new SettingsError(`${name} names ${path}, which ${lack} (${messageOf(error)}).`)
  }
}
