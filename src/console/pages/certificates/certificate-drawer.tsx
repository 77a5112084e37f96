/** One certificate or credential: its facts, its text to copy, its replacement and its end. */
import { act, firstOf, useAnswer } from '../../data/asking/api.js'
import { kindTitle } from '../../data/resources/resource-kinds.js'
import { copyText } from '../../data/texts/clipboard.js'
import { Button, EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { ExpiryWord } from '../../parts/expiry-word.js'
import { LastTrafficFact, type TrafficAnswer } from '../../parts/last-use.js'
import { HistoryLink, Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Answered, AnsweredInLine } from '../../parts/states.js'
import { Time } from '../../parts/time.js'
import {
  type CertificateKind,
  type Certified,
  domainsWith,
  lastSigned,
  nameOfCertified,
  namesOf,
  validityOf,
} from './certificate-kinds.js'

interface CertificateDrawerProps {
  readonly kind: CertificateKind
  readonly entry: Certified
  readonly traffic: TrafficAnswer
  readonly onClose: () => void
  readonly onRenew: () => void
  readonly onDeleted: () => void
}

export function CertificateDrawer(props: CertificateDrawerProps) {
  const { kind, entry, traffic, onClose, onRenew, onDeleted } = props
  const title = kindTitle(kind.kind)
  const { until } = validityOf(entry)
  const remove = async (): Promise<void> => {
    if (!(await act(`The ${title} is deleted.`, (client) => kind.operations(client).delete(entry.id)))) return
    onClose()
    onDeleted()
  }
  return (
    <Drawer title={`${title}: ${nameOfCertified(entry)}`} onClose={onClose}>
      <Facts kind={kind} entry={entry} traffic={traffic} />
      {kind.kind === 'tls_certificate' && <UsedBy id={entry.id} />}
      <p>
        <HistoryLink id={entry.id} />
      </p>
      {textsOf(entry).map(([label, text]) => (
        <section key={label} class="stack" aria-label={label}>
          <div class="row apart">
            <h3>{label}</h3>
            <Button onClick={() => copyText(text, label)}>Copy</Button>
          </div>
          <pre>{text}</pre>
        </section>
      ))}
      <div class="row">
        {until !== undefined && <EditButton onClick={onRenew}>Renew: make a new one</EditButton>}
        <EditButton
          kind="danger"
          onClick={remove}
          confirm={`Delete the ${title} “${nameOfCertified(entry)}”? ${kind.deletion}`}
        >
          Delete
        </EditButton>
      </div>
    </Drawer>
  )
}

const usersMax = 50

/** The domains that it is kept for. */
function UsedBy({ id }: { readonly id: string }) {
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

type UsedEntry = Pick<CertificateDrawerProps, 'kind' | 'entry' | 'traffic'>

function LastUse({ kind: { lastUse }, entry, traffic }: UsedEntry) {
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

function Facts({ kind, entry, traffic }: UsedEntry) {
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
  return (
    <dl class="facts">
      <dt>Id</dt>
      <dd class="mono">{entry.id}</dd>
      {until !== undefined && (
        <>
          <dt>Expires</dt>
          <dd>
            <ExpiryWord from={from} until={until} />
          </dd>
          <dt>Valid</dt>
          <dd>
            <Time at={from} /> to <Time at={until} />
          </dd>
        </>
      )}
      <dt>Last use</dt>
      <dd>
        <LastUse kind={kind} entry={entry} traffic={traffic} />
      </dd>
      {authority !== undefined && (
        <>
          <dt>Signed by</dt>
          <dd>
            <Name id={authority} />
          </dd>
        </>
      )}
      {others
        .filter(([, value]) => value)
        .map(([label, value]) => [<dt key={label}>{label}</dt>, <dd key={`${label} value`}>{value}</dd>])}
      <dt>Added</dt>
      <dd>
        <Time at={entry.created_at} />
      </dd>
    </dl>
  )
}

/** Public texts: certificates and public keys. */
const textsOf = ({
  certificate,
  certificate_pem,
  ca_pem,
  public_key,
}: Certified): (readonly [string, string])[] =>
  (
    [
      ['Certificate', certificate ?? certificate_pem ?? ca_pem],
      ['Public key', public_key],
    ] as const
  ).flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]))
