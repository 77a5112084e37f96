/** Where the entries of a list come from, and how the last fetches went. */
import type { Resource } from '../../../../words/client/kinds.js'
import type { IpListSource } from '../../../../words/resource/fields/ip-list-source.js'
import { act } from '../../data/asking/api.js'
import { duration, percent } from '../../data/texts/format.js'
import { type Fact, Facts } from '../../kit/facts.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { StateWord, type Tone } from '../../parts/words.js'

type List = Resource<'ipList'>
type Status = NonNullable<List['source_status']>

const tones: Readonly<Record<Status['state'], Tone>> = {
  waiting: 'quiet',
  current: 'good',
  failing: 'warning',
  stale: 'bad',
}

const texts: Readonly<Record<Status['state'], string>> = {
  waiting: 'not fetched yet',
  current: 'current',
  failing: 'the last fetch failed',
  stale: 'stale',
}

/** It is shown with all its members. */
export const sourceOf = ({ source }: List): IpListSource | null => source as IpListSource | null

export const SourceState = ({ list: { source, source_status } }: { readonly list: List }) => {
  if (source === null) return <span class="quiet">set by hand</span>
  const state = source_status?.state ?? 'waiting'
  return <StateWord tone={tones[state]} text={texts[state]} />
}

interface SourcePanelProps {
  readonly list: List
  readonly again: () => void
}

export function SourcePanel({ list, again }: SourcePanelProps) {
  const { id, source_status } = list
  const source = sourceOf(list)
  if (source === null) return null
  const refresh = async (): Promise<void> => {
    await act<string>(
      (outcome) => `It was fetched: ${outcome}.`,
      async (client) => {
        const { outcome, error } = await client.listEntries.refresh(id)
        if (error !== null) throw new Error(`The fetch failed: ${error.message.replace(/\.$/, '')}`)
        return outcome
      },
    )
    again()
  }
  return (
    <section class="panel stack" aria-labelledby="source">
      <div class="row apart">
        <h2 id="source">Source</h2>
        <EditButton onClick={refresh}>Fetch now</EditButton>
      </div>
      <p>
        <SourceState list={list} />
      </p>
      {source_status?.error && (
        <p class="fault">
          {source_status.error.message}{' '}
          <span class="quiet">
            since <Time at={source_status.error.since} isRelative />
          </span>
        </p>
      )}
      <Facts
        entries={[
          [
            source.url === null ? 'File' : 'URL',
            <span key="address" class="mono">
              {source.url ?? source.file}
            </span>,
          ],
          ['Format', source.format],
          ...headerFacts(source),
          ['Fetched every', duration(source.refresh_seconds * 1000)],
          ['Not taken if it keeps less than', percent(source.shrink_guard, 1)],
          ['Not taken if it covers more than', growthText(source.grow_guard)],
          ...(source_status == null ? [] : statusFacts(source_status)),
        ]}
      />
    </section>
  )
}

const growthText = (times = 10): string => (times === 0 ? 'any number' : `${times} × as many addresses`)

const statusFacts = ({ fetched_at, changed_at, next_at, etag }: Status): Fact[] => [
  ['Last good fetch', <TimeOrNever key="fetched" at={fetched_at} />],
  ['Last change by it', <TimeOrNever key="changed" at={changed_at} />],
  ['Next fetch', <Time key="next" at={next_at} isRelative />],
  ...(etag === null ? [] : [['ETag', etag] as const]),
]

const headerFacts = ({ headers, secret_headers }: IpListSource): Fact[] => {
  const names = Object.keys({ ...headers, ...secret_headers })
  return names.length === 0 ? [] : [['Headers', names.join(', ')]]
}

const TimeOrNever = ({ at }: { readonly at: string | null }) =>
  at === null ? <span class="quiet">never</span> : <Time at={at} isRelative />
