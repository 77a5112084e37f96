/** The first request or connection of a new edge: it waits for it, and says meanwhile what may be in its way. */
import { useEffect, useMemo } from 'preact/hooks'
import type { WatchOptions } from '../../../../../words/client/client.js'
import type { LoggedDecision } from '../../../../../words/shape/decisions/logged-decision.js'
import { api, useAnswer } from '../../../data/asking/api.js'
import { LiveRows, useLive } from '../../../data/asking/live-rows.js'
import { openEntry, parameter, setParameters } from '../../../data/location.js'
import { type Edge, isTcp } from '../../../data/resources/edges.js'
import { number } from '../../../data/texts/format.js'
import { Button } from '../../../kit/button.js'
import { Link } from '../../../kit/link.js'
import { Time } from '../../../kit/time.js'
import { OpenedWhy } from '../../../parts/opened-why.js'
import { Failure } from '../../../parts/states.js'
import { DecisionWord } from '../../../parts/words.js'
import { ServeIt } from './serve-it.js'
import { unservedNames } from './unserved.js'

interface FirstRequestProps {
  readonly edge: Edge
  readonly again: () => void
}

export function FirstRequest({ edge, again }: FirstRequestProps) {
  const live = useMemo(() => new LiveRows<LoggedDecision>(({ id }) => id), [])
  useLive(live, [edge.id], {
    watch: (options: WatchOptions) => api.watchDecisions({ edge: edge.id, ...options }),
    past: (limit) => api.decisions({ edgeId: edge.id, limit }),
  })
  const first = live.rows.value.at(-1)
  const isSeen = first !== undefined
  useEffect(() => {
    if (isSeen) setParameters({ seen: 'yes' })
  }, [isSeen])
  const what = isTcp(edge) ? 'connection' : 'request'
  return (
    <section class="panel stack" aria-label="First request">
      <h2>{isSeen ? `The first ${what} is here` : `Waiting for the first ${what}`}</h2>
      {live.error.value !== undefined && <Failure error={live.error.value} again={() => live.again()} />}
      {first === undefined ? <Missing edge={edge} what={what} again={again} /> : <Seen first={first} />}
      <div class="row">
        <Link class="button main" to={['edges', edge.id]}>
          {isSeen ? 'Done' : 'To the edge'}
        </Link>
        {isSeen && <Link to={['edges', edge.id, 'policies']}>Write its policies</Link>}
      </div>
    </section>
  )
}

const Seen = ({ first }: { readonly first: LoggedDecision }) => (
  <>
    <p>
      <DecisionWord decision={first.decision} /> <Time at={first.at} /> from{' '}
      <span class="mono">{first.client_ip}</span>
      {first.path !== null && (
        <>
          {' '}
          for{' '}
          <span class="mono">
            {first.method?.toUpperCase()} {first.path}
          </span>
        </>
      )}
      .
    </p>
    <p>
      <Button onClick={() => openEntry(first.id)}>Why was it decided so?</Button>
    </p>
    {/* The log may not have it yet. */}
    <OpenedWhy id={parameter('open')} known={first} />
  </>
)

const askEveryMs = 5_000

function Missing({ edge, what, again }: FirstRequestProps & { readonly what: string }) {
  const unserved = useAnswer(
    [edge.id, edge.hostports.length],
    (client) => unservedNames(client, isTcp(edge) ? 'tcp_connection' : 'http_request'),
    { everyMs: askEveryMs },
  )
  const names = (unserved.data ?? []).filter(({ name }) => !edge.hostports.includes(name))
  return (
    <>
      <p class="quiet" role="status">
        It is shown here as soon as your proxy reports it. Open{' '}
        <span class="mono">{edge.hostports[0] ?? 'the name of the edge'}</span> once.
      </p>
      {names.length > 0 && (
        <div class="stack tight" role="status">
          <p>Records came for names that no edge serves:</p>
          <ul class="listed">
            {names.map(({ name, count }) => (
              <li key={name} class="stack tight">
                <span>
                  <span class="mono">{name}</span>{' '}
                  <span class="quiet">
                    {number(count)} {count === 1 ? 'record' : 'records'} in the last day
                  </span>
                </span>
                <span class="row">
                  <ServeIt edge={edge} hostport={name} again={again} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
      <details>
        <summary>Nothing comes?</summary>
        <ul class="listed">
          <li>
            Does <code>weir publish</code> run? It says what it reads, and at its end which names no edge
            serves. <code>--check</code> shows what it makes of a line.
          </li>
          <li>
            Is the proxy refused? Weir answers 400 to those that WEIR_TRUST_PROXY does not name, and 401
            without a key.
          </li>
          <li>
            Are records refused? They are among the <Link to={['dead-letters']}>dead letters</Link>, with the
            reason.
          </li>
          <li>
            Is it another {what}? <Link to={['live']}>Live</Link> shows all that comes.
          </li>
        </ul>
      </details>
    </>
  )
}
