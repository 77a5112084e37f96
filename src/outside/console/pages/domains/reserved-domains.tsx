/**
 * Domains: the certificate of each and when it expires, when traffic last went there, and the DNS records that lead here.
 */
import { copyText } from '../../data/clipboard.js'
import { now } from '../../data/clock.js'
import { Button } from '../../kit/button.js'
import { Time } from '../../kit/time.js'
import { expiryOf } from '../../parts/expiry.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import {
  LastTrafficFact,
  LastTrafficOf,
  type TrafficAnswer,
  TrafficNote,
  useLastTraffic,
} from '../../parts/last-use.js'
import type { PlainResource } from '../../parts/plain/plain-resource.js'
import {
  CertificateCell,
  CertificateChoice,
  type CertifiedDomain,
  certificateChoices,
  certifiedDomains,
  Expires,
} from './domain-certificate.js'

const fields: readonly FormField[] = [
  {
    name: 'domain',
    label: 'Domain',
    as: 'text',
    hint: 'A name of yours, such as www.example.com, or *.example.com for all names below one.',
  },
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'What it is, for you and your colleagues: the shop.',
  },
]

export const reservedDomains: PlainResource<CertifiedDomain, TrafficAnswer> = {
  title: 'domain',
  place: { page: 'domains' },
  operations: ({ domain, tlsCertificate }) => ({
    list: (options) => certifiedDomains(domain.list(options), tlsCertificate.list(options)),
    create: (body) => domain.create(body),
    delete: (id) => domain.delete(id),
  }),
  useBeside: (count) => useLastTraffic('domain', count),
  nameOf: ({ domain }) => domain,
  list: {
    label: 'Domains; the certificate that expires next comes first',
    columns: (traffic) => [
      { title: 'Domain', isMain: true, cell: ({ domain }) => domain },
      { title: 'Certificate', cell: (domain) => <CertificateCell domain={domain} /> },
      { title: 'Expires', cell: (domain) => <Expires domain={domain} /> },
      { title: 'Last traffic', cell: ({ id }) => <LastTrafficOf traffic={traffic} id={id} /> },
      {
        title: 'CNAME',
        cell: ({ cname_target }) => <span class="mono">{cname_target}</span>,
        isWide: true,
      },
    ],
    orderOf: ({ known }) => expiryOf(known?.not_before ?? '', known?.not_after, now()).order,
    empty: (
      <p>No domain is reserved. An edge may serve names without; reserve one to keep others from using it.</p>
    ),
    note: (traffic) => <TrafficNote traffic={traffic} />,
  },
  form: {
    button: 'Reserve a domain',
    title: 'Reserve a domain',
    submit: 'Reserve',
    fields: async (client) => [
      ...fields,
      {
        name: 'certificate_id',
        label: 'Certificate',
        as: 'choice',
        choices: await certificateChoices(client),
        hint: 'What the name is served with over TLS. It can be chosen later.',
      },
    ],
    whenMade: 'open',
  },
  drawer: {
    title: ({ domain }) => domain,
    facts: (domain, traffic) => [
      ...(domain.description === undefined ? [] : [['Description', domain.description] as const]),
      [
        'Certificate',
        <span key="certificate">
          <CertificateCell domain={domain} /> <Expires domain={domain} />
        </span>,
      ],
      ['Last traffic', <LastTrafficFact key="traffic" traffic={traffic} id={domain.id} />],
      ['Reserved', <Time key="reserved" at={domain.created_at} />],
    ],
    below: (domain, again) => (
      <>
        <DnsRecords domain={domain} />
        <CertificateChoice domain={domain} again={again} />
      </>
    ),
  },
  removal: {
    button: 'Delete',
    confirm: ({ domain }) => `Anyone in this deployment can reserve ${domain} then.`,
    done: ({ domain }) => `${domain} is free again.`,
  },
}

/** The records that the DNS of the domain must have. */
function DnsRecords({
  domain: { domain, cname_target, acme_challenge_cname_target },
}: {
  readonly domain: CertifiedDomain
}) {
  const records = [
    [domain, cname_target],
    [`_acme-challenge.${domain.replace(/^\*\./, '')}`, acme_challenge_cname_target],
  ] as const
  return (
    <section class="stack" aria-label="DNS records">
      <h3>DNS records</h3>
      {records.map(
        ([name, target]) =>
          target != null && (
            <div key={name} class="row apart">
              <code>{`${name} CNAME ${target}`}</code>
              <Button onClick={() => copyText(target, target)}>Copy</Button>
            </div>
          ),
      )}
    </section>
  )
}
