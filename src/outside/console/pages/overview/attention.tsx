/** Whether all is well, in one sentence; and what needs a hand, with a link to where it can be done. */
import type { Attention, OverviewAnswer } from '../../../../words/shape/overview.js'
import { may, maySeeDeployment } from '../../data/access/session.js'
import { useAnswer } from '../../data/asking/api.js'
import type { Asked } from '../../data/asking/questions.js'
import { now } from '../../data/clock.js'
import { openEntry, type Parameters } from '../../data/location.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { number, withLocalTimes } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { OperatorActions } from '../../parts/operator-actions.js'
import { Answered } from '../../parts/states.js'
import { StateWord, type Tone } from '../../parts/words.js'

const barTones: Readonly<Record<OverviewAnswer['state'], Tone>> = {
  ok: 'good',
  attention: 'warning',
  failing: 'bad',
}
const tones: Readonly<Record<Attention['severity'], Tone>> = {
  failing: 'bad',
  attention: 'warning',
  notice: 'quiet',
}

export const StateBar = ({ overview }: { readonly overview: OverviewAnswer }) => (
  <div class={`state-bar ${barTones[overview.state]}`} role="status">
    <StateWord tone={barTones[overview.state]} text={withLocalTimes(overview.sentence, now())} />
    {overview.unknown.map(({ part, reason }) => (
      <p key={part} class="quiet">
        {part.replaceAll('_', ' ')}: not known. {reason}
      </p>
    ))}
  </div>
)

export const AttentionPanel = ({ answer }: { readonly answer: Asked<OverviewAnswer> }) => (
  <section class="panel stack" aria-labelledby="attention">
    <div class="row apart">
      <h2 id="attention">Needs a hand</h2>
      {/* Also if there is no overview: then it is needed most. */}
      {maySeeDeployment() && <Button onClick={() => openEntry('deployment')}>Check the deployment</Button>}
    </div>
    <Answered answer={answer}>
      {({ attention, attention_left_out: leftOut }) => (
        <>
          {attention.length === 0 && <p class="quiet">Nothing does.</p>}
          {attention.length > 0 && (
            <ul class="stack">
              {groupsOf(attention).map((group) => (
                <li key={`${group[0]!.type} ${group[0]!.sentence}`}>
                  {group.length === 1 ? <One about={group[0]!} /> : <Group members={group} />}
                </li>
              ))}
            </ul>
          )}
          {leftOut > 0 && <p class="quiet">{number(leftOut)} more</p>}
          <FindingsLine />
        </>
      )}
    </Answered>
  </section>
)

/** Asked for once: it looks through the whole configuration. */
function FindingsLine() {
  const { data } = useAnswer([], (client) => client.findings())
  if (data === undefined) return null
  const count = data.kinds.reduce((sum, { found }) => sum + found, 0)
  if (count === 0) return null
  return (
    <p>
      <StateWord tone="quiet" text="findings" />{' '}
      <Link to={['findings']}>
        {count === 1 ? 'One part' : `${number(count)} parts`} of the configuration can hardly be meant as{' '}
        {count === 1 ? 'it is' : 'they are'}.
      </Link>
    </p>
  )
}

const severities: readonly Attention['severity'][] = ['failing', 'attention', 'notice']

/** Equal causes together, the worst first. */
function groupsOf(attention: readonly Attention[]): Attention[][] {
  const groups = new Map<string, Attention[]>()
  for (const each of attention) {
    const cause =
      each.names.length > 0 || each.ids.length !== 1 ? each.sentence : `${each.severity} ${each.type}`
    groups.set(cause, [...(groups.get(cause) ?? []), each])
  }
  const rank = ([first]: Attention[]): number => severities.indexOf(first!.severity)
  return [...groups.values()].toSorted((one, other) => rank(one) - rank(other))
}

/** The common cause of several entries of the same type. */
const causes: Partial<Readonly<Record<Attention['type'], string>>> = {
  destination_failing: 'destinations fail',
  destination_throttled: 'destinations accept fewer events than there are',
  destination_paused: 'destinations are paused',
  destination_behind: 'destinations are behind',
  events_expiring: 'destinations are about to lose events',
  events_dropped: 'destinations have lost events',
  policies_failing: 'edges or routes have expressions without a result',
  filters_failing: 'subscriptions have filters without a result',
  lists_failing: 'lists can’t be fetched',
}

