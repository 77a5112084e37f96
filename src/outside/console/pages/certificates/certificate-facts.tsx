/** One certificate or credential, as it is shown: its facts, the domains that use it, its text to copy. */
import type { Client } from '../../../../words/client/client.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { copyText } from '../../data/clipboard.js'
import { Button } from '../../kit/button.js'
import type { Fact } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { ExpiryWord } from '../../parts/expiry.js'
import { LastTrafficFact, type TrafficAnswer } from '../../parts/last-use.js'
import { Name } from '../../parts/name.js'
import { Answered, AnsweredInLine } from '../../parts/states.js'
import {
  type CertificateKind,
  type Certified,
  domainsWith,
  namesOf,
  validityOf,
} from './certificate-kinds.js'

export function certificateFacts(
  kind: CertificateKind,
  entry: Certified,
  traffic: TrafficAnswer,
): readonly Fact[] {
  const { from, until } = validityOf(entry)
  const { ssh_certificate_authority_id: authority } = entry
  const others = [
    ['For', namesOf(entry)],
    ['Refused by', entry.refused_by],
    ['Issued by', entry.issuer_common_name],
    ['Serial number', entry.serial_number],
    ['Key', entry.key_type ?? entry.private_key_type],
    ['Metadata', entry.metadata],
  ] as const
  const lastUse: Fact = ['Last use', <LastUse key="use" {...{ kind, entry, traffic }} />]
  return [
    ...(until === undefined ? [] : validityFacts(from, until)),
    lastUse,
    ...(authority === undefined ? [] : [['Signed by', <Name key="authority" id={authority} />] as const]),
    ...others.filter(([, value]) => value),
    ['Added', <Time key="added" at={entry.created_at} />],
  ]
}

const validityFacts = (from: string, until: string): readonly Fact[] => [
  ['Expires', <ExpiryWord key="expires" from={from} until={until} />],
  [
    'Valid',
    <span key="valid">
      <Time at={from} /> to <Time at={until} />
    </span>,
  ],
]

interface LastUseProps {
  readonly kind: CertificateKind
  readonly entry: Certified
  readonly traffic: TrafficAnswer
}

function LastUse({ kind: { lastUse }, entry, traffic }: LastUseProps) {
  if (lastUse === 'signing') return <LastSigned id={entry.id} />
  if (lastUse !== 'traffic') return <span class="quiet">{lastUse.unknown}</span>
  return (
    <>
      traffic of its domains: <LastTrafficFact traffic={traffic} id={entry.id} />
    </>
  )
}

function LastSigned({ id }: { readonly id: string }) {
  const answer = useAnswer([id], async (client) => ({ at: await lastSigned(client, id) }))
  return (
    <AnsweredInLine answer={answer}>
      {({ at }) =>
        at === undefined ? (
          <span class="quiet">it signed no certificate that still exists</span>
        ) : (
          <>
            signed <Time at={at} isRelative />
          </>
        )
      }
    </AnsweredInLine>
  )
}

/** When an SSH authority signed last, as far as its certificates still exist; undefined: it has none. */
async function lastSigned(client: Client, authorityId: string): Promise<string | undefined> {
  const signed = { filter: `ssh_certificate_authority_id == ${JSON.stringify(authorityId)}`, limit: 1 }
  const found = await Promise.all(
    [client.sshHostCertificate, client.sshUserCertificate].map((kind) =>
      firstOf<Certified>(kind.list(signed), 1),
    ),
  )
  return found
    .flatMap(({ entries }) => entries.map(({ created_at }) => created_at))
    .sort()
    .at(-1)
}

const usersMax = 50

/** The domains that a TLS certificate is kept for. */
export function UsedBy({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (client) => firstOf(domainsWith(client, id), usersMax))
  return (
    <Answered answer={answer}>
      {({ entries, hasMore }) => (
        <p>
          {entries.length === 0 ? 'No domain uses it.' : 'Used by: '}
          {entries.map((domain, index) => (
            <>
              {index > 0 && ', '}
              <Link key={domain.id} to={['domains', domain.id]}>
                {domain.domain}
              </Link>
            </>
          ))}
          {hasMore && ' and others'}
        </p>
      )}
    </Answered>
  )
}

/** Certificates and public keys. */
export function PublicTexts({
  entry: { certificate, certificate_pem, ca_pem, public_key },
}: {
  readonly entry: Certified
}) {
  const texts = [
    ['Certificate', certificate ?? certificate_pem ?? ca_pem],
    ['Public key', public_key],
  ] as const
  return (
    <>
      {texts.map(
        ([label, text]) =>
          text !== undefined && (
            <section key={label} class="stack" aria-label={label}>
              <div class="row apart">
                <h3>{label}</h3>
                <Button onClick={() => copyText(text, label)}>Copy</Button>
              </div>
              <pre>{text}</pre>
            </section>
          ),
      )}
    </>
  )
}
