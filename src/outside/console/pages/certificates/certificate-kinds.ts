/** Kinds of certificates and their like: how they are listed, what they show, and the form that makes one. */
import type { Client } from '../../../../words/client/client.js'
import type { FormField } from '../../parts/forms/declared-field.js'

/** An entry of any of the kinds: of certificates, some of these are known. */
export interface Certified {
  readonly id: string
  readonly created_at: string
  readonly description?: string
  readonly metadata?: string
  readonly not_before?: string
  readonly not_after?: string
  readonly valid_after?: string
  readonly valid_until?: string
  readonly subject_common_name?: string
  readonly subject_alternative_names?: {
    readonly dns_names: readonly string[]
    readonly ips: readonly string[]
  }
  readonly principals?: readonly string[]
  /** Clients that refuse an SSH host certificate. */
  readonly refused_by?: string | null
  readonly acl?: readonly string[]
  readonly public_key?: string
  readonly certificate?: string
  readonly certificate_pem?: string
  readonly ca_pem?: string
  readonly key_type?: string
  readonly private_key_type?: string
  readonly issuer_common_name?: string
  readonly serial_number?: string
  readonly ssh_certificate_authority_id?: string
}

/** Traffic: that of the domains with it. Signing: the certificates that it signed. Else a sentence why it is not known. */
type LastUse = 'traffic' | 'signing' | { readonly unknown: string }

export interface CertificateKind {
  /** As the API has it. */
  readonly kind: string
  readonly tab: string
  /** The purpose of the kind, in a sentence. */
  readonly about: string
  readonly operations: (client: Client) => CertificateOperations
  readonly form: (authorities: readonly Certified[]) => readonly FormField[]
  /** The loss that a deletion causes, in a sentence. */
  readonly deletion: string
  /** How Weir knows when it was used last. */
  readonly lastUse: LastUse
}

interface CertificateOperations {
  list(options: { readonly limit: number }): AsyncIterable<Certified>
  create(body: object): Promise<Certified>
  delete(id: string): Promise<void>
}

const description: FormField = { name: 'description', label: 'Description', as: 'text' }

const publicKey: FormField = {
  name: 'public_key',
  label: 'Public key',
  as: 'lines',
  hint: 'The content of the .pub file.',
}

const authorityChoice = (authorities: readonly Certified[]): FormField => ({
  name: 'ssh_certificate_authority_id',
  label: 'Signed by',
  as: 'choice',
  choices: authorities.map(({ id, description }) => [id, description || id]),
})

const validUntil = (usual: string): FormField => ({
  name: 'valid_until',
  label: 'Valid until',
  isOptional: true,
  as: 'text',
  placeholder: '2027-01-31T00:00:00Z',
  hint: `A time such as 2027-01-31T00:00:00Z. Without one: ${usual}.`,
})

/** The operations of every kind have this form; that an entry has only some of the members is in `Certified`. */
const any = (operations: unknown): CertificateOperations => operations as CertificateOperations

const keptOnly = { unknown: 'Weir keeps it and does not see its use.' }
const issuedOnly = { unknown: 'Weir issues it and does not see its use.' }

