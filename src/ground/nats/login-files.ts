/**
 * Files by which a connection proves who it is, and by which it knows the server. They are read again for each connection, so
 * that what is in them can be replaced while the process runs.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from '@nats-io/nats-core'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { messageOf } from '../core/errors.js'

/** Paths. */
export interface LoginFiles {
  /** Addresses as in the settings, the first one with a user and a password. */
  readonly url?: string | undefined
  /** A token and a key, as `nsc` writes them (`.creds`). */
  readonly creds?: string | undefined
  /** The seed of a key. */
  readonly nkey?: string | undefined
  /** Certificates of authorities, in PEM; default: those that Node trusts. */
  readonly ca?: string | undefined
  /** The certificate of this client, in PEM, and its key. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** TLS begins at once, and not after the server's greeting. */
  readonly isTlsFirst?: boolean
}

/** `report` takes a sentence when a file can't be used and what it held before is. */
export function fileAuthenticator(
  { url, creds, nkey }: LoginFiles,
  report: (sentence: string) => void,
): Authenticator | undefined {
  if (url !== undefined) return lastReadable(url, passwordAuthenticator, report)
  if (creds !== undefined) return lastReadable(creds, credsAuthenticator, report)
  return nkey === undefined ? undefined : lastReadable(nkey, seedAuthenticator, report)
}

/** Throws if it holds no token and key. */
export const checkCreds = (bytes: Uint8Array): void => void credsAuthenticator(bytes)(nonce)

/** Throws if it holds no seed of a user. */
export function checkSeed(bytes: Uint8Array): void {
  const { nkey = '' } = seedAuthenticator(bytes)(nonce) as { readonly nkey?: string }
  if (!nkey.startsWith('U')) throw new Error('it is no seed of a user')
}

/** Any text does to find out whether there is a key that can sign. */
const nonce = 'nonce'

/** Programs that make seeds end them with a line break, and may write the public key below. */
const seedAuthenticator = (bytes: Uint8Array): Authenticator => {
  const [seed = ''] = Buffer.from(bytes).toString('utf8').trim().split(/\s+/)
  return nkeyAuthenticator(new TextEncoder().encode(seed))
}

const passwordAuthenticator = (bytes: Uint8Array): Authenticator => {
  const [first = ''] = Buffer.from(bytes).toString('utf8').split(',')
  const { user, pass } = passwordIn(new URL(serverUrl(first)))
  if (user === '') throw new Error('its first address has no user')
  return () => ({ user, pass })
}

/** The user and the password of an address. */
export const passwordIn = ({
  username,
  password,
}: URL): { readonly user: string; readonly pass: string } => ({
  user: decodeURIComponent(username),
  pass: decodeURIComponent(password),
})

/** An address as in the settings, where the protocol may be missing. */
export const serverUrl = (server: string): string => {
  const text = server.trim()
  return text.includes('://') ? text : `nats://${text}`
}

/**
 * Reads the file at each login. The library would close the connection for good if that failed: a file that is missing for a
 * moment, or half written, must not do that.
 */
function lastReadable(
  path: string,
  authenticatorOf: (bytes: Uint8Array) => Authenticator,
  report: (sentence: string) => void,
): Authenticator {
  let last: Authenticator | undefined
  return (nonce) => {
    try {
      const present = authenticatorOf(readFileSync(path))
      const login = present(nonce)
      last = present
      return login
    } catch (error) {
      const fault = `${path} can't be used (${messageOf(error)})`
      if (last === undefined) throw new Error(fault)
      report(`${fault}: what it held before is.`)
      return last(nonce)
    }
  }
}

/** The option `tls`, whose files the library reads for each connection; undefined if nothing asks for TLS. */
export function tlsOptions(
  { ca, cert, key, isTlsFirst }: LoginFiles,
  urls: readonly URL[],
): NodeConnectionOptions['tls'] | undefined {
  const files = {
    ...(ca !== undefined && { caFile: ca }),
    ...(cert !== undefined && { certFile: cert }),
    ...(key !== undefined && { keyFile: key }),
    ...(isTlsFirst && { handshakeFirst: true }),
  }
  const isWanted = Object.keys(files).length > 0 || urls.some(({ protocol }) => protocol === 'tls:')
  const hosts = urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''))
  return isWanted ? ({ ...files, ...identityOf(hosts) } as NodeConnectionOptions['tls']) : undefined
}

/** What Node compares a certificate with if the library names no server. */
const unnamed = 'localhost'

/**
 * The library names no server to Node if it connects to an address, and Node then accepts any certificate for `localhost`, and
 * none for the address. A certificate must be for one of the addresses that were configured.
 */
const identityOf = (hosts: readonly string[]) => ({
  checkServerIdentity: (host: string, certificate: PeerCertificate): Error | undefined => {
    if (host !== unnamed || hosts.includes(unnamed)) return checkServerIdentity(host, certificate)
    const addresses = hosts.filter((each) => isIP(each) !== 0)
    const faults = (addresses.length === 0 ? hosts : addresses).map((each) =>
      checkServerIdentity(each, certificate),
    )
    return faults.includes(undefined) ? undefined : faults[0]
  },
})
