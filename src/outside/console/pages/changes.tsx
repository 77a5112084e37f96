/** Who changed what, when and from where; of the account, or of one resource. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Client } from '../../../words/client/client.js'
import type { Change } from '../../../words/shape/decisions/change-schema.js'
import { firstOf, useAnswer } from '../data/asking/api.js'
import { useMore } from '../data/asking/more.js'
import { openEntry, parameter, setParameters } from '../data/location.js'
import { keyOfChange, type ListedChange, listedChanges } from '../data/resources/promotions.js'
import { kindOfId, kinds, kindTitle, operationsOf } from '../data/resources/resource-kinds.js'
import { nameOf } from '../data/resources/resource-names.js'
import { Button } from '../kit/button.js'
import { Choices, choiceIn } from '../kit/choices.js'
import { ChoiceField, TextField } from '../kit/forms/fields.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { fieldSummary, rulesText } from '../parts/difference.js'
import { Listing } from '../parts/listing.js'
import { Name } from '../parts/name.js'
import { Empty } from '../parts/states.js'
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
  const answer = useMore(
    [id, kind, by, since, until],
    (client) => changesFor(client, { id, kind, by, since, until }),
    pageOf,
  )
  const authors = useAnswer([], authorsOf)
  return (
    <div class="stack">
      <h1>{id === '' ? 'Changes' : `Changes of ${nameOf(id).text}`}</h1>
      <Filters authors={authors.data ?? []} />
      <Listing answer={answer}>{(entries) => <Entries entries={entries} />}</Listing>
    </div>
  )
}

interface Asked {
  readonly id: string
  readonly kind: string
  readonly by: string
  readonly since: string
  readonly until: string
}

/** The history of a resource has its own list, which is quick and includes the rules of an IP policy. */
function changesFor(client: Client, { id, kind, by, since, until }: Asked): AsyncIterable<Change> {
  const own = id === '' ? undefined : operationsOf(client, kindOfId(id) ?? '')
  const conditions = [
    own === undefined && id !== '' && `id == ${JSON.stringify(id)}`,
    kind !== '' && `kind == ${JSON.stringify(kind)}`,
    by !== '' && `by == ${JSON.stringify(by)}`,
  ].filter((each) => each !== false)
  const options = {
    limit: pageOf + 1,
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
        placeholder="id, even if deleted"
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

/** The rules and fields that changed, in a line. */
function changeSummary({ fields, rules }: Change): string {
  const all = fields.flatMap(fieldSummary)
  const others = all.length - fieldsNamedMax
  return [
    ...(rules === null ? [] : [rulesText(rules)]),
    ...all.slice(0, fieldsNamedMax),
    ...(others > 0 ? [`${others} more`] : []),
  ].join(', ')
}

const cut = (content: (change: Change) => ComponentChildren) => (listed: ListedChange) => (
  <span class="cut">{content(listed.change)}</span>
)

/** Who made a change, as people call it. */
const authorOf = ({ by_description, by }: Change): string => by_description ?? by

/** The verb and the kind of a change, and the promotion that caused it. */
const whatOf = ({ change: { verb, kind, id, by_promotion_of } }: ListedChange) => (
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

/** Of a promotion, what it changed. */
const doneBy = ({ change, caused }: ListedChange): ComponentChildren =>
  caused.length === 0
    ? changeSummary(change)
    : caused.map((each, index) => (
        <span key={each.id}>
          {index > 0 && '; '}
          <Name id={each.id} />: {changeSummary(each)}
        </span>
      ))

const columns: readonly Column<ListedChange>[] = [
  { title: 'When', cell: ({ change }) => <Time at={change.changed_at} /> },
  { title: 'What', isMain: true, cell: whatOf },
  { title: 'Resource', cell: cut(({ id }) => <Name id={id} />) },
  { title: 'Fields', cell: doneBy, isWide: true },
  { title: 'By', cell: cut(authorOf) },
  { title: 'From', cell: cut(({ client_address, source }) => client_address ?? source) },
]

function Entries({ entries }: { readonly entries: readonly Change[] }) {
  const opened = parameter('open')
  const listed = useMemo(() => listedChanges(entries), [entries])
  // A change that a promotion caused can be opened by itself.
  const change = entries.find((each) => keyOfChange(each) === opened)
  return (
    <>
      <Table
        label="Changes, newest first"
        rows={listed}
        columns={columns}
        keyOf={(each) => keyOfChange(each.change)}
        opened={opened}
        onOpen={(each) => openEntry(keyOfChange(each.change))}
        empty={
          <Empty>
            <p>Nothing was changed that these filters show.</p>
          </Empty>
        }
      />
      {change !== undefined && (
        <ChangeDrawer
          key={opened}
          change={change}
          caused={listed.find((each) => each.change === change)?.caused ?? []}
          onClose={() => setParameters({ open: '' })}
        />
      )}
    </>
  )
}