export const certificateKinds: readonly CertificateKind[] = [
  {
    kind: 'tls_certificate',
    tab: 'TLS',
    about: 'With one, programs that terminate TLS serve a domain.',
    operations: (client) => any(client.tlsCertificate),
    form: () => [
      description,
      {
        name: 'certificate_pem',
        label: 'Certificate and its chain (PEM)',
        as: 'lines',
        hint: "The server's own first, after each the one that issued it.",
      },
      {
        name: 'private_key_pem',
        label: 'Private key (PEM)',
        as: 'lines',
        hint: 'Stored sealed, and never shown again.',
      },
    ],
    deletion: 'Domains can no longer use it.',
    lastUse: 'traffic',
  },
  {
    kind: 'certificate_authority',
    tab: 'Client CAs',
    about: 'Programs that terminate TLS accept client certificates that such an authority issued.',
    operations: (client) => any(client.certificateAuthority),
    form: () => [
      description,
      {
        name: 'ca_pem',
        label: 'Certificate of the authority (PEM)',
        as: 'lines',
        hint: 'Begins with -----BEGIN CERTIFICATE-----.',
      },
    ],
    deletion: 'Client certificates that it issued are no longer accepted.',
    lastUse: keptOnly,
  },
  {
    kind: 'ssh_certificate_authority',
    tab: 'SSH CAs',
    about: 'One signs certificates of SSH hosts and users.',
    operations: (client) => any(client.sshCertificateAuthority),
    form: () => [
      description,
      {
        name: 'private_key_type',
        label: 'Kind of key',
        as: 'choice',
        choices: [
          ['ed25519', 'Ed25519'],
          ['ecdsa', 'ECDSA'],
          ['rsa', 'RSA'],
        ],
        hint: 'Weir makes the key, stores it sealed and never shows it.',
      },
    ],
    deletion: 'It signs no more certificates; those that it signed stay valid where it is trusted.',
    lastUse: 'signing',
  },
  {
    kind: 'ssh_host_certificate',
    tab: 'SSH hosts',
    about: 'One tells SSH clients that a host is who it says.',
    operations: (client) => any(client.sshHostCertificate),
    form: (authorities) => [
      description,
      authorityChoice(authorities),
      publicKey,
      {
        name: 'principals',
        label: 'Hosts',
        isOptional: true,
        as: 'list',
        hint: 'A name or address in each line, which suits all clients. None: every host. Before OpenSSH 10.3 clients take no patterns such as “*”, from 10.3 on no empty list.',
      },
      validUntil('a year from now'),
    ],
    deletion: 'Weir forgets it. The certificate itself stays valid until it expires.',
    lastUse: issuedOnly,
  },
  {
    kind: 'ssh_user_certificate',
    tab: 'SSH users',
    about: 'One lets a user sign in to SSH hosts that trust its authority.',
    operations: (client) => any(client.sshUserCertificate),
    form: (authorities) => [
      description,
      authorityChoice(authorities),
      publicKey,
      {
        name: 'principals',
        label: 'Users',
        as: 'list',
        hint: 'Whom it signs in as, one on each line: alice.',
      },
      validUntil('a day from now'),
    ],
    deletion: 'Weir forgets it. The certificate itself stays valid until it expires.',
    lastUse: issuedOnly,
  },
  {
    kind: 'ssh_credential',
    tab: 'SSH credentials',
    about: 'With one, an agent of a tunnel server signs in over SSH.',
    operations: (client) => any(client.sshCredential),
    form: () => [
      description,
      publicKey,
      {
        name: 'acl',
        label: 'Names it may serve',
        isOptional: true,
        as: 'list',
        hint: 'One on each line, as bind:www.example.com, bind:ssh.example.com:22 or bind:*.example.com. None: any name.',
      },
    ],
    deletion: 'The agent with this key is refused from now on.',
    lastUse: keptOnly,
  },
]

/** Since when and until when it is valid; `until` is undefined for what never expires. */
export const validityOf = (
  entry: Certified,
): { readonly from: string; readonly until: string | undefined } => ({
  from: entry.not_before ?? entry.valid_after ?? entry.created_at,
  until: entry.not_after ?? entry.valid_until,
})

/** The names of servers or users that it is for, or those that may be bound with it. */
export function namesOf({
  subject_alternative_names,
  principals,
  acl,
  subject_common_name,
}: Certified): string {
  if (subject_alternative_names !== undefined) {
    const names = [...subject_alternative_names.dns_names, ...subject_alternative_names.ips]
    if (names.length > 0) return names.join(', ')
  }
  if (principals !== undefined) return principals.length === 0 ? 'every host' : principals.join(', ')
  if (acl !== undefined) return acl.length === 0 ? 'anything' : acl.join(', ')
  return subject_common_name ?? ''
}

export const nameOfCertified = ({ description, subject_common_name, id }: Certified): string =>
  description || subject_common_name || id

/** The form with the values of an entry, for one that takes its place. */
export const formLike = (form: readonly FormField[], entry: Certified): FormField[] =>
  form.map((field) => {
    const value = renewed.has(field.name) ? entry[field.name as keyof Certified] : undefined
    if (value === undefined) return field
    return { ...field, initial: Array.isArray(value) ? value.join('\n') : String(value) }
  })

/** A new certificate has another certificate, key and end. */
const renewed = new Set(['description', 'ssh_certificate_authority_id', 'public_key', 'principals', 'acl'])

/** The domains of the account that use a TLS certificate. */
export const domainsWith = (client: Client, certificateId: string) =>
  client.domain.list({ filter: `certificate.id == ${JSON.stringify(certificateId)}` })

/** A field of the form for a TLS certificate that takes the place of another: what becomes of the domains. */
export const domainsField: FormField = {
  name: 'domains',
  label: 'Domains that use the old one',
  as: 'choice',
  choices: [
    ['move', 'use the new one'],
    ['keep', 'go on to use the old one'],
  ],
  hint: 'Once none uses the old one, it can be deleted.',
}
