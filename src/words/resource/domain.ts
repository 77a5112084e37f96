/**
 * Domain names of an account, each with the account's own certificate or a request for a managed one.
 *
 * Weir neither obtains certificates nor sets DNS records: the fields of managed certificates are null, and the operator
 * of the deployment makes the target of a CNAME record resolve.
 */

import { disguiseIn, isUnder, parseHost } from '../../ground/core/address/host-name.js'
import { familyOf } from '../../ground/core/address/ip.js'
import {
  badRequest,
  complaintOf,
  ok,
  problem,
  type Result,
  shown,
  valueOr,
} from '../../ground/core/errors.js'
import { objectOf, oneOf, orNull, ruled, type Static, Type } from '../../ground/core/schema.js'
import { certificateTime } from './fields/certificate-fields.js'
import { domainClaim } from './fields/claimed-names.js'
import { asIs, derived, described, required, writable } from './fields/fields.js'
import { reference } from './fields/reference-fields.js'
import { defineResource, type RowOf } from './kind/define.js'
import { exampleId } from './kind/examples.js'
import type { tlsCertificate } from './tls-certificate.js'

/** Names of reserved domains: `app.example.com`, or `*.example.com` for all names one level below. */
const wildcard = '*.'

/** The name lower-cased, in the ASCII form of IDNA (RFC 5891), so that equal names are equal text. */
export function parseDomainName(text: string): Result<string> {
  const head = text.startsWith(wildcard) ? wildcard : ''
  const name = text.slice(head.length)
  const disguise = disguiseIn(name)
  if (disguise !== undefined) return problem(`the name ${disguise}`)
  const host = parseHost(name)
  if (!host.ok || !host.value.includes('.')) return problem(allowed)
  if (familyOf(host.value) !== undefined) return problem('an address is not a domain name')
  return ok(`${head}${host.value}`)
}

const allowed = 'a domain name such as "app.example.com" or "*.example.com" is needed'

/** For text that was checked before. */
const canonicalDomainName = (text: string): string => valueOr(parseDomainName(text), text)

/**
 * Does a name of a certificate cover the domain? A wildcard stands for exactly one label, the first (RFC 6125, 6.4.3);
 * a wildcard domain needs the same wildcard, as clients ask for any name below it.
 */
export function isCovered(domain: string, certified: string): boolean {
  const name = certified.toLowerCase()
  return name === domain || name === `${wildcard}${domain.slice(domain.indexOf('.') + 1)}`
}

const domainName = ruled(Type.String({ maxLength: 255 }), (text) => complaintOf(parseDomainName(text)))

const domainField = {
  ...required(domainName, { atCreation: true }),
  complete: canonicalDomainName,
}

const regions = ['au', 'eu', 'ap', 'us', 'us-cal-1', 'jp', 'in', 'sa'] as const

const authority = oneOf(['letsencrypt'])
const keyType = oneOf(['rsa', 'ecdsa'])
const policy = objectOf({ authority: Type.Optional(authority), private_key_type: Type.Optional(keyType) })
const wholePolicy = objectOf({ authority, private_key_type: keyType })

type Policy = Static<typeof policy>

const policyField = {
  ...writable(policy, { unset: 'null' }),
  complete: ({ authority = 'letsencrypt', private_key_type = 'rsa' }: Policy) => ({
    authority,
    private_key_type,
  }),
  shown: asIs(orNull(wholePolicy)),
  isDetachable: true as const,
}

const timeOrNull = orNull(certificateTime)
const job = objectOf({
  error_code: orNull(Type.String()),
  msg: Type.String(),
  started_at: certificateTime,
  retries_at: timeOrNull,
})
const status = objectOf({ renews_at: timeOrNull, provisioning_job: orNull(job) })

/** The name that a CNAME record of the domain must point to. */
const cnameTarget = (id: string, tcpDomain: string): string =>
  `${id.slice(idPrefix.length).toLowerCase()}.cname.${tcpDomain}`

/**
 * The name that `_acme-challenge` of a wildcard domain must point to; other domains are validated over HTTP. Like
 * `cname_target`, it does not change if the deployment's domain does.
 */
const challengeTarget = (domain: string, cnameTarget: string | null): string | null =>
  domain.startsWith(wildcard) && cnameTarget !== null ? cnameTarget.replace('.cname.', '.acme.') : null

