/** The servers of a destination that speaks TCP, as an account names them, and the certificates that it trusts. */
import { X509Certificate } from 'node:crypto'
import { documented, objectOf, ruled, Type } from '../../../ground/core/schema.js'
import { optional } from './target-options.js'

const serversMax = 16
const certificatesCharsMax = 64 * 1024

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Names have letters in the last label, so that nothing else can be read as an address. */
const hostForm = /^(?:(?=.{1,253}:)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*|\[[0-9a-f:.]+\]):(\d{1,5})$/i
const portMax = 65_535

/** Parses `host:port`; undefined if the text has another form. */
export function parseHostPort(text: string): HostPort | undefined {
  const port = Number(hostForm.exec(text)?.[1] ?? 0)
  if (port < 1 || port > portMax) return undefined
  return { host: text.slice(0, text.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1'), port }
}

const natsPort = 4222

export interface NatsServer extends HostPort {
  readonly hasTls: boolean
}

/** `nats://host:4222`, or `tls://host:4222`; the port may be left out. */
export function parseNatsServer(text: string): NatsServer | undefined {
  const [, scheme, place] = /^(nats|tls):\/\/([^/@?#]+)$/.exec(text) ?? []
  if (place === undefined) return undefined
  const found = parseHostPort(/:\d+$/.test(place.replace(/^\[.*\]/, '')) ? place : `${place}:${natsPort}`)
  return found && { ...found, hasTls: scheme === 'tls' }
}

/** A list of servers in the form that `parse` reads. */
export const serverList = (parse: (text: string) => unknown, example: string, pattern: string) =>
  Type.Array(
    ruled(Type.String({ maxLength: 300, ...documented({ pattern }) }), (text) =>
      parse(text) === undefined ? `a server is written as ${example}` : undefined,
    ),
    { minItems: 1, maxItems: serversMax, description: `Such as ${example}. One of them is enough.` },
  )

function brokenCertificates(pem: string): string | undefined {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    for (const each of found) new X509Certificate(each)
    return found.length > 0 ? undefined : 'certificates in PEM are expected'
  } catch {
    return 'a certificate cannot be read'
  }
}

/** Its presence means that connections are encrypted. */
export const tlsOption = optional(
  objectOf(
    {
      ca: optional(
        ruled(
          Type.String({
            maxLength: certificatesCharsMax,
            description: 'Certificates of authorities, in PEM. Default: those that public servers have.',
          }),
          brokenCertificates,
        ),
      ),
    },
    { description: 'Connections are encrypted, and the certificate must be for the host that is named.' },
  ),
)
