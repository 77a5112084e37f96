/** Why something was decided: what decided, who added it and who changed it last, and everything that was looked at. */
import type { Decision, Explanation as Explained } from '../../../words/shape/decisions/decision.js'
import type { LoggedDecision } from '../../../words/shape/decisions/logged-decision.js'
import { may } from '../data/access/session.js'
import { useAnswer } from '../data/asking/api.js'
import { whyOf } from '../data/decisions/why.js'
import { countryName, number } from '../data/texts/format.js'
import { Drawer } from '../kit/drawer.js'
import { type Fact, Facts } from '../kit/facts.js'
import { Link } from '../kit/link.js'
import { Time } from '../kit/time.js'
import { Added, Author, Chain } from './chain.js'
import { Decider, Readings, Shadow, Unserved } from './decider.js'
import { Answered } from './states.js'
import { DecisionWord } from './words.js'

export function Explanation({ decision }: { readonly decision: Decision }) {
  const { explanation, served, revision, warnings } = decision
  return (
    <div class="stack">
      <p class="verdict">
        <DecisionWord decision={decision.decision} />{' '}
        {explanation !== undefined && <Decider explanation={explanation} />}
      </p>
      {explanation !== undefined && <Readings explanation={explanation} />}
      {explanation !== undefined && <Shadow explanation={explanation} />}
      <Unserved decision={decision} of="account" />
      {warnings.map((warning) => (
        <p key={warning} class="warning-line">
          {warning}
        </p>
      ))}
      <dl class="facts">
        {explanation !== undefined && <Authors decidedBy={explanation.decided_by} />}
        {explanation !== undefined && (
          <>
            <dt>Served as</dt>
            <dd>
              {explanation.hostport ?? (
                <span class="quiet">{served ? 'the edge that it names' : 'no edge serves it'}</span>
              )}
            </dd>
          </>
        )}
        <dt>Configuration</dt>
        <dd>revision {number(revision)}</dd>
      </dl>
      {explanation !== undefined && <Chain explanation={explanation} />}
    </div>
  )
}

/** Who added the part that decided, and who changed it last. */
function Authors({ decidedBy }: { readonly decidedBy: Explained['decided_by'] }) {
  const { type, id, rule_id, added, last_change } = decidedBy
  const changed = rule_id ?? id
  if (type === 'none' || changed === null) return null
  const isWithin = rule_id === null && type !== 'restriction'
  return (
    <>
      <dt>Added</dt>
      <dd>{added ? <Added addition={added} /> : <span class="quiet">not known</span>}</dd>
      <dt>Last changed</dt>
      <dd>
        {last_change ? (
          <>
            <Time at={last_change.at} isRelative /> by{' '}
            <Author by={last_change.by} description={last_change.by_description} />, version{' '}
            {number(last_change.version)}
            {isWithin && <span class="quiet"> (the edge or route that has it)</span>}
          </>
        ) : (
          <span class="quiet">not known</span>
        )}{' '}
        ·{' '}
        <Link to={['changes']} with={{ id: changed }}>
          history
        </Link>
      </dd>
    </>
  )
}

/** The facts that an entry of the log has itself. */
export function EntryFacts({ entry }: { readonly entry: LoggedDecision }) {
  const { client_ip, country, asn, server_name, server_port, method, path, status_code, weight } = entry
  const entries: readonly Fact[] = [
    ['Client', <ClientText key="client" ip={client_ip} country={country} asn={asn} />],
    ['Endpoint', `${server_name ?? '?'}:${server_port ?? '?'}`],
    ...(entry.type === 'http_request'
      ? [['Request', [method?.toUpperCase(), path, status_code].filter(Boolean).join(' ') || '?'] as const]
      : []),
    [entry.source === 'asked' ? 'Asked' : 'Stored', <Time key="at" at={entry.at} />],
    ...(entry.own_at === null ? [] : [['Began', <Time key="began" at={entry.own_at} />] as const]),
    ['Record', <code key="record">{entry.record_id}</code>],
    ...(weight > 1 ? [['Stands for', `${number(weight)} questions`] as const] : []),
  ]
  return <Facts entries={entries} />
}

const ClientText = ({ ip, country, asn }: { ip: string; country: string | null; asn: number | null }) => (
  <>
    <span class="mono">{ip}</span>
    {country !== null && ` · ${countryName(country)}`}
    {asn !== null && ` · AS${asn}`}
  </>
)

interface WhyDrawerProps {
  readonly entry: LoggedDecision
  readonly onClose: () => void
}

/** Why an entry of the log was decided, over the list that has it. */
export function WhyDrawer({ entry, onClose }: WhyDrawerProps) {
  const answer = useAnswer([entry.id], async (client) => ({ of: entry.id, why: await whyOf(client, entry) }))
  return (
    <Drawer title={`Why ${entry.decision}? ${entry.client_ip}`} onClose={onClose}>
      <EntryFacts entry={entry} />
      <p class="row">
        <Link to={['explain', entry.record_id]} with={{ decision: entry.id }}>
          Explain: then and now, its events
        </Link>
        <Link to={['search']} with={{ client: entry.client_ip }}>
          all of this client
        </Link>
        {may('write') && (
          <Link to={['ip-policies']} with={{ add: entry.client_ip }}>
            start a rule
          </Link>
        )}
      </p>
      <Answered answer={answer}>
        {({ of, why: { explained, missing } }) =>
          // An answer about the entry that was open before.
          of === entry.id && (
            <>
              {explained !== null && <Explanation decision={explained} />}
              {missing !== null && <p class="quiet">{missing}</p>}
            </>
          )
        }
      </Answered>
    </Drawer>
  )
}
