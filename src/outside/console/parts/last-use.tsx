/** When something was used last: a key, or a name that traffic goes to. */
import type { Client, TrafficKind } from '../../../words/client/client.js'
import type { LastTraffic } from '../../../words/shape/last-traffic.js'
import { errorText, useAnswer } from '../data/asking/api.js'
import { useShown } from '../data/asking/questions.js'
import { number } from '../data/texts/format.js'
import type { Fact } from '../kit/facts.js'
import type { Column } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { WaitsInLine } from './states.js'

interface UsedProps {
  /** RFC 3339; null: never. */
  readonly at: string | null | undefined
  readonly from?: string | null | undefined
}

const Used = ({ at, from }: UsedProps) =>
  at == null ? (
    <span class="quiet">never</span>
  ) : (
    <>
      <Time at={at} isRelative />
      {from != null && ` from ${from}`}
    </>
  )

interface Credential {
  readonly last_used_at?: string | null | undefined
  readonly last_used_from?: string | null | undefined
  readonly created_at: string
  readonly metadata?: string | undefined
}

/** When and from where a credential was used last, and when it was made. `title`: what its use is. */
export const lastUseColumns = (title = 'Used'): readonly Column<Credential>[] => [
  { title, cell: ({ last_used_at }) => <Used at={last_used_at} /> },
  { title: 'From', cell: ({ last_used_from }) => last_used_from ?? '' },
  { title: 'Created', cell: ({ created_at }) => <Time at={created_at} isRelative /> },
]

/** The same of one credential, and its metadata. `title`: what its use is. */
export const lastUseFacts = (
  { created_at, metadata, last_used_at, last_used_from }: Credential,
  title = 'Last used',
): readonly Fact[] => [
  [title, <Used key="used" at={last_used_at} from={last_used_from} />],
  ['Created', <Time key="created" at={created_at} />],
  ...(metadata === undefined ? [] : [['Metadata', metadata] as const]),
]

interface TrafficKnown extends Pick<LastTraffic, 'log' | 'since' | 'names_left_out'> {
  readonly at: ReadonlyMap<string, string | null>
}

export interface TrafficAnswer {
  /** Undefined until it is here. */
  readonly known: TrafficKnown | undefined
  readonly error: Error | undefined
  again(): void
}

/**
 * The last traffic of the first `count` entries, newest first. It comes from a log that may be off or slow, so no list waits
 * for it.
 */
export function useLastTraffic(kind: TrafficKind | undefined, count: number): TrafficAnswer {
  const answer = useAnswer([kind, count], (client) => knownOf(client, kind, count))
  useShown(answer)
  const { data: known, error, again } = answer
  return { known, error, again }
}

const pageMax = 100

async function knownOf(
  client: Client,
  kind: TrafficKind | undefined,
  count: number,
): Promise<TrafficKnown | undefined> {
  if (kind === undefined) return undefined
  const at = new Map<string, string | null>()
  let before: string | undefined
  let names_left_out = 0
  for (;;) {
    const page = await client.lastTraffic(kind, {
      limit: pageMax,
      ...(before === undefined ? {} : { before_id: before }),
    })
    for (const { id, last_traffic_at } of page.last_traffic) at.set(id, last_traffic_at)
    names_left_out += page.names_left_out
    before = page.last_traffic.at(-1)?.id
    if (page.next_page_uri === null || at.size >= count)
      return { at, log: page.log, since: page.since, names_left_out }
  }
}

interface LastTrafficProps {
  readonly traffic: TrafficAnswer
  readonly id: string
}

export function LastTrafficOf({ traffic: { known, error }, id }: LastTrafficProps) {
  if (error !== undefined) return <span class="quiet">not known</span>
  if (known === undefined) return <WaitsInLine />
  const at = known.at.get(id)
  if (at != null) return <Time at={at} isRelative />
  // An entry that was made in the meantime is not among them.
  // The answer does not say for which certificates names were left out.
  if (known.log === 'off' || at === undefined || known.names_left_out > 0)
    return <span class="quiet">not known</span>
  return (
    <span class="quiet">
      none{known.since !== null && ' since '}
      {known.since !== null && <Time at={known.since} />}
    </span>
  )
}

/** The same where it stands alone, without the note below a list. */
export const LastTrafficFact = ({ traffic, id }: LastTrafficProps) => (
  <>
    <LastTrafficOf traffic={traffic} id={id} />{' '}
    {traffic.error !== undefined && <TryAgain traffic={traffic} />}
  </>
)

const TryAgain = ({ traffic: { error, again } }: Pick<LastTrafficProps, 'traffic'>) => (
  <span class="quiet">
    {errorText(error)}{' '}
    <button type="button" class="as-link" onClick={again}>
      Try again
    </button>
  </span>
)

/** The last uses that are not known, and why. */
export function TrafficNote({ traffic }: Pick<LastTrafficProps, 'traffic'>) {
  const { known, error } = traffic
  if (error !== undefined)
    return (
      <p class="quiet">
        When traffic last went here is not known: <TryAgain traffic={traffic} />
      </p>
    )
  if (known?.log === 'off')
    return (
      <p class="quiet">
        When traffic last went here is not known: this deployment keeps no log of decisions.
      </p>
    )
  const { log, names_left_out = 0 } = known ?? {}
  return (
    <>
      {log === 'blocked' && (
        <p class="quiet">Last traffic is of what was stopped: the log of this deployment has nothing else.</p>
      )}
      {names_left_out > 0 && (
        <p class="quiet">
          {number(names_left_out)} domains of these certificates were not looked for, because there are too
          many: of a certificate without traffic it is not known that it has none.
        </p>
      )}
    </>
  )
}
