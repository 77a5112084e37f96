/** A decision, as tables of decisions show it: its cells and columns. */
import type { LoggedDecision } from '../../../words/shape/decisions/logged-decision.js'
import { countryName } from '../data/texts/format.js'
import { Link } from '../kit/link.js'
import type { Column } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { Name } from './name.js'
import { DecisionWord } from './words.js'

/** The client's address with what is known of its network. */
export const ClientCell = ({ entry }: { readonly entry: LoggedDecision }) => (
  <span class="mono whole">{entry.client_ip}</span>
)

/** The address, as a link to its decisions. */
export const ClientLink = ({ address }: { readonly address: string }) => (
  <Link class="mono whole" to={['search']} with={{ client: address, since: '24h' }}>
    {address}
  </Link>
)

const CountryCell = ({ entry: { country, asn } }: { readonly entry: LoggedDecision }) => (
  <span title={country === null ? undefined : countryName(country)}>
    {country ?? '–'}
    {asn !== null && <span class="quiet"> AS{asn}</span>}
  </span>
)

const EndpointCell = ({ entry }: { readonly entry: LoggedDecision }) => (
  <>
    {endpointOf(entry)}
    {entry.edge_id === null && <span class="quiet"> (no edge)</span>}
  </>
)

const endpointOf = ({ server_name, server_port }: LoggedDecision): string =>
  server_name === null ? '–' : server_port === null ? server_name : `${server_name}:${server_port}`

/** `get /path 200` of an HTTP request. */
const RequestCell = ({ entry: { method, path, status_code } }: { readonly entry: LoggedDecision }) =>
  method === null ? null : (
    <span class="mono">
      {method.toUpperCase()} {path} {status_code !== null && <span class="quiet">{status_code}</span>}
    </span>
  )

/** The decision, and what it would be if everything that is not enforced were, if that differs. */
export const DecisionCell = ({ entry: { decision, shadow } }: { readonly entry: LoggedDecision }) => (
  <>
    <DecisionWord decision={decision} />
    {shadow !== null && shadow.decision !== decision && (
      <span class="quiet"> (would be {shadow.decision})</span>
    )}
  </>
)

/** The rule, traffic policy or restriction that said no; nothing, if the client was let in. */
function DecidedByCell({ entry: { decided_by } }: { readonly entry: LoggedDecision }) {
  const { type, id, policy, rule_id } = decided_by
  if (type === 'none') return <span class="quiet">–</span>
  if (type === 'unserved') return <>no edge serves it</>
  if (rule_id !== null) return <Name id={rule_id} />
  if (type === 'traffic_policy') return <span title={id ?? undefined}>{policy ?? 'a traffic policy'}</span>
  return (
    <span title={id ?? undefined}>
      no rule of {type === 'restriction' ? 'the restriction' : 'the edge'} allows it
    </span>
  )
}

type DecisionColumn = Column<LoggedDecision>

/** A table says which of them matters, and which need a word on a narrow screen. */
export const decisionColumns = {
  time: { title: 'Time', cell: ({ at }) => <Time at={at} /> },
  /** A decision without an own time counts at the time when it was stored. */
  began: { title: 'Began', cell: ({ at, own_at }) => <Time at={own_at ?? at} /> },
  decision: { title: 'Decision', cell: (entry) => <DecisionCell entry={entry} /> },
  client: { title: 'Client', cell: (entry) => <ClientCell entry={entry} /> },
  from: { title: 'From', cell: (entry) => <CountryCell entry={entry} /> },
  endpoint: { title: 'Endpoint', cell: (entry) => <EndpointCell entry={entry} /> },
  request: { title: 'Request', cell: (entry) => <RequestCell entry={entry} /> },
  decidedBy: { title: 'Decided by', cell: (entry) => <DecidedByCell entry={entry} /> },
} as const satisfies Readonly<Record<string, DecisionColumn>>

/** The one that matters on a narrow screen. */
export const main = (column: DecisionColumn): DecisionColumn => ({ ...column, isMain: true })
export const wide = (column: DecisionColumn): DecisionColumn => ({ ...column, isWide: true })
