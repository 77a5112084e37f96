/** The fields that host and user certificates share, and how one is issued. */

import { createPrivateKey, randomBytes } from 'node:crypto'
import { isoSeconds } from '../../ground/core/clock.js'
import { badRequest } from '../../ground/core/errors.js'
import { principalsPerCertificateMax } from '../../ground/core/limits.js'
import { boundedBytes, ruled, Type } from '../../ground/core/schema.js'
import {
  type SshCertificate,
  signedPrincipals,
  signSshCertificate,
  sshNonceBytes,
} from '../../ground/pki/ssh-certificate.js'
import { checkedSshPublicKey } from '../../ground/pki/ssh-public-key.js'
import { asIs, assigned, defaulted, derived, described, required, writable } from './fields/fields.js'
import { idSchema } from './fields/id-schema.js'
import { reference } from './fields/reference-fields.js'
import { sshKeyTypeField, sshPublicKeyField } from './fields/ssh-key-fields.js'
import { canonicalTime, lastSecond, secondsOf, timestamp } from './fields/timestamp-field.js'
import type { PrepareTools, RowOf } from './kind/define.js'
import { exampleId, exampleSshKey } from './kind/examples.js'
import { authorityKey, sshCertificateAuthority } from './ssh-certificate-authority.js'

/** A host name has at most 253 (RFC 1035, section 2.3.4), a user name usually 32. */
const principalBytesMax = 255

/** A comma would split it in `ssh-keygen -n` and in the options of authorized_keys; a hyphen in front makes it an option. */
const principal = ruled(boundedBytes(principalBytesMax), (text) => {
  if (text === '') return 'a name or an address is needed'
  if (text.startsWith('-')) return 'it must not begin with a hyphen'
  return /[,\s\p{C}]/u.test(text) ? 'it must have no commas, white space or control characters' : undefined
})

const hosts = Type.Array(principal, {
  maxItems: principalsPerCertificateMax,
  description:
    'Names and addresses of hosts, or patterns with `*` and `?`. None: every host. `refused_by` says which clients refuse it.',
})

const users = Type.Array(principal, {
  minItems: 1,
  maxItems: principalsPerCertificateMax,
  description: 'Names of users. Servers refuse a certificate without any.',
})

export const hostPrincipals = defaulted(hosts, [], { atCreation: true })
export const userPrincipals = required(users, { atCreation: true })

/**
 * No certificate for every host suits every client: see `refusedBy`. An operator chooses what is signed if none is named.
 */
const everyHost = { empty: [], star: ['*'] } as const

const time = {
  ...writable(timestamp, { atCreation: true, unset: 'never' }),
  complete: canonicalTime,
  shown: asIs(Type.String({ format: 'date-time' })),
}

const authority = reference(sshCertificateAuthority.kind, sshCertificateAuthority.idPrefix, {
  shownAs: 'ssh_certificate_authority_id',
  required: true,
  atCreation: true,
})

const authorityId = {
  ...authority,
  shown: asIs(idSchema(sshCertificateAuthority.kind, sshCertificateAuthority.idPrefix)),
}

/** In the order in which they are shown. */
export const sshCertificateFields = <P extends typeof hostPrincipals | typeof userPrincipals>(
  principals: P,
) => ({
  ...described,
  public_key: sshPublicKeyField,
  key_type: sshKeyTypeField,
  ssh_certificate_authority_id: authorityId,
  principals,
  valid_after: time,
  valid_until: time,
  certificate: assigned(Type.String({ description: 'The content of a -cert.pub file.' })),
})

export const sshCertificateExample = {
  ssh_certificate_authority_id: exampleId(sshCertificateAuthority.idPrefix),
  public_key: exampleSshKey,
  key_type: 'ed25519',
  valid_after: '2026-11-20T10:00:00Z',
  valid_until: '2036-11-20T10:00:00Z',
  certificate: 'ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t…',
}

type Draft = RowOf<Omit<ReturnType<typeof sshCertificateFields>, 'principals'>> & {
  readonly principals: readonly string[]
}
type IssuedFields = Pick<Draft, 'key_type' | 'valid_after' | 'valid_until' | 'certificate'>

/** The differences between host and user certificates. */
interface CertificateTraits extends Pick<SshCertificate, 'type' | 'criticalOptions' | 'extensions'> {
  /** How long it is valid by default. */
  readonly seconds: number
}

/** Signs the certificate that a draft describes, with the key of the authority that it names. */
export async function issueCertificate(
  draft: Draft,
  { seconds, ...traits }: CertificateTraits,
  tools: PrepareTools,
): Promise<IssuedFields> {
  const { validAfter, validBefore } = validityOf(draft, seconds)
  const key = checkedSshPublicKey(draft.public_key)
  const { account_id, ssh_certificate_authority_id: authorityId } = draft
  const authority = createPrivateKey(await tools.unsealed(authorityKey({ account_id, id: authorityId })))
  const { id: keyId, principals: named } = draft
  const principals = traits.type === 'host' && named.length === 0 ? everyHost[tools.sshAnyHost] : named
  const certificate = await signSshCertificate(
    { ...traits, key, keyId, principals, validAfter, validBefore },
    authority,
    randomBytes(sshNonceBytes),
  )
  return {
    key_type: key.type,
    valid_after: isoSeconds(validAfter * 1000),
    valid_until: isoSeconds(validBefore * 1000),
    certificate,
  }
}

/** Clients that refuse a host certificate of the account for some or all of its hosts. */
export const refusedByField = derived(
  Type.String({
    description: 'Clients that refuse the certificate, for which hosts and why; null if none is known.',
  }),
  { unset: 'null' },
)

const patternsShownMax = 3

/**
 * Until OpenSSH 10.3, an empty list was valid for every host, and a pattern was compared like a name. Since then an
 * empty list is refused, and patterns are matched. Read from what was signed, because the default may have changed.
 */
export function refusedBy(certificate: string): string | null {
  const signed = signedPrincipals(certificate)
  if (signed === undefined) return null
  if (signed.length === 0) return 'OpenSSH from 10.3 on, for every host, because it names none.'
  const patterns = signed.filter((name) => /[*?]/.test(name))
  if (patterns.length === 0) return null
  const some = patterns.slice(0, patternsShownMax).map((pattern) => JSON.stringify(pattern))
  const more = patterns.length - some.length
  const all = more > 0 ? [...some, `${more} more`] : some
  const only = all.length === 1 ? 'it takes that' : 'it takes these'
  return `OpenSSH before 10.3, for hosts that only ${all.join(', ')} would match, because ${only} for a name.`
}

/** By default valid from now on; the default duration counts from the start, or from now if the start is in the past. */
function validityOf(
  { created_at, valid_after, valid_until }: Draft,
  seconds: number,
): Pick<SshCertificate, 'validAfter' | 'validBefore'> {
  const present = created_at / 1000
  const validAfter = valid_after === null ? present : secondsOf(valid_after)
  const usualEnd = Math.min(Math.max(present, validAfter) + seconds, lastSecond)
  const validBefore = valid_until === null ? usualEnd : secondsOf(valid_until)
  if (validBefore > validAfter) return { validAfter, validBefore }
  const [from, to] = [validAfter, validBefore].map((time) => isoSeconds(time * 1000))
  throw badRequest(`"valid_until" is "${to}", but must be later than "valid_after", which is "${from}".`)
}
