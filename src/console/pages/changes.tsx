/** Who changed what, when and from where; of the account, or of one resource. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Client } from '../../client/client.js'
import type { Change } from '../../shape/change-schema.js'
import { firstOf, type Page, useAnswer } from '../data/asking/api.js'
import { openEntry, parameter, setParameters } from '../data/location.js'
import { kindOfId, kinds, kindTitle, operationsOf } from '../data/resources/resource-kinds.js'
import { nameOf } from '../data/resources/resource-names.js'
import { Button } from '../parts/button.js'
import { rulesText } from '../parts/difference.js'
import { Choices, choiceIn } from '../parts/forms/choices.js'
import { ChoiceField, TextField } from '../parts/forms/fields.js'
import { Name } from '../parts/name.js'
import { Answered, Empty } from '../parts/states.js'
import { type Column, Table } from '../parts/tables/table.js'
import { Time } from '../parts/time.js'
import { ChangeDrawer } from './changes/change-drawer.js'

const ranges = [
  ['', 'All'],
  ['24h', 'Day'],
  ['7d', 'Week'],
  ['30d', 'Month'],
] as const

const pageOf = 50

export function Changes() {
  const [id, kind, by] = [parameter('id'), parameter('kind'), parameter('by')]
  const since = parameter('since') || choiceIn('range', ranges)
  const until = parameter('until')
  const count = useSignal(pageOf)
  const keys = [id, kind, by, since, until, count.value]
  const answer = useAnswer(keys, (client) =>
    firstOf(changesFor(client, { id, kind, by, since, until, count: count.value }), count.value),
  )
  const authors = useAnswer([], authorsOf)
  return (
    <div class="stack">
      <h1>{id === '' ? 'Changes' : `Changes of ${nameOf(id).text}`}</h1>
      <Filters authors={authors.data ?? []} />
      <Answered answer={answer}>
        {(page) => <Listed page={page} onMore={() => (count.value += pageOf)} isLoading={answer.isLoading} />}
      </Answered>
    </div>
  )
}

interface Asked {
  readonly id: string
  readonly kind: string
  readonly by: string
  readonly since: string
  readonly until: string
  readonly count: number
}

/** The history of a resource has its own list, which is quick and includes the rules of an IP policy. */
function changesFor(client: Client, { id, kind, by, since, until, count }: Asked): AsyncIterable<Change> {
  const own = id === '' ? undefined : operationsOf(client, kindOfId(id) ?? '')
  const conditions = [
    own === undefined && id !== '' && `id == ${JSON.stringify(id)}`,
    kind !== '' && `kind == ${JSON.stringify(kind)}`,
    by !== '' && `by == ${JSON.stringify(by)}`,
  ].filter((each) => each !== false)
  const options = {
    limit: Math.min(100, count + 1),
    ...(conditions.length > 0 && { filter: conditions.join(' && ') }),
    ...(since !== '' && { since }),
    ...(until !== '' && { until }),
  }
  return own === undefined ? client.changes(options) : own.changes(id, options)
}

const authorsMax = 100

/** Who may have changed something. A deleted key is found by its id. */
async function authorsOf(client: Client): Promise<readonly (readonly [string, string])[]> {
  const { entries } = await firstOf(client.apiKey.list({ limit: 100 }), authorsMax)
  return [
    ...entries.map((key) => [key.id, key.description || key.id] as const),
    ['cli', 'the command line'],
    ['nats', 'a request over NATS'],
    ['expiry', 'the expiry of rules'],
  ]
}