const idPrefix = 'rd_'

export const domain = defineResource({
  kind: 'domain',
  idPrefix,
  path: '/reserved_domains',
  listName: 'reserved_domains',
  title: 'domain',
  about: 'A domain name of the account, with an uploaded certificate or a request for a managed one.',
  example: {
    domain: 'www.example.com',
    certificate_id: exampleId('cert_'),
    cname_target: '01kaj5t2q8xn4rb6tz5cdefghj.cname.weir.localhost',
  },
  audit: 'domain',
  fields: {
    ...described,
    domain: domainField,
    region: writable(oneOf(regions, 'Deprecated; has no effect.'), { atCreation: true, unset: 'null' }),
    cname_target: derived(Type.String(), { unset: 'null' }),
    certificate_id: {
      ...reference('tls_certificate', 'cert_', { shownAs: 'certificate', unset: 'null' }),
      isDetachable: true as const,
    },
    certificate_management_policy: policyField,
    certificate_management_status: derived(status, { unset: 'null' }),
    acme_challenge_cname_target: derived(Type.String(), { unset: 'null' }),
  },
  claims: ({ domain }) => [`${domainClaim}${domain}`],
  takenMessage: (claim) =>
    `"domain" is ${JSON.stringify(claim.slice(domainClaim.length))}, which is reserved already: a domain can be reserved only once in a deployment.`,
  overlapMessage: (claim) =>
    `"domain" is ${JSON.stringify(claim.slice(domainClaim.length))}, which overlaps with names of another account: it is at or below a wildcard or reserved domain of that account, or above names that it has already.`,
  derive(draft, previous, { tcpDomain }) {
    const { id, domain, acme_challenge_cname_target } = draft
    const cname_target = previous === undefined ? cnameTarget(id, tcpDomain) : draft.cname_target
    return {
      ...draft,
      cname_target,
      acme_challenge_cname_target: acme_challenge_cname_target ?? challengeTarget(domain, cname_target),
    }
  },
  // Wildcard domains may have been stored without a target for the challenge.
  embed: ({ domain, cname_target, acme_challenge_cname_target }) => ({
    acme_challenge_cname_target: acme_challenge_cname_target ?? challengeTarget(domain, cname_target),
  }),
  check(row, previous, lookups) {
    const { domain, certificate_id, certificate_management_policy } = row
    const { tcpDomain } = lookups
    if (previous === undefined && isUnder(tcpDomain, domain)) {
      throw badRequest(
        `"domain" is ${shown(domain)}: names under ${tcpDomain} belong to this deployment and can't be reserved.`,
      )
    }
    if (certificate_id === null) return
    if (certificate_management_policy !== null) {
      throw badRequest(
        '"certificate_id" and "certificate_management_policy" are both set: a certificate is managed or the account\'s own, so one of the two must be null.',
      )
    }
    if (certificate_id !== previous?.certificate_id) {
      checkNames(domain, lookups.get('tls_certificate', certificate_id) as StoredCertificate | undefined)
    }
  },
})

type StoredCertificate = RowOf<(typeof tlsCertificate)['fields']>

/** TLS clients refuse a certificate that does not name the domain. */
function checkNames(domain: string, certificate: StoredCertificate | undefined): void {
  if (certificate === undefined) return
  const names = namesOf(certificate)
  if (names.some((name) => isCovered(domain, name))) return
  const said = names.length === 0 ? 'no domain' : names.map((name) => JSON.stringify(name)).join(', ')
  throw badRequest(
    `"certificate_id" is ${shown(certificate.id)}, which does not name ${shown(domain)}: the certificate names ${said.length > namesCharsMax ? `${said.slice(0, namesCharsMax)}…` : said}.`,
  )
}

/** An error shows at most this much of a certificate's names. */
const namesCharsMax = 300

/** The common name counts only in certificates without DNS names (RFC 6125, 6.4.4). */
function namesOf({ subject_alternative_names, subject_common_name }: StoredCertificate): readonly string[] {
  const { dns_names } = subject_alternative_names
  if (dns_names.length > 0) return dns_names
  return subject_common_name === null ? [] : [subject_common_name]
}