const Group = ({ members }: { readonly members: readonly Attention[] }) => (
  <details>
    <summary>
      <StateWord tone={tones[members[0]!.severity]} text={members[0]!.severity} />{' '}
      <strong>
        {number(members.length)}{' '}
        {causes[members[0]!.type] ?? `times ${members[0]!.type.replaceAll('_', ' ')}`}
      </strong>
    </summary>
    <ul class="indented stack">
      {members.map((each) => (
        <li key={each.sentence}>
          <Subject about={each} />
        </li>
      ))}
    </ul>
  </details>
)

const One = ({ about }: { readonly about: Attention }) => (
  <>
    <StateWord tone={tones[about.severity]} text={about.severity} /> <Subject about={about} />
    {about.names.length > 0 && <Names about={about} />}
  </>
)

/** The sentence, the thing that it is about as a link, and what can be done at once. */
function Subject({ about }: { readonly about: Attention }) {
  const place = placeOf(about)
  const [id] = about.ids
  return (
    <>
      {withLocalTimes(about.sentence, now())}{' '}
      {about.latest && (
        <span class="quiet">
          <Time at={about.latest} isRelative />
        </span>
      )}{' '}
      {place !== undefined && (
        <Link to={place.to} {...(place.with && { with: place.with })}>
          {about.ids.length === 1 && id !== undefined && place.to.length === 2 ? nameOf(id).text : 'Show'}
        </Link>
      )}{' '}
      <OperatorActions actions={about.actions} areAtOnce />
    </>
  )
}

/** More than these would push everything else off the screen. */
const namesAtOnce = 3

function Names({ about: { names } }: { readonly about: Attention }) {
  const left = names.slice(namesAtOnce)
  return (
    <>
      <NameList names={names.slice(0, namesAtOnce)} />
      {left.length > 0 && (
        <details class="indented">
          <summary>{number(left.length)} more</summary>
          <NameList names={left} />
        </details>
      )}
    </>
  )
}

const NameList = ({ names }: { readonly names: readonly UnservedName[] }) => (
  <ul class="indented">
    {names.map((each) => (
      <li key={each.name}>
        <Link to={['search']} with={{ filter: `${filterOf(each)} && edge_id == null`, since: '24h' }}>
          {each.name}
        </Link>{' '}
        <span class="quiet">{number(each.count)}</span> {may('write') && <ServeIt name={each} />}
      </li>
    ))}
  </ul>
)

type UnservedName = Attention['names'][number]

const filterOf = ({ server_name, server_port }: UnservedName): string =>
  [
    `server_name == ${server_name === null ? 'null' : quoted(server_name)}`,
    `server_port == ${server_port ?? 'null'}`,
  ].join(' && ')

/** A hostport has a name and a port. */
function ServeIt({ name: { name, type, server_name, server_port, nearest, nearest_edge_id } }: ServeItProps) {
  if (server_name === null || server_port === null) return null
  return (
    <span class="quiet">
      {nearest !== null && nearest_edge_id !== null && (
        <>
          <Link to={['edges', nearest_edge_id]} with={{ edit: 'edge', hostport: name }}>
            serve it with the edge of {nearest}
          </Link>
          {' · '}
        </>
      )}
      <Link to={['edges', 'new']} with={{ form: type === 'http_request' ? 'https' : 'tcp', hostport: name }}>
        make an edge for it
      </Link>
    </span>
  )
}

interface ServeItProps {
  readonly name: UnservedName
}

/** As a text of an expression. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

interface Place {
  readonly to: readonly string[]
  readonly with?: Parameters
}

/** The page that shows it. */
function placeOf({ type, ids, kind, scope }: Attention): Place | undefined {
  switch (type) {
    case 'dead_letters':
      return { to: ['dead-letters'], with: { type: kind ?? undefined } }
    case 'certificates_expiring':
      return { to: ['certificates'] }
    case 'keys_expiring':
      return { to: ['keys'] }
    case 'unserved_names':
      return scope === 'deployment'
        ? undefined
        : { to: ['search'], with: { filter: 'edge_id == null', since: '24h' } }
    case 'policies_failing':
      return placeIn('edges', ids)
    case 'filters_failing':
      return placeIn('subscriptions', ids)
    case 'lists_failing':
      return placeIn('ip-lists', ids)
    case 'deliverers_silent':
      return { to: ['destinations'] }
    case 'records_lag':
    case 'role_versions':
    case 'decision_log':
      return undefined
    default:
      return placeIn('destinations', ids)
  }
}

/** The page of one, else that of all. */
const placeIn = (page: string, ids: readonly string[]): Place => ({
  to: ids.length === 1 ? [page, ...ids] : [page],
})