function Filters({ authors }: { readonly authors: readonly (readonly [string, string])[] }) {
  const [id, by, since, until] = ['id', 'by', 'since', 'until'].map(parameter) as [
    string,
    string,
    string,
    string,
  ]
  const known = by === '' || authors.some(([each]) => each === by) ? authors : [...authors, [by, by] as const]
  const chosen = id !== '' || by !== '' || since !== '' || until !== '' || parameter('kind') !== ''
  return (
    <div class="filters">
      <ChoiceField
        label="Kind"
        value={parameter('kind')}
        onChange={(kind) => setParameters({ kind, open: '' })}
        choices={[['', 'every kind'], ...kinds.map((each) => [each, kindTitle(each)] as const)]}
      />
      <ChoiceField
        label="By"
        value={by}
        onChange={(next) => setParameters({ by: next, open: '' })}
        choices={[['', 'everyone'], ...known]}
      />
      <TextField
        label="Resource"
        value={id}
        placeholder="an id, also of a deleted one"
        onChange={(next) => setParameters({ id: next.trim(), open: '' })}
      />
      <Choices label="Time" name="range" choices={ranges} />
      {since !== '' && (
        <span class="quiet">
          since <Time at={since} />
        </span>
      )}
      {until !== '' && (
        <span class="quiet">
          until <Time at={until} />
        </span>
      )}
      {chosen && (
        <Button onClick={() => setParameters({ id: '', kind: '', by: '', since: '', until: '', open: '' })}>
          Show all
        </Button>
      )}
    </div>
  )
}

const verbs = { create: '+ created', update: '~ changed', delete: '− deleted' } as const

const fieldsNamedMax = 3

/** What a change did, in a line. */
function changeSummary({ fields, rules }: Change): string {
  const names = fields.slice(0, fieldsNamedMax).map(({ name }) => name)
  const others = fields.length - names.length
  return [
    ...(rules === null ? [] : [rulesText(rules)]),
    ...names,
    ...(others > 0 ? [`${others} more`] : []),
  ].join(', ')
}

const cut = (content: (change: Change) => ComponentChildren) => (change: Change) => (
  <span class="cut">{content(change)}</span>
)

/** Who made a change, as people call it. */
const authorOf = ({ by_description, by }: Change): string => by_description ?? by

/** What was changed, and by which promotion. */
const whatOf = ({ verb, kind, id, by_promotion_of }: Change) => (
  <>
    <span class="word">{by_promotion_of === id ? 'promoted' : verbs[verb]}</span> {kindTitle(kind)}
    {by_promotion_of !== null && by_promotion_of !== id && (
      <span class="quiet">
        {' '}
        by the promotion of <Name id={by_promotion_of} />
      </span>
    )}
  </>
)

const columns: readonly Column<Change>[] = [
  { title: 'When', cell: ({ changed_at }) => <Time at={changed_at} /> },
  { title: 'What', cell: whatOf },
  { title: 'Resource', cell: cut(({ id }) => <Name id={id} />) },
  { title: 'Fields', cell: (change) => changeSummary(change), isExtra: true, isWide: true },
  { title: 'By', cell: cut(authorOf) },
  { title: 'From', cell: cut(({ client_address, source }) => client_address ?? source), isExtra: true },
]

const keyOfChange = ({ version, id }: Change): string => `${version}.${id}`

interface ListedProps {
  readonly page: Page<Change>
  readonly isLoading: boolean
  readonly onMore: () => void
}

function Listed({ page: { entries, hasMore }, isLoading, onMore }: ListedProps) {
  const opened = parameter('open')
  const change = entries.find((each) => keyOfChange(each) === opened)
  return (
    <>
      <Table
        label="Changes, newest first"
        rows={entries}
        columns={columns}
        keyOf={keyOfChange}
        opened={opened}
        onOpen={(each) => openEntry(keyOfChange(each))}
        empty={
          <Empty>
            <p>Nothing was changed that these filters show.</p>
          </Empty>
        }
      />
      {hasMore && (
        <Button onClick={onMore} isDisabled={isLoading}>
          Show more
        </Button>
      )}
      {change !== undefined && (
        <ChangeDrawer key={opened} change={change} onClose={() => setParameters({ open: '' })} />
      )}
    </>
  )
}
